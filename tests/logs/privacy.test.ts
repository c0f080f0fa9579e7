import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { call, done } from "../support/control.ts";
import {
  chat,
  createTestGateway,
  type HeaderChanges,
  type ShownLog,
  type TestGateway,
  waitForLog,
} from "../support/gateway.ts";

let gateway: TestGateway;
let organisationId: string;
let workspaceId: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  const self = await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self"));
  organisationId = self.data.id;
  const { data } = await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/workspaces"));
  workspaceId = data[0]?.id ?? "";
});
after(() => gateway.close());

const setOrganisation = (body: object) => done(call(gateway, `PUT /organisations/${organisationId}`, { body }));
const setWorkspace = (settings: object) =>
  done(call(gateway, `PUT /admin/workspaces/${workspaceId}`, { body: { settings } }));
beforeEach(async () => {
  await setOrganisation({ workspace_override: ["debug_log"], debug_log: null, enforce_debug_log_setting: false });
  await setWorkspace({ debug_log: null });
});

const secretText = "nobody shall read this";
let count = 0;

/** The row of a chat, and whether anything of it is stored with its contents. */
async function rowOf(headers: HeaderChanges, body: object = {}): Promise<{ row: ShownLog; isStored: boolean }> {
  const trace = `privacy-${count++}`;
  const asked = { model: "echo-1", messages: [{ role: "user", content: secretText }], ...body };
  await (await chat(gateway, asked, { "x-note": "seen", "x-gateway-trace-id": trace, ...headers })).text();
  const row = await waitForLog(gateway, trace);
  const database = await gateway.openFile();
  const { rows } = await database.read({
    sql: "SELECT content, details FROM log_batches LEFT JOIN log_bodies USING (seq) WHERE details LIKE ?",
    args: [`%"${trace}"%`],
  });
  const stored = JSON.stringify([row, rows]);
  const [hasText, hasHeaders] = [stored.includes(secretText), stored.includes("x-note")];
  assert.equal(hasText, hasHeaders);
  assert.equal(row.status, 200);
  assert.deepEqual([row.model, row.usage !== null], ["echo-1", true]);
  return { row, isStored: hasText };
}

interface Case {
  organisation?: object;
  workspace?: number;
  headers?: HeaderChanges;
  isStored: boolean;
}

const off = { "x-gateway-debug": "false" };
const on = { "x-gateway-debug": "true" };
const ignore = { "x-gateway-ignore-service-log": "true" };
const enforced = { enforce_debug_log_setting: true };
const cases: readonly Case[] = [
  { isStored: true },
  { headers: off, isStored: false },
  { headers: { "x-gateway-debug": "FALSE" }, isStored: false },
  { headers: { "x-gateway-debug": "perhaps" }, isStored: true },
  { headers: on, isStored: true },
  { headers: ignore, isStored: false },
  { headers: { ...ignore, ...on }, isStored: false },
  { headers: { "x-gateway-ignore-service-log": "false" }, isStored: true },
  { organisation: { debug_log: 0 }, isStored: false },
  { organisation: { debug_log: 0 }, headers: on, isStored: true },
  { organisation: { debug_log: 0, ...enforced }, headers: on, isStored: false },
  { organisation: { debug_log: 1, ...enforced }, headers: off, isStored: true },
  { organisation: { debug_log: 1, ...enforced }, headers: ignore, isStored: true },
  { workspace: 0, isStored: false },
  { workspace: 0, headers: on, isStored: true },
  { organisation: { debug_log: 0 }, workspace: 1, isStored: true },
  { organisation: { ...enforced }, workspace: 0, headers: on, isStored: false },
];
for (const { organisation, workspace, headers = {}, isStored } of cases) {
  const named = JSON.stringify({ organisation, workspace, headers });
  test(`${isStored ? "contents are stored" : "a row holds figures only"} with ${named}`, async () => {
    if (organisation) await setOrganisation(organisation);
    if (workspace !== undefined) await setWorkspace({ debug_log: workspace });
    for (const body of [{}, { stream: true, stream_options: { include_usage: true } }]) {
      assert.equal((await rowOf(headers, body)).isStored, isStored);
    }
  });
}

for (const isAsync of [false, true]) {
  test(`hooks ${isAsync ? "behind the answer" : "of a request"} quote nothing in a row without contents`, async () => {
    const words = { words: secretText.split(" "), operator: "any" };
    const hook = {
      type: "guardrail",
      id: "quotes",
      async: isAsync,
      checks: [{ id: "default.contains", parameters: words }],
    };
    const config = JSON.stringify({ provider: "echo", before_request_hooks: [hook] });
    for (const [headers, isStored] of [
      [on, true],
      [off, false],
    ] as const) {
      const own = { "x-gateway-provider": null, "x-gateway-config": config };
      let { row } = await rowOf({ ...own, ...headers });
      const until = performance.now() + 5_000;
      while (!("hook_results" in row) && performance.now() < until) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        row = await waitForLog(gateway, row.trace_id);
      }
      const results = JSON.stringify(Reflect.get(row, "hook_results"));
      assert.match(results, /default\.contains/);
      assert.equal(results.includes("foundWords"), isStored, results);
    }
  });
}
