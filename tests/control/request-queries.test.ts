import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { after, before, test } from "node:test";
import { createClient } from "@libsql/client/sqlite3";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway } from "../support/gateway.ts";

/** What is read for a request, whichever database client of this process does it; other work reads when its time comes. */
const readsOf = new AsyncLocalStorage<string[]>();
const probe = createClient({ url: ":memory:" });
// all clients of local databases share it
const shared: { execute: typeof probe.execute; batch: typeof probe.batch } = Object.getPrototypeOf(probe);
const { execute, batch } = shared;
const others = /from "?(?:changes|audit_logs|sqlite_sequence|log_\w+|gateway_\w+)/i;
const note = (statement: unknown) => {
  const sql = typeof statement === "string" ? statement : String(Object(statement).sql);
  if (/^select/i.test(sql) && !others.test(sql)) readsOf.getStore()?.push(sql);
};

interface Place {
  workspaceId: string;
  key: string;
}

let gateway: TestGateway;
let first: Place;
let second: Place;

const send = (route: string, body?: object) =>
  done<Record<string, string>>(call(gateway, route, body === undefined ? {} : { body }));

const echo = { name: "Echo", slug: "echo-here", provider: "echo", key: "fake-echo-key-000000" };

async function openWorkspace(name: string): Promise<Place> {
  const { id: workspaceId = "" } = await send("POST /admin/workspaces", { name });
  const at = { workspace_id: workspaceId };
  const { key = "" } = await send("POST /api-keys/workspace/service", { ...at, name, scopes: ["completions.write"] });
  await send("POST /virtual-keys", { ...at, ...echo });
  return { workspaceId, key };
}

before(async () => {
  shared.execute = function (this: typeof probe, ...given: Parameters<typeof execute>) {
    note(given[0]);
    return execute.apply(this, given);
  };
  shared.batch = function (this: typeof probe, ...given: Parameters<typeof batch>) {
    for (const statement of given[0]) note(statement);
    return batch.apply(this, given);
  };
  gateway = await createTestGateway({ inFile: true });
  first = await openWorkspace("First");
  second = await openWorkspace("Second");
});
after(async () => {
  Object.assign(shared, { execute, batch });
  probe.close();
  await gateway.close();
});

async function ask({ key }: Pick<Place, "key">, provider = "@echo-here"): Promise<number> {
  const response = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: { "x-gateway-api-key": key, "content-type": "application/json", "x-gateway-provider": provider },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.text();
  return response.status;
}

/** Tables that a request reads. */
async function tablesOf(place: Pick<Place, "key">): Promise<string[]> {
  const reads: string[] = [];
  assert.equal(await readsOf.run(reads, () => ask(place)), 200);
  const tables = reads.flatMap((sql) => [...sql.matchAll(/from "(\w+)"/g)].map(([, name]) => name ?? ""));
  return [...new Set(tables)].toSorted();
}

const readAll = async () => [await tablesOf(first), await tablesOf(second)];

test("requests read nothing when nothing changed", async () => {
  await readAll();
  assert.deepEqual(await readAll(), [[], []]);
});

test("requests read again what a write concerned, and nothing else", async () => {
  await readAll();
  const at = { workspace_id: first.workspaceId };
  await send("POST /configs", { ...at, name: "c", config: { provider: "echo" } });
  assert.deepEqual(await readAll(), [["config_versions", "configs", "secrets"], []]);
  const check = { id: "default.contains", parameters: { operator: "any", words: ["x"] } };
  const guardrail = { name: "g", checks: [check], actions: {}, workspace_id: second.workspaceId };
  await send("POST /guardrails", guardrail);
  assert.deepEqual(await readAll(), [[], ["guardrail_versions", "guardrails", "secrets"]]);
  await send("PUT /admin/organisation/defaults", { input_guardrails: [] });
  assert.deepEqual(await readAll(), [["organisations"], []]);
});

test("a key that is made or revoked costs no other caller a read", async () => {
  await readAll();
  const body = { name: "k", scopes: ["completions.write"], workspace_id: first.workspaceId };
  const { id, key = "" } = await send("POST /api-keys/workspace/service", body);
  assert.deepEqual(await readAll(), [[], []]);
  assert.deepEqual(await tablesOf({ key }), ["api_keys"]);
  await send(`DELETE /api-keys/${id}`);
  assert.equal(await ask({ key }), 401);
  assert.deepEqual(await readAll(), [[], []]);
});

test("what is written is seen by the next request", async () => {
  for (const slug of ["two", "three"]) {
    assert.equal(await ask(first, `@${slug}`), 400);
    await send("POST /virtual-keys", { ...echo, slug, workspace_id: first.workspaceId });
    assert.equal(await ask(first, `@${slug}`), 200);
    await send(`DELETE /virtual-keys/${slug}?workspace_id=${first.workspaceId}`);
    assert.equal(await ask(first, `@${slug}`), 400);
  }
});
