"""Calls methods of the Python client `portkey-ai` as standard input says, and prints their statuses.

In: {"url", "key", "provider"?, "names": {}, "calls": [{"method", "args": [keyword arguments], "made": {name: path}}]}.
Out: {"methods": [all methods of the client], "results": [{"method", "status", "message"}]}.
"""

import inspect
import json
import pathlib
import re
import sys
import tempfile

from portkey_ai import Portkey


def find_methods(owner, path, seen):
    """Paths of all methods of a client. Resources that cannot be read have none."""
    if id(owner) in seen:
        return
    seen.add(id(owner))
    for name in dir(owner):
        if name.startswith("_"):
            continue
        try:
            value = getattr(owner, name)
        except Exception:
            continue
        where = f"{path}.{name}" if path else name
        module = type(value).__module__
        if inspect.ismethod(value) or inspect.isfunction(value):
            yield where
        elif module.startswith("portkey_ai") and not module.startswith("portkey_ai._vendor"):
            yield from find_methods(value, where, seen)


def fill_in(value, names):
    """Arguments with what earlier calls made in place of `$name`."""
    if isinstance(value, str):
        if value.startswith("$") and value[1:] in names:
            return names[value[1:]]
        return re.sub(r"\$(\w+)", lambda found: str(names.get(found[1], found[0])), value)
    if isinstance(value, list):
        return [fill_in(one, names) for one in value]
    if isinstance(value, dict):
        return {name: fill_in(one, names) for name, one in value.items()}
    return value


def read_path(answer, path):
    for name in path.split("."):
        if isinstance(answer, list):
            answer = answer[int(name)] if len(answer) > int(name) else None
        elif isinstance(answer, dict):
            answer = answer.get(name)
        else:
            answer = getattr(answer, name, None)
    return answer


def run(client, call, names):
    method = client
    for name in call["method"].split("."):
        method = getattr(method, name)
    keywords = fill_in((call["args"] or [{}])[0], names)
    try:
        answer = method(**keywords)
    except Exception as error:
        return {"method": call["method"], "status": getattr(error, "status_code", 0), "message": repr(error)[:900]}
    for name, path in call.get("made", {}).items():
        names[name] = read_path(answer, path)
    return {"method": call["method"], "status": 200, "message": ""}


def main():
    asked = json.load(sys.stdin)
    provider = {"virtual_key": asked["provider"]} if "provider" in asked else {}
    client = Portkey(api_key=asked["key"], base_url=asked["url"], **provider)
    methods = sorted(find_methods(client, "", set()))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "file.jsonl")
        path.write_text("{}")
        with path.open("rb") as file:
            names = {**asked["names"], "file": file}
            results = [run(client, call, names) for call in asked["calls"]]
    print(json.dumps({"methods": methods, "results": results}))


main()
