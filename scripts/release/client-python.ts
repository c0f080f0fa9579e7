// The typed client for Python: clients/python with the code that openapi-python-client makes of the control plane.

import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isObject } from "../../src/lib/json.ts";
import { createFolder, withGateway } from "../../tests/support/process.ts";
import { pythonOf } from "../python.mjs";
import {
  type ApiDocument,
  clientOf,
  isForProvider,
  type Operation,
  periodValues,
  type Read,
  readDocument,
  readsOf,
} from "./client-document.ts";
import { CannotCheckError, megabytes, releaseFolder, root, run, sizeOf, sourceDate, version } from "./run.ts";

const sources = join(root, "clients/python");
const python = pythonOf(sources);

/** A name in the form of Python: words in lower case. */
const toSnakeCase = (name: string) =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, "$1_$2")
    .replaceAll(/([a-z]{2})(\d)/g, "$1_$2")
    .replaceAll(/[ -]/g, "_")
    .toLowerCase();

/** Fields whose names differ in Python too: of `on_fail` and `onFail`, which mean the same, the first. */
function distinctFields(properties: object): object {
  return Object.fromEntries(
    Object.entries(properties).filter(([name]) => toSnakeCase(name) === name || !(toSnakeCase(name) in properties)),
  );
}

/**
 * A schema in the words that the generator knows. Defaults are left out: a client sends what its user gives. Lists of a fixed
 * length become lists of any of their elements, and constants that are not text values of their type.
 */
function forPython(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(forPython);
  if (!isObject(schema)) return schema;
  if ("const" in schema && typeof schema.const !== "string") return { type: typeof schema.const };
  const { default: _, prefixItems, ...members } = schema;
  if (prefixItems !== undefined) members.items = { anyOf: prefixItems };
  if (isObject(members.properties)) members.properties = distinctFields(members.properties);
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, forPython(value)]));
}

/** Operations with bodies and responses as JSON alone; the others are files, streams and pages. */
function asJson(operation: Operation): Operation {
  const json = operation.requestBody?.content["application/json"];
  const responses = Object.entries(operation.responses).map(([status, response]) => {
    const content = response.content?.["application/json"];
    return [status, { ...response, ...(content && { content: { "application/json": forPython(content) } }) }];
  });
  return {
    ...operation,
    ...(json && {
      requestBody: { ...operation.requestBody, content: { "application/json": forPython(json) as typeof json } },
    }),
    responses: Object.fromEntries(responses),
  };
}

/** The control plane: what a key of the gateway calls and no provider serves. */
function controlPlaneOf(document: ApiDocument): ApiDocument {
  const paths = Object.entries(document.paths).map(([path, operations]) => {
    const own = Object.entries(operations).filter(([, one]) => one["x-gateway-keys"] && !isForProvider(one));
    return [path, Object.fromEntries(own.map(([method, one]) => [method, asJson(one)]))] as const;
  });
  return { ...document, paths: Object.fromEntries(paths.filter(([, own]) => Object.keys(own).length > 0)) };
}

/** Builds the wheel. Returns its path and the reads to check it with. */
async function buildClient(): Promise<{ wheel: string; reads: Read[] }> {
  const document = controlPlaneOf(await readDocument());
  const folder = createFolder();
  const file = join(folder, "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  const project = join(folder, "project");
  cpSync(sources, project, { recursive: true, filter: (path) => !path.includes(".venv") });
  cpSync(join(root, "LICENSE"), join(project, "LICENSE"));
  const settings = readFileSync(join(sources, "pyproject.toml"), "utf8");
  writeFileSync(join(project, "pyproject.toml"), settings.replace('version = "0.0.0"', `version = "${version}"`));
  const output = ["--output-path", join(project, "gateway_client"), "--config", join(sources, "generator.json")];
  const generate = ["-m", "openapi_python_client", "generate", "--path", file, "--meta", "none", ...output];
  // what it cannot convert is left out with a warning
  await run(python, [...generate, "--fail-on-warning"], { cwd: folder });
  writeFileSync(join(project, "gateway_client/py.typed"), "");
  const options = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"];
  const env = { SOURCE_DATE_EPOCH: String(sourceDate) };
  await run(python, ["-m", "pip", "wheel", ...options, "--wheel-dir", releaseFolder, project], { env });
  const wheel = join(releaseFolder, `gateway_client-${version}-py3-none-any.whl`);
  assert.ok(existsSync(wheel), "the wheel has another name");
  return { wheel, reads: readsOf(document) };
}

/** A program that calls each read and uses a field of its response, in types that the client gives. */
function programOf(reads: readonly Read[]): string {
  const calls = reads.map(({ operation, period, field, recordField }, index) => {
    const bounds = period.map((name, place) => `, ${name}="${periodValues[place]}"`).join("");
    const record = recordField === undefined ? "" : `[0].${recordField} if answer_${index}.${field} else None`;
    const [tag = ""] = operation.tags;
    return `
from gateway_client.api.${toSnakeCase(tag)} import ${toSnakeCase(operation.operationId)}
answer_${index} = ${toSnakeCase(operation.operationId)}.sync(client=${clientOf(operation)}${bounds})
assert answer_${index} is not None and not isinstance(answer_${index}, Error), answer_${index}
fields.append(answer_${index}.${field}${record})
lambda: answer_${index}.no_such_field  # type: ignore[attr-defined]`;
  });
  return `
import os
from gateway_client import AuthenticatedClient
from gateway_client.models import Error

client = AuthenticatedClient(base_url=os.environ["GATEWAY"], token=os.environ["GATEWAY_KEY"])
admin = AuthenticatedClient(base_url=os.environ["GATEWAY"], token=os.environ["ADMIN_KEY"])
fields: list[object] = []
${calls.join("\n")}
print(len(fields), "resources")
`;
}

/** Requires that the example of the page and the program pass mypy, and that they run against a gateway. */
async function checkInstalled(wheel: string, reads: readonly Read[]): Promise<void> {
  const project = createFolder();
  await run(python, ["-m", "venv", join(project, ".venv")]);
  const own = pythonOf(project);
  await run(own, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]);
  writeFileSync(join(project, "program.py"), programOf(reads));
  const [, example = ""] = /```python\n([\s\S]+?)```/.exec(readFileSync(join(sources, "README.md"), "utf8")) ?? [];
  writeFileSync(join(project, "example.py"), example);
  const strict = ["--strict", "--python-executable", own];
  for (const file of ["program.py", "example.py"]) await run(python, ["-m", "mypy", ...strict, file], { cwd: project });
  await withGateway({}, async ({ url, adminKey, workspaceKey }) => {
    const env = { GATEWAY: url, GATEWAY_KEY: workspaceKey, ADMIN_KEY: adminKey };
    await run(own, ["example.py"], { cwd: project, env });
    const printed = await run(own, ["program.py"], { cwd: project, env });
    assert.equal(printed.trim(), `${reads.length} resources`);
  });
}

/** Builds the client and checks it as its users would. */
export async function checkPythonClient(): Promise<void> {
  if (!existsSync(python)) throw new CannotCheckError("install python3 (3.11 or newer) with python3-venv");
  const { wheel, reads } = await buildClient();
  await checkInstalled(wheel, reads);
  console.log(`  ${wheel.slice(root.length + 1)}: ${megabytes(sizeOf(wheel))}; ${reads.length} resources read`);
}
