import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pythonOf } from "../../scripts/python.mjs";
import { type ClientHost, startClientHost } from "./host.ts";
import { controlCalls, inferenceCalls, withoutCall } from "./python-calls.ts";
import { type ClientCall, isExpected } from "./run.ts";

// Installed by the runner where the machine has Python; without it these tests leave themselves out.
const python = pythonOf(import.meta.dirname);
const skip = !existsSync(python);

interface Ran {
  methods: string[];
  results: { method: string; status: number; message: string }[];
}

/** Runs the calls in one process of the client. */
function runPython(input: object): Promise<Ran> {
  const child = spawn(python, [join(import.meta.dirname, "calls.py")], { stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  let problems = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    problems += text;
  });
  child.stdin.end(JSON.stringify(input));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => (code === 0 ? resolve(JSON.parse(output)) : reject(new Error(problems))));
  });
}

let host: ClientHost;
before(async () => {
  if (!skip) host = await startClientHost();
});
after(() => host?.close());

for (const [name, calls] of [
  ["the control plane", controlCalls],
  ["a provider", inferenceCalls],
] as const) {
  for (const kind of ["workspace", "admin"] as const) {
    test(`every method of the Python client that asks ${name} works with the ${kind} key`, { skip }, async () => {
      const names = await host.createNames(`${name === "a provider" ? "p" : "c"}${kind}`);
      const { url, workspaceKey, adminKey } = host.gateway;
      const { results } = await runPython({
        url: `${url}/v1`,
        key: kind === "admin" ? adminKey : workspaceKey,
        ...(name === "a provider" && { provider: names.get("stored") }),
        names: Object.fromEntries(names),
        calls,
      });
      const wrong = results.filter(({ status }, index) => !isExpected(calls[index] as ClientCall, kind, status));
      assert.deepEqual(wrong, []);
      assert.equal(results.length, calls.length);
    });
  }
}

test("the table has every method of the Python client", { skip }, async () => {
  const { methods } = await runPython({ url: "http://127.0.0.1:1/v1", key: "fake", names: {}, calls: [] });
  const called = new Set([...controlCalls, ...inferenceCalls].map(({ method }) => method));
  const others = Object.keys(withoutCall);
  assert.ok(methods.length > 300, String(methods.length));
  assert.deepEqual(
    methods.filter((method) => !called.has(method) && !others.includes(method)),
    [],
  );
  assert.deepEqual(
    [...called, ...others].filter((method) => !methods.includes(method)),
    [],
  );
  assert.deepEqual(
    others.filter((method) => called.has(method)),
    [],
  );
});
