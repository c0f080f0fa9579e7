import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createClient } from "@libsql/client";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { createRandom } from "../support/gateway.ts";
import { createFolder, fakeAdminKey, type GatewayProcess, startGatewayProcess, waitFor } from "../support/process.ts";
import { isWhole } from "../support/sample.ts";
import { startRecordingUpstream } from "../support/upstream.ts";

const kills = isWhole ? 20 : 3;
const seed = Math.floor(Math.random() * 2 ** 31);
const models = ["gpt-4o", "gpt-4o-mini"] as const;
const users = ["alice", "bob", "carol"] as const;
const loops = 24;

/** Answers chats, half of them in events, each with other counts. */
async function startChats(): Promise<{ url: string; calls: () => number; close(): Promise<void> }> {
  let calls = 0;
  const upstream = await startRecordingUpstream(({ text }, response) => {
    calls++;
    const [prompt_tokens, completion_tokens] = [100 + ((calls * 7) % 900), 1 + ((calls * 3) % 300)];
    const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
    const { model, stream } = JSON.parse(text);
    const base = { id: "c", created: 1, model };
    if (!stream) {
      const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ ...base, object: "chat.completion", choices, usage }));
      return;
    }
    const send = (chunk: object) =>
      response.write(`data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", ...chunk })}\n\n`);
    response.writeHead(200, { "content-type": "text/event-stream" });
    send({ choices: [{ index: 0, delta: { role: "assistant", content: "Hi" }, finish_reason: null }] });
    send({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] });
    send({ choices: [], usage });
    response.end("data: [DONE]\n\n");
  });
  return { url: `${upstream.url}/v1`, calls: () => calls, close: () => upstream.close() };
}

/** A request to the control plane. */
async function admin<Answer>({ url }: GatewayProcess, path: string, body?: object): Promise<Answer> {
  const headers = { "x-gateway-api-key": fakeAdminKey, "content-type": "application/json" };
  const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(`${url}/v1${path}`, init);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

/** A key with a budget of money and a rate of requests. */
interface LimitedKey {
  readonly id: string;
  readonly key: string;
}

/** Limits of every kind, and what they count in. */
interface Limits {
  readonly keys: readonly LimitedKey[];
  /** Ids of the budgets: money for each user, tokens for each model, requests for each key. */
  readonly policies: Readonly<Record<"cost" | "tokens" | "requests", string>>;
}

async function createLimits(gateway: GatewayProcess): Promise<Limits> {
  const makeKey = (name: string) =>
    admin<LimitedKey>(gateway, "/api-keys/workspace/service", {
      name,
      workspace_id: "default",
      scopes: ["completions.write"],
      usage_limits: { type: "cost", credit_limit: 1e6 },
      rate_limits: [{ type: "requests", unit: "rpw", value: 1e9 }],
    });
  const makePolicy = async (type: string, group: string) => {
    const body = { workspace_id: "default", type, credit_limit: 1e9, group_by: [{ key: group }] };
    const conditions = [{ key: "provider", value: "openai" }];
    return (await admin<{ id: string }>(gateway, "/policies/usage-limits", { ...body, conditions })).id;
  };
  return {
    keys: [await makeKey("first"), await makeKey("second")],
    policies: {
      cost: await makePolicy("cost", "metadata._user"),
      tokens: await makePolicy("tokens", "model"),
      requests: await makePolicy("requests", "api_key"),
    },
  };
}

/** Sends chats, one after the other, until the gateway is gone. */
async function load(gateway: GatewayProcess, host: string, { keys }: Limits, random: () => number): Promise<void> {
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
  for (;;) {
    const body = { model: pick(models), stream: random() < 0.5, messages: [{ role: "user", content: "Hi" }] };
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-gateway-api-key": pick(keys).key,
        "x-gateway-provider": "openai",
        "x-gateway-custom-host": host,
        "x-gateway-metadata": JSON.stringify({ _user: pick(users) }),
        authorization: "Bearer upstream-key",
      },
      body: JSON.stringify(body),
    });
    await response.text();
    if (response.status !== 200) throw new Error(`A chat was answered with ${response.status}`);
  }
}

/** Sums by name. */
type Sums = Map<string, number>;

/** What the database of a killed process holds. */
async function readStored(folder: string): Promise<{ rows: LogDetails[]; counters: Sums }> {
  const database = createClient({ url: `file:${join(folder, "data/gateway.db")}`, timeout: 5_000 });
  try {
    const batches = await database.execute("SELECT details FROM log_batches");
    const rows: LogDetails[] = batches.rows.flatMap(({ details }) => JSON.parse(String(details)));
    const stored = await database.execute(
      "SELECT limit_id, bucket, SUM(used) AS used FROM limit_counters GROUP BY 1, 2",
    );
    const counters: Sums = new Map();
    for (const { limit_id, bucket, used } of stored.rows) {
      // less what the id says of the window
      const [id = "", type = ""] = String(limit_id).split(":");
      counters.set(`${id} ${type} ${bucket}`, Number(used));
    }
    return { rows, counters };
  } finally {
    database.close();
  }
}

/** What the counters must hold for the stored rows. Costs are nano-dollars. */
function sumRows(rows: readonly LogDetails[], { policies }: Limits, budgetOf: ReadonlyMap<string, string>): Sums {
  const sums: Sums = new Map();
  const add = (name: string, used: number) => sums.set(name, (sums.get(name) ?? 0) + used);
  for (const { api_key_id: key, model, metadata, cost, usage } of rows) {
    const nanos = Math.round((cost ?? assert.fail("a row without a cost")) * 1e7);
    add(`${policies.cost} cost metadata._user:${metadata._user}`, nanos);
    add(`${policies.tokens} tokens model:${model}`, usage?.total_tokens ?? assert.fail("a row without usage"));
    add(`${policies.requests} requests api_key:${key}`, 1);
    add(`${budgetOf.get(key)} cost api_key:${key}`, nanos);
    add(`${key} requests api_key:${key}`, 1);
  }
  return sums;
}

const sorted = (sums: Sums) => [...sums].sort(([one], [other]) => (one < other ? -1 : 1));

interface ShownKey {
  usage_limits: { id: string; current_usage: number };
}

/** What a gateway shows of its budgets, by the names of `sumRows`. */
async function readShown(
  gateway: GatewayProcess,
  { keys, policies }: Limits,
): Promise<{ shown: Sums; budgetOf: Map<string, string> }> {
  const [shown, budgetOf] = [new Map<string, number>(), new Map<string, string>()];
  for (const [type, id] of Object.entries(policies)) {
    type Entities = { data: { value_key: string; current_usage: number }[] };
    const { data } = await admin<Entities>(gateway, `/policies/usage-limits/${id}/entities`);
    for (const { value_key, current_usage } of data) {
      shown.set(`${id} ${type} ${value_key}`, type === "cost" ? Math.round(current_usage * 1e9) : current_usage);
    }
  }
  for (const { id } of keys) {
    const { usage_limits } = await admin<ShownKey>(gateway, `/api-keys/${id}`);
    budgetOf.set(id, usage_limits.id);
    shown.set(`${usage_limits.id} cost api_key:${id}`, Math.round(usage_limits.current_usage * 1e9));
  }
  return { shown, budgetOf };
}

test(`counters equal the sums over the stored rows after each of ${kills} kills at random moments`, async () => {
  const random = createRandom(seed);
  const folder = createFolder();
  const upstream = await startChats();
  const start = () => startGatewayProcess({ cwd: folder });
  let gateway = await start();
  try {
    const limits = await createLimits(gateway);
    const { budgetOf } = await readShown(gateway, limits);
    let before = 0;
    for (let kill = 0; kill < kills; kill++) {
      const what = `seed ${seed}, kill ${kill}`;
      const work = Promise.allSettled(Array.from({ length: loops }, () => load(gateway, upstream.url, limits, random)));
      const until = upstream.calls() + 200 + Math.floor(random() * 600);
      await waitFor("calls", 60_000, () => upstream.calls() >= until);
      // rows are written every 64, or after 250 ms
      await new Promise((resolve) => setTimeout(resolve, random() * 300));
      await gateway.stop("SIGKILL");
      for (const one of await work) {
        if (one.status === "rejected") assert.doesNotMatch(String(one.reason), /was answered/, what);
      }
      const { rows, counters } = await readStored(folder);
      assert.ok(rows.length > before, `${what}: no row was stored`);
      before = rows.length;
      const sums = sumRows(rows, limits, budgetOf);
      assert.deepEqual(sorted(counters), sorted(sums), what);
      gateway = await start();
      const { shown } = await readShown(gateway, limits);
      const rates = limits.keys.map(({ id }) => `${id} requests api_key:${id}`);
      const budgets = [...sums].filter(([name]) => !rates.includes(name));
      assert.deepEqual(sorted(shown), sorted(new Map(budgets)), what);
    }
    console.log(`# ${upstream.calls()} calls, ${before} rows after ${kills} kills, seed ${seed}`);
  } finally {
    await gateway.stop("SIGKILL");
    await upstream.close();
  }
});
