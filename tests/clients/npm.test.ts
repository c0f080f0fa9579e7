import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Portkey } from "portkey-ai";
import { isObject } from "../../src/lib/json.ts";
import { type ClientHost, startClientHost } from "./host.ts";
import { controlCalls, inferenceCalls, withoutCall } from "./npm-calls.ts";
import { type ClientCall, fillIn, isExpected, type Made, readPath } from "./run.ts";

let host: ClientHost;
before(async () => {
  host = await startClientHost();
});
after(() => host.close());

type Method = (...args: unknown[]) => PromiseLike<unknown>;

/** A method of the client, and the resource it belongs to. */
function findMethod(client: Portkey, path: string): Method {
  const names = path.split(".");
  const name = names.pop() ?? "";
  const owner = readPath(client, names.join("."));
  assert.ok(typeof owner === "object" && owner !== null, path);
  const method: unknown = Reflect.get(owner, name);
  assert.ok(typeof method === "function", path);
  return (...args) => method.apply(owner, args);
}

/** Calls a method; the status that the client reports, and the response. */
async function callMethod(client: Portkey, { method, args }: ClientCall, made: Made) {
  const file = new File(["{}"], "file.jsonl");
  const filled = args.map((one) => fillIn(one, new Map([...made, ["file", file]])));
  try {
    return { status: 200, answer: await findMethod(client, method)(...filled) };
  } catch (error) {
    const status = isObject(error) ? error.status : undefined;
    if (typeof status !== "number") return { status: 0, answer: error };
    return { status, answer: isObject(error) ? error.message : undefined };
  }
}

const kinds = ["workspace", "admin"] as const;

for (const [name, calls] of [
  ["the control plane", controlCalls],
  ["a provider", inferenceCalls],
] as const) {
  for (const kind of kinds) {
    test(`every method of the npm client that asks ${name} works with the ${kind} key`, async () => {
      const made = await host.createNames(`${name === "a provider" ? "p" : "c"}${kind}`);
      const { url, workspaceKey, adminKey } = host.gateway;
      const apiKey = kind === "admin" ? adminKey : workspaceKey;
      const virtualKey = name === "a provider" ? { virtualKey: String(made.get("stored")) } : {};
      const wrong: string[] = [];
      for (const call of calls) {
        const client = new Portkey({ apiKey, baseURL: `${url}/v1`, ...virtualKey });
        const { status, answer } = await callMethod(client, call, made);
        if (!isExpected(call, kind, status)) wrong.push(`${call.method}: ${status} ${String(answer).slice(0, 300)}`);
        if (status !== 200) continue;
        for (const [as, path] of Object.entries(call.made ?? {})) made.set(as, readPath(answer, path));
      }
      assert.deepEqual(wrong, []);
    });
  }
}

/** Members of a client that every resource has: calls of any path. */
const ofEveryResource = new Set(["post", "put", "getMethod", "deleteMethod"]);
/** Members that are no resources. */
const noResource = new Set(["client", "fetch", "openai"]);

/** Paths of all methods of a client. */
function listMethods(owner: object, path: string): string[] {
  const own = Object.getOwnPropertyNames(owner).flatMap((name) => {
    const value: unknown = Reflect.get(owner, name);
    if (noResource.has(name) || typeof value !== "object" || value === null) return [];
    return listMethods(value, path === "" ? name : `${path}.${name}`);
  });
  if (path === "") return own;
  const ofClass = Object.getOwnPropertyNames(Object.getPrototypeOf(owner)).filter((name) => {
    const value: unknown = Reflect.get(owner, name);
    return typeof value === "function" && name !== "constructor" && !ofEveryResource.has(name);
  });
  return [...ofClass.filter((name) => !(name in Object.prototype)).map((name) => `${path}.${name}`), ...own];
}

test("the table has every method of the npm client", () => {
  const client = new Portkey({ apiKey: "fake", baseURL: "http://127.0.0.1:1/v1" });
  const methods = new Set(listMethods(client, ""));
  const called = [...controlCalls, ...inferenceCalls].map(({ method }) => method);
  const known = new Set([...called, ...Object.keys(withoutCall)]);
  assert.ok(methods.size > 250, String(methods.size));
  assert.deepEqual(
    [...methods].filter((method) => !known.has(method)),
    [],
  );
  assert.deepEqual(
    [...known].filter((method) => !methods.has(method)),
    [],
  );
  assert.deepEqual(
    called.filter((method) => Object.hasOwn(withoutCall, method)),
    [],
  );
});
