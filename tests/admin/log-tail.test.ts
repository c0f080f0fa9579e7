import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { createLogThread } from "../../src/serve/log-thread.ts";
import { call, done } from "../support/control.ts";
import {
  adminKey,
  chat,
  createTemporaryFolder,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  insertKey,
  insertTenant,
  listLogs,
  readJson,
  type TestGateway,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { followLog } from "../support/log-tail.ts";

const folder = createTemporaryFolder();
const nodeOptions = { database: `file:${join(folder.path, "gateway.db")}` };
const foreignKey = mintApiKey("gk").key;
const secondKey = mintApiKey("gk").key;
const narrowKey = mintApiKey("gk").key;
let gateway: TestGateway;
let other: TestGateway;
let secondKeyId = "";
before(async () => {
  // one process writes the log on a thread
  gateway = await createTestGateway({ ...nodeOptions, createLogWriter: createLogThread });
  other = await createTestGateway(nodeOptions);
  const { openDatabase } = await import("../../src/db/client.ts");
  const database = await openDatabase({ url: nodeOptions.database });
  await insertTenant(database, foreignKey);
  secondKeyId = await insertKey(database, secondKey);
  await insertKey(database, narrowKey, { scopes: '["completions.write","logs.read"]' });
  await database.close();
});
after(async () => {
  await gateway.close();
  await other.close();
  folder.remove();
});

/** Sends a request with a trace, and waits for its response. */
async function send(trace: string, headers: HeaderChanges = {}, node = gateway, model = "echo-1"): Promise<void> {
  const response = await chat(node, { ...helloBody, model }, { "x-gateway-trace-id": trace, ...headers });
  await response.text();
}

const traces = (rows: readonly { trace_id: string }[]) => rows.map(({ trace_id }) => trace_id).join(" ");

test("GET /v1/logs/tail sends each row as it ends, as lists show it", async () => {
  const tail = await followLog(gateway);
  assert.equal(tail.response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  for (const trace of ["a1", "a2", "a3"]) await send(trace);
  const rows = await tail.take(3);
  assert.equal(traces(rows), "a1 a2 a3");
  for (const row of rows) {
    const [listed] = (await listLogs(gateway, `trace_id=${row.trace_id}`)).data;
    assert.deepEqual(row, listed);
  }
  await tail.close();
});

test("GET /v1/logs/tail chooses rows as lists do", async () => {
  const queries = [
    "",
    "status=200",
    "status=429",
    "model=model-a",
    "model=%22quoted%22",
    "provider=echo",
    "provider=openai",
    "trace_id=f2",
    `api_key_id=${secondKeyId}`,
    "error=upstream_error",
    "operation=chat",
    "stream=true",
    "stream=false",
    "metadata.team=red",
    "metadata.team=red&metadata.place=east",
    "metadata._user=ann",
    "metadata.team=",
    "from=2001-01-01",
    "to=2001-01-01",
    "model=model-a&status=200",
    "status_code=429,404",
    "trace_id=f1,f2,f9",
    "ai_org_model=echo__model-a",
    "ai_model=model-a",
    "metadata=%7B%22team%22%3A%22red%22%7D",
    "total_units_min=1",
    "cost_max=0",
    `api_key_ids=${secondKeyId},x`,
    "span_id=none",
    "weighted_feedback_min=2",
    "weighted_feedback_max=1",
    "time_of_generation_min=2001-01-01T00:00:00Z",
    "cache_status=MISS,DISABLED",
    "cache_status=MISS",
  ];
  for (const [trace_id, value] of [
    ["f1", 4],
    ["f1", 2],
    ["f2", -3],
  ] as const) {
    await done(call(gateway, "POST /feedback", { key: workspaceKey, body: { trace_id, value } }));
  }
  const tails = await Promise.all(queries.map((query) => followLog(gateway, query)));
  await send("f1", {}, gateway, "model-a");
  await send("f2", { "x-gateway-echo-status": "429" }, gateway, "model-a");
  await send("f3", { "x-gateway-metadata": '{"team":"red","place":"east"}' }, gateway, '"quoted"');
  await send("f4", { "x-gateway-metadata": '{"team":"red","_user":"ann"}', "x-gateway-api-key": secondKey });
  await send("f5", { "x-gateway-provider": null });
  await (await chat(gateway, { ...helloBody, stream: true }, { "x-gateway-trace-id": "f6" })).text();
  await waitForLogs(gateway, "trace_id=f6");
  const all = await waitForLogs(gateway, "from=2001-01-01", 6);
  const own = new Set(all.filter(({ trace_id }) => trace_id.startsWith("f")).map(({ id }) => id));
  assert.equal(own.size, 6);
  // a last row that each follower sees, unless its filter hides it
  const seen = await Promise.all(
    tails.map(async (tail, place) => {
      const listed = (await listLogs(gateway, `${queries[place]}&limit=100`)).data.filter(({ id }) => own.has(id));
      const rows = await tail.take(listed.length);
      assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set(listed.map(({ id }) => id)), queries[place]);
      return rows.length;
    }),
  );
  assert.deepEqual(seen.slice(0, 5), [6, 4, 1, 2, 1]);
  assert.deepEqual([seen[7], seen[8], seen[13], seen[14], seen[15]], [1, 1, 2, 1, 1]);
  assert.deepEqual(seen.slice(20, 25), [1, 2, 2, 2, 2]);
  assert.deepEqual([seen[27], ...seen.slice(28)], [1, 0, 1, 1, 6, 6, 0]);
  for (const tail of tails) await tail.close();
});

for (const [query, name] of [
  ["limit=10", "limit"],
  ["cache_status=WARM", "cache_status"],
  ["cursor=x", "cursor"],
  ["unknown=1", "unknown"],
  ["status=abc", "status"],
  ["from=2026-01-02&to=2026-01-01", "to"],
] as const) {
  test(`GET /v1/logs/tail?${query} returns 400 naming ${name}`, async () => {
    const response = await gateway.fetch(`/v1/logs/tail?${query}`, { headers: { "x-gateway-api-key": workspaceKey } });
    const body = await readJson<{ error: { param: string } }>(response);
    assert.deepEqual([response.status, body.error.param], [400, name]);
  });
}

test("Last-Event-ID resumes without losing or doubling a row, on any node, wherever the reader was", async () => {
  const positions: string[] = [];
  const tail = await followLog(gateway);
  for (let index = 0; index < 12; index++) await send(`r${index}`, {}, index % 3 === 0 ? other : gateway);
  const rows: string[] = [];
  for (let index = 0; index < 12; index++) {
    const [row] = await tail.take(1);
    rows.push(row?.trace_id ?? "");
    positions.push(tail.lastId());
  }
  await tail.close();
  assert.deepEqual([...rows].sort(), Array.from({ length: 12 }, (_, index) => `r${index}`).sort());
  assert.equal(new Set(positions).size, 12);
  for (const [index, lastId] of positions.entries()) {
    const resumed = await followLog(index % 2 === 0 ? gateway : other, "", { lastId });
    if (index === 11) await send("r-next");
    const wanted = index === 11 ? ["r-next"] : rows.slice(index + 1);
    assert.equal(traces(await resumed.take(wanted.length)), wanted.join(" "));
    await resumed.close();
  }
});

test("a reader that got no row resumes from where it began", async () => {
  const tail = await followLog(gateway, "model=nobody-asks-for-it");
  const reader = tail.next();
  reader.catch(() => {});
  while (tail.lastId() === "") await new Promise((resolve) => setTimeout(resolve, 5));
  const lastId = tail.lastId();
  await tail.close();
  await send("b1");
  await send("b2");
  await waitForLogs(gateway, "trace_id=b2");
  const resumed = await followLog(gateway, "", { lastId });
  assert.equal(traces(await resumed.take(2)), "b1 b2");
  await resumed.close();
});

test("N4: Last-Event-ID of another tenant, of another scope, and a changed one are refused", async () => {
  const tail = await followLog(gateway);
  await send("c1");
  await tail.take(1);
  const id = tail.lastId();
  await tail.close();
  const [digits = "", tag = ""] = id.split(".");
  const last = digits.at(-1) === "0" ? "1" : "0";
  for (const [key, lastId, status] of [
    [workspaceKey, id, 200],
    [foreignKey, id, 400],
    [adminKey, id, 400],
    [workspaceKey, `${digits.slice(0, -1)}${last}.${tag}`, 400],
    [workspaceKey, `${digits}.${tag.slice(1)}A`, 400],
    [workspaceKey, "1", 400],
    [workspaceKey, "01ARZ3NDEKTSV4RRFFQ69G5FAV", 400],
  ] as const) {
    const headers = { "x-gateway-api-key": key, "last-event-id": lastId };
    const response = await gateway.fetch("/v1/logs/tail", { headers });
    assert.equal(response.status, status, lastId);
    if (status === 200) await response.body?.cancel();
    else assert.equal((await readJson<{ error: { param: string } }>(response)).error.param, "last-event-id");
  }
});

test("N1: a tenant follows its own rows only; a key of the organisation those of each workspace", async () => {
  const [own, foreign, whole] = await Promise.all([
    followLog(gateway),
    followLog(gateway, "", { key: foreignKey }),
    followLog(gateway, "", { key: adminKey }),
  ]);
  await send("t1", { "x-gateway-api-key": foreignKey });
  await send("t2");
  await send("t3", { "x-gateway-api-key": foreignKey });
  assert.equal(traces(await own.take(1)), "t2");
  assert.equal(traces(await whole.take(1)), "t2");
  assert.equal(traces(await foreign.take(2)), "t1 t3");
  for (const tail of [own, foreign, whole]) await tail.close();
});

test("following needs a scope that lists need", async () => {
  const response = await gateway.fetch("/v1/logs/tail", { headers: { "x-gateway-api-key": narrowKey } });
  assert.equal(response.status, 403);
  await response.body?.cancel();
});

test("rows of both nodes reach each follower once, while both write", async () => {
  const tails = await Promise.all([followLog(gateway), followLog(other)]);
  const count = 150;
  await Promise.all(
    Array.from({ length: count }, (_, index) => send(`n${index}`, {}, index % 2 === 0 ? gateway : other)),
  );
  const wanted = Array.from({ length: count }, (_, index) => `n${index}`).sort();
  const orders: string[] = [];
  for (const tail of tails) {
    const rows = await tail.take(count);
    assert.deepEqual(rows.map(({ trace_id }) => trace_id).sort(), wanted);
    orders.push(traces(rows));
    await tail.close();
  }
  assert.equal(orders[0], orders[1]);
});

test("a revoked key stops following, with the reason", async () => {
  const made = await gateway.fetch("/v1/api-keys/workspace/service", {
    method: "POST",
    headers: { "x-gateway-api-key": adminKey, "content-type": "application/json" },
    body: JSON.stringify({ name: "Follower", workspace_id: "default", scopes: ["logs.list"] }),
  });
  const { id, key } = await readJson<{ id: string; key: string }>(made);
  const tail = await followLog(gateway, "", { key });
  const removed = await other.fetch(`/v1/api-keys/${id}`, {
    method: "DELETE",
    headers: { "x-gateway-api-key": adminKey },
  });
  assert.equal(removed.status, 200);
  const event = await tail.next();
  assert.equal(event?.name, "error");
  assert.equal(JSON.parse(event?.data ?? "").error.code, "invalid_api_key");
  assert.equal(await tail.next(), undefined);
});

test("a workspace and a gateway have a limit of followers, and places become free", async () => {
  const small = await createTestGateway({ ...nodeOptions, logFollowers: { perWorkspace: 2, total: 3 } });
  const open = async (key: string) => {
    const response = await small.fetch("/v1/logs/tail", { headers: { "x-gateway-api-key": key } });
    if (response.status === 200) return { status: 200, cancel: () => response.body?.cancel() };
    const { error } = await readJson<{ error: { code: string } }>(response);
    assert.ok(response.headers.has("retry-after"));
    return { status: response.status, code: error.code, cancel: () => undefined };
  };
  const first = await open(workspaceKey);
  await open(workspaceKey);
  const refused = await open(workspaceKey);
  assert.deepEqual([refused.status, refused.code], [429, "too_many_followers"]);
  assert.equal((await open(foreignKey)).status, 200);
  const full = await open(foreignKey);
  assert.deepEqual([full.status, full.code], [503, "too_many_followers"]);
  await first.cancel();
  assert.equal((await open(foreignKey)).status, 200);
  await small.close();
});

test("a gateway that drains or closes ends its followers at once", async () => {
  const node = await createTestGateway(nodeOptions);
  const tail = await followLog(node);
  await node.gateway.drain(60_000);
  assert.equal(await tail.next(), undefined);
  const response = await node.fetch("/v1/logs/tail", { headers: { "x-gateway-api-key": workspaceKey } });
  assert.equal(response.status, 503);
  await node.close();
});
