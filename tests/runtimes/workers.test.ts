import assert from "node:assert/strict";
import process from "node:process";
import { after, before, test } from "node:test";
import { eventually } from "../support/eventually.ts";
import { createRandom } from "../support/gateway.ts";
import {
  createFolder,
  fakeAdminKey,
  fakeWorkspaceKey,
  type GatewayProcess,
  startAndFail,
  startGatewayProcess,
  withGateway,
} from "../support/process.ts";
import { isCluster } from "../support/sample.ts";
import { ask, type Outcome } from "../support/stopping.ts";
import { childrenOf, isAlive, listTraces } from "../support/workers.ts";

const skip = process.platform !== "linux" && "only Linux lets processes share a port";
const key = fakeWorkspaceKey;
/** Times that a worker, and the owner, is killed under load. */
const kills = isCluster ? 10 : 1;
const loops = 8;
const seeds = isCluster ? 50 : 2;
const timeout = 600_000;

let gateway: GatewayProcess;
before(async () => {
  if (!skip) gateway = await startGatewayProcess({ env: { WORKERS: "2" } });
});
after(async () => {
  await gateway?.stop("SIGKILL");
});

/** A call of the control plane or of inference, each on a separate connection: any worker may get it. */
async function send(route: string, withKey: string, body?: object): Promise<{ status: number; body: Answer }> {
  const [method = "GET", path = "/"] = route.split(" ");
  const response = await fetch(`${gateway.url}/v1${path}`, {
    method,
    headers: {
      "x-gateway-api-key": withKey,
      "content-type": "application/json",
      "x-gateway-provider": "echo",
      connection: "close",
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Answer };
}

/** What the tests read of responses. */
interface Answer {
  id: string;
  key: string;
}

const chat = { model: "echo-1", messages: [{ role: "user", content: "Hello" }] };
const newKey = { name: "Shared", workspace_id: "default", scopes: ["completions.write"] };

async function makeKey(more: object = {}): Promise<Answer> {
  const { status, body } = await send("POST /api-keys/workspace/service", fakeAdminKey, { ...newKey, ...more });
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

const times = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, i) => make(i));

/** Asks in loops while something happens. */
async function underLoad(happens: () => Promise<void>): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  let isOver = false;
  const load = times(loops, async () => {
    while (!isOver) outcomes.push(await ask(gateway, key));
  });
  await happens();
  isOver = true;
  await Promise.all(load);
  return outcomes;
}

/** Kills a child and waits for the one that takes its place. */
async function killOne(kind: "owner" | "worker", random: () => number): Promise<void> {
  const before = childrenOf(gateway.pid, kind);
  const victim = before[Math.floor(random() * before.length)] ?? 0;
  process.kill(victim, "SIGKILL");
  await eventually("another process", async () => {
    const now = childrenOf(gateway.pid, kind);
    return now.length === before.length && !now.includes(victim);
  });
}

/**
 * Requires one row of each whole response.
 *
 * @param mostLost Responses whose rows had not left a killed process yet: at most one of each connection and kill.
 */
async function requireRows(outcomes: readonly Outcome[], mostLost = 0): Promise<void> {
  const whole = outcomes.filter(({ isWhole }) => isWhole).map(({ traceId }) => traceId);
  let rows = new Map<string, number>();
  const hasAll = async () => {
    rows = await listTraces(gateway, key);
    return whole.filter((traceId) => !rows.has(traceId)).length <= mostLost;
  };
  await eventually("all rows", hasAll, 60_000).catch(() => {});
  const lost = whole.filter((traceId) => !rows.has(traceId));
  const doubled = [...rows].filter(([, count]) => count > 1);
  assert.deepEqual(doubled, [], `of ${whole.length} rows`);
  assert.ok(lost.length <= mostLost, `of ${whole.length} rows, ${lost.length} are lost`);
}

test(`a worker killed under load ${kills} times: its own requests fail alone, and rows that had left it are stored once`, {
  skip,
  timeout,
}, async () => {
  const random = createRandom(1);
  const outcomes = await underLoad(async () => {
    for (let time = 0; time < kills; time++) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await killOne("worker", random);
    }
  });
  const failed = outcomes.filter(({ isWhole }) => !isWhole);
  assert.ok(failed.length <= kills * loops, `${failed.length} failed: ${failed[0]?.problem}`);
  await requireRows(outcomes, kills * loops);
});

test(`the owner killed under load ${kills} times: no request fails, and each has one row`, {
  skip,
  timeout,
}, async () => {
  const outcomes = await underLoad(async () => {
    for (let time = 0; time < kills; time++) {
      await new Promise((resolve) => setTimeout(resolve, 300));
      await killOne("owner", () => 0);
    }
    await eventually("the owner's answer", async () => (await send("GET /logs?limit=1", key)).status === 200);
  });
  const failed = outcomes.filter(({ isWhole }) => !isWhole);
  assert.deepEqual(failed, []);
  await requireRows(outcomes);
});

test(`bursts on all workers meet limits exactly, ${seeds} times, also while the owner is replaced`, {
  skip,
  timeout,
}, async () => {
  for (let seed = 0; seed < seeds; seed++) {
    const random = createRandom(seed);
    const most = 20 + Math.floor(random() * 20);
    const { key: limited } = await makeKey({ rate_limits: [{ type: "requests", unit: "rpw", value: most }] });
    const burst = () => Promise.all(times(most, () => send("POST /chat/completions", limited, chat)));
    const [first, , second] = await Promise.all([
      burst(),
      // on a busy machine the next owner may come later than requests wait for it
      isCluster && seed % 2 === 1 ? killOne("owner", random) : undefined,
      new Promise((resolve) => setTimeout(resolve, random() * 100)).then(burst),
    ]);
    const third = await burst();
    const statuses = [...first, ...second, ...third].map(({ status }) => status);
    const admitted = statuses.filter((status) => status === 200).length;
    assert.equal(admitted, most, `seed ${seed}: ${statuses}`);
    assert.deepEqual([...new Set(statuses)].sort(), [200, 429], `seed ${seed}`);
  }
});

test("a revoked key is dead on all workers once it is deleted", { skip }, async () => {
  for (let time = 0; time < kills; time++) {
    const { id, key: revoked } = await makeKey();
    const asked = () => Promise.all(times(12, () => send("POST /chat/completions", revoked, chat)));
    assert.deepEqual([...new Set((await asked()).map(({ status }) => status))], [200]);
    assert.equal((await send(`DELETE /api-keys/${id}`, fakeAdminKey)).status, 200);
    assert.deepEqual([...new Set((await asked()).map(({ status }) => status))], [401]);
  }
});

test("all processes end in order with the first, and without it", { skip }, async () => {
  const children = [...childrenOf(gateway.pid, "worker"), ...childrenOf(gateway.pid, "owner")];
  assert.equal(children.length, 3);
  const answered = await ask(gateway, key);
  assert.deepEqual(await gateway.stop(), { code: 0, signal: null }, gateway.output());
  assert.deepEqual(children.filter(isAlive), []);
  await withGateway({ cwd: gateway.folder, env: { WORKERS: "2", DRAIN_SECONDS: "1" } }, async (next) => {
    assert.equal((await listTraces(next, key)).get(answered.traceId), 1);
    const orphans = [...childrenOf(next.pid, "worker"), ...childrenOf(next.pid, "owner")];
    await next.stop("SIGKILL");
    await eventually("their end", async () => !orphans.some(isAlive));
  });
});

test("a start that cannot serve ends all processes with its reason", { skip }, async () => {
  const { code, output } = await startAndFail({ cwd: createFolder(), env: { WORKERS: "2", HOST: "192.0.2.1" } });
  assert.equal(code, 1, output);
  const memory = await startAndFail({ env: { WORKERS: "2", DATABASE_URL: ":memory:" } });
  assert.equal(memory.code, 1);
  assert.match(memory.output, /Cannot use WORKERS: a database in memory belongs to one process/);
});
