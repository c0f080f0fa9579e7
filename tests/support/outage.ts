import assert from "node:assert/strict";
import type { Row } from "@libsql/client";
import { openDatabase } from "../../src/db/client.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { fakeAdminKey, type GatewayProcess } from "./process.ts";
import { startRecordingUpstream } from "./upstream.ts";

/** A provider that counts other tokens in each answer. */
export async function startChats() {
  let calls = 0;
  return startRecordingUpstream(({ text }, response) => {
    calls++;
    const [prompt_tokens, completion_tokens] = [100 + ((calls * 7) % 900), 1 + ((calls * 3) % 300)];
    const usage = { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
    const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }];
    const { model } = JSON.parse(text);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "c", created: 1, model, object: "chat.completion", choices, usage }));
  });
}

/** Calls the control plane. */
async function admin<Answer>({ url }: GatewayProcess, path: string, body?: object): Promise<Answer> {
  const headers = { "x-gateway-api-key": fakeAdminKey, "content-type": "application/json" };
  const init = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(`${url}/v1${path}`, init);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

const loops = 8;

interface MadeKey {
  id: string;
  key: string;
}

/** Requests in turn with a key that has a budget and with one that has none. Each has its own trace. */
export class Requests {
  readonly traces: string[] = [];
  /** Requests that the budget refused. */
  refused = 0;
  readonly limited: MadeKey;
  readonly #free: MadeKey;
  readonly #host: string;
  #next = 0;

  private constructor(limited: MadeKey, free: MadeKey, host: string) {
    this.limited = limited;
    this.#free = free;
    this.#host = host;
  }

  /** @param host Address of a provider. */
  static async create(gateway: GatewayProcess, host: string): Promise<Requests> {
    const settings = { workspace_id: "default", scopes: ["completions.write"] };
    const make = (changes: object) =>
      admin<MadeKey>(gateway, "/api-keys/workspace/service", { ...settings, ...changes });
    const limited = await make({ name: "Limited", usage_limits: { type: "cost", credit_limit: 1e6 } });
    return new Requests(limited, await make({ name: "Free" }), `${host}/v1`);
  }

  async send({ url }: GatewayProcess): Promise<void> {
    const trace = `trace-${crypto.randomUUID()}`;
    const isLimited = this.#next++ % 2 === 0;
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-gateway-api-key": isLimited ? this.limited.key : this.#free.key,
        "x-gateway-provider": "openai",
        "x-gateway-custom-host": this.#host,
        "x-gateway-trace-id": trace,
        authorization: "Bearer upstream-key",
      },
      body: JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: "Hi" }] }),
    });
    const text = await response.text();
    // without the database, a process that shares it admits only what it has leased
    if (isLimited && response.status === 412) this.refused++;
    else assert.equal(response.status, 200, text);
    this.traces.push(trace);
  }

  /** Sends for a time. */
  async sendFor(gateway: GatewayProcess, milliseconds: number): Promise<void> {
    const end = performance.now() + milliseconds;
    const loop = async () => {
      while (performance.now() < end) await this.send(gateway);
    };
    await Promise.all(Array.from({ length: loops }, loop));
  }
}

/** A figure of a gateway. */
export async function readMetric({ url }: GatewayProcess, name: string): Promise<number> {
  const response = await fetch(`${url}/metrics`, { headers: { "x-gateway-api-key": fakeAdminKey } });
  const line = (await response.text()).split("\n").find((one) => one.startsWith(`${name} `));
  assert.ok(line, name);
  return Number(line.split(" ")[1]);
}

/** Waits until a figure is right. */
export async function untilMetric(
  gateway: GatewayProcess,
  name: string,
  isRight: (value: number) => boolean,
): Promise<void> {
  const end = performance.now() + 20_000;
  while (!isRight(await readMetric(gateway, name))) {
    assert.ok(performance.now() < end, `waited for ${name}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Asserts that each request has one row, and that the budget is the sum of their costs to the nano-dollar. */
export async function checkRows(
  gateway: GatewayProcess,
  url: string,
  { traces, limited: { id } }: Requests,
): Promise<void> {
  const database = await openDatabase({ url });
  const rows: Row[] = [];
  // a server limits the size of its responses
  const sql = "SELECT seq, details FROM log_batches WHERE seq > ? ORDER BY seq LIMIT 50";
  for (;;) {
    const page = await database.read({ sql, args: [Number(rows.at(-1)?.seq ?? 0)] });
    rows.push(...page.rows);
    if (page.rows.length === 0) break;
  }
  const counters = await database.read({
    sql: "SELECT sum(used) AS used FROM limit_counters WHERE bucket = ?",
    args: [`api_key:${id}`],
  });
  await database.close();
  const all = rows.flatMap(({ details }): LogDetails[] => JSON.parse(String(details)));
  const found = all.filter(({ trace_id }) => trace_id.startsWith("trace-"));
  assert.equal(found.length, traces.length);
  assert.deepEqual(found.map(({ trace_id }) => trace_id).sort(), traces.toSorted());
  const charged = found.filter(({ api_key_id, status }) => api_key_id === id && status === 200);
  const nanos = charged.reduce((sum, { cost }) => sum + Math.round((cost ?? assert.fail("no cost")) * 1e7), 0);
  assert.ok(nanos > 0);
  assert.equal(Number(counters.rows[0]?.used), nanos);
  const shown = await admin<{ usage_limits: { current_usage: number } }>(gateway, `/api-keys/${id}`);
  assert.equal(Math.round(shown.usage_limits.current_usage * 1e9), nanos);
}
