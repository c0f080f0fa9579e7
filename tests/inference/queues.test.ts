import assert from "node:assert/strict";
import { test } from "node:test";
import { call, done } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { adminKey, waitForLog } from "../support/gateway.ts";
import { chat, createKey, holdCall, type LimitParts, makeKey, makePolicy, withGateway } from "../support/limited.ts";

/** A limit on tokens that the estimate of one long prompt uses up: what it gives back lets the next ones go on. */
const most = 20_000;
const queued = (queue: object) => ({
  rate_limits: [
    { type: "tokens", unit: "rpm", value: most, queue: { max_waiting: 10, max_wait_ms: 60_000, ...queue } },
  ],
});
/** A prompt that is estimated to have nearly so many tokens. */
const longPrompt = { messages: [{ role: "user", content: "x".repeat(3 * most - 300) }] };

interface Plan {
  policies: { queue: { max_waiting: number; waiting: number } | null }[];
}

/** Waits until so many requests of a key wait. */
function untilWaiting({ gateway }: Pick<LimitParts, "gateway">, keyId: string, count: number): Promise<void> {
  return eventually(`${count} requests that wait`, async () => {
    const path = `GET /policies/explain?api_key_id=${keyId}&provider=openai&model=gpt-4o`;
    const { policies } = await done(call<Plan>(gateway, path));
    return policies[0]?.queue?.waiting === count;
  });
}

/** Runs a test with a key whose first request runs until it is finished, and others that wait for it. */
async function withHeld(
  limits: object,
  use: (
    parts: LimitParts & { id: string; key: string; first: ReturnType<typeof chat>; finish: () => void },
  ) => Promise<void>,
): Promise<void> {
  const { transport, started, finish } = holdCall(1);
  await withGateway(
    async (parts) => {
      const { id, key } = await createKey(parts.gateway, { workspace_id: parts.workspaceId, ...limits });
      const first = chat(parts, key, { body: longPrompt });
      await started;
      try {
        await use({ ...parts, id, key, first, finish });
      } finally {
        finish();
        await first;
      }
    },
    { transport: transport as never }, // a transport of one method
  );
}

const trace = (id: string, more: Record<string, string> = {}) => ({ "x-gateway-trace-id": id, ...more });

test("a request waits for room in a limit with a queue, and its row says where and how long", () =>
  withHeld(queued({}), async ({ gateway, id, key, finish, ...parts }) => {
    const second = chat({ gateway }, key, { headers: trace("second") });
    await untilWaiting({ gateway }, id, 1);
    const third = chat({ gateway }, key, { headers: trace("third") });
    await untilWaiting({ gateway }, id, 2);
    parts.clock.advance(60_000);
    finish();
    assert.deepEqual([(await second).status, (await third).status], [200, 200]);
    const rows = await Promise.all(["second", "third"].map((name) => waitForLog(gateway, name)));
    assert.deepEqual(
      rows.map((row) => (row as { waits?: object[] }).waits),
      [1, 2].map((position) => [
        { limit: "API Key", position, priority: "normal", wait_ms: 60_000, outcome: "admitted" },
      ]),
    );
    const metrics = await (await gateway.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } })).text();
    assert.match(metrics, /gateway_waits_total\{priority="normal",outcome="admitted"\} 2/);
    assert.match(metrics, /gateway_waiting_requests\{priority="normal"\} 0/);
    assert.match(metrics, /gateway_wait_seconds_total\{priority="normal"\} 120/);
  }));

test("a request that waits as long as it may is refused as without a queue", () =>
  withHeld(queued({ max_wait_ms: 20 }), async ({ gateway, key }) => {
    const refused = await chat({ gateway }, key, { headers: trace("refused") });
    assert.equal(`${refused.status} ${refused.code}`, "429 api_key_rate_limit_error");
    assert.match(String(refused.headers.get("retry-after")), /^[1-9][0-9]*$/);
    assert.equal(refused.headers.get("x-ratelimit-limit-tokens"), String(most));
    const { waits } = (await waitForLog(gateway, "refused")) as { waits?: { outcome: string }[] };
    assert.deepEqual(
      waits?.map(({ outcome }) => outcome),
      ["refused"],
    );
  }));

test("a caller that goes away leaves the queue, and those behind it move up", () =>
  withHeld(queued({ max_waiting: 1 }), async ({ gateway, id, key, finish }) => {
    const controller = new AbortController();
    const headers = { "x-gateway-api-key": key, "x-gateway-provider": "openai", authorization: "Bearer sk-fake" };
    const body = JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: "Hi" }] });
    const left = gateway.fetch("/v1/chat/completions", {
      method: "POST",
      headers: { ...headers, ...trace("left"), "content-type": "application/json" },
      body,
      signal: controller.signal,
    });
    await untilWaiting({ gateway }, id, 1);
    assert.equal((await chat({ gateway }, key)).status, 429, "the queue is full");
    controller.abort();
    await left.catch(() => undefined);
    await untilWaiting({ gateway }, id, 0);
    const row = (await waitForLog(gateway, "left")) as { status?: number; waits?: { outcome: string }[] };
    assert.deepEqual([row.status, row.waits?.[0]?.outcome], [499, "left"]);
    const next = chat({ gateway }, key);
    await untilWaiting({ gateway }, id, 1);
    finish();
    assert.equal((await next).status, 200);
  }));

test("a caller chooses a lower class than that of its key, and never a higher one", () =>
  withHeld({ ...queued({}), priority: "normal" }, async ({ gateway, id, key, finish }) => {
    const asked = ["low", "normal", "high", undefined].map((priority, index) => {
      return chat({ gateway }, key, {
        headers: trace(`class ${index}`, priority ? { "x-gateway-priority": priority } : {}),
      });
    });
    await untilWaiting({ gateway }, id, 4);
    const wrong = await chat({ gateway }, key, { headers: { "x-gateway-priority": "urgent" } });
    assert.deepEqual([wrong.status, wrong.code], [400, "invalid_header"]);
    finish();
    for (const { status } of await Promise.all(asked)) assert.equal(status, 200);
    const rows = await Promise.all(asked.map((_, index) => waitForLog(gateway, `class ${index}`)));
    assert.deepEqual(
      rows.map((row) => (row as { waits?: { priority: string }[] }).waits?.[0]?.priority),
      ["low", "normal", "normal", "normal"],
    );
  }));

test("a key that is deleted while its request waits makes no call", () =>
  withHeld(queued({}), async ({ gateway, id, key, finish }) => {
    const waiting = chat({ gateway }, key, { headers: trace("deleted") });
    await untilWaiting({ gateway }, id, 1);
    await done(call(gateway, `DELETE /api-keys/${id}`));
    finish();
    assert.equal((await waiting).status, 401);
    assert.equal((await waitForLog(gateway, "deleted")).upstream_calls, 0);
  }));

test("a wait is no part of the time that a provider has, and of the whole time of a request it is", () =>
  withHeld(queued({}), async ({ gateway, id, key, finish }) => {
    const short = { "x-gateway-request-timeout": "50" };
    const patient = chat({ gateway }, key, { headers: short });
    await untilWaiting({ gateway }, id, 1);
    const config = JSON.stringify({ total_timeout: 60, provider: "openai", api_key: "sk-obviously-fake" });
    const bounded = await chat({ gateway }, key, { headers: { "x-gateway-config": config, "x-gateway-provider": "" } });
    assert.equal(bounded.status, 408);
    finish();
    assert.equal((await patient).status, 200);
  }));

test("a stop refuses with 503 what would wait longer", () =>
  withHeld(queued({}), async ({ gateway, id, key }) => {
    const waiting = chat({ gateway }, key);
    await untilWaiting({ gateway }, id, 1);
    const drained = gateway.gateway.drain(0);
    const { status, headers } = await waiting;
    assert.deepEqual([status, headers.get("retry-after")], [503, "1"]);
    await drained;
  }));

test("requests that wait count among those that run", () =>
  withGateway(
    async (parts) => {
      const limits = { type: "requests", unit: "rpm", value: 1, queue: { max_waiting: 9, max_wait_ms: 60_000 } };
      const { id, key } = await createKey(parts.gateway, { workspace_id: parts.workspaceId, rate_limits: [limits] });
      assert.equal((await chat(parts, key)).status, 200);
      const controller = new AbortController();
      const waiting = parts.gateway.fetch("/v1/chat/completions", {
        method: "POST",
        headers: { "x-gateway-api-key": key, "x-gateway-provider": "openai", "content-type": "application/json" },
        body: JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: "Hi" }] }),
        signal: controller.signal,
      });
      await untilWaiting(parts, id, 1);
      const refused = await chat(parts, key);
      assert.deepEqual([refused.status, refused.code], [503, "too_many_concurrent_requests"]);
      controller.abort();
      await waiting.catch(() => undefined);
    },
    { concurrency: { perKey: 1 } },
  ));

test("the queue of a policy can be set, changed and removed", () =>
  withGateway(async (parts) => {
    const conditions = [{ key: "provider", value: "openai" }];
    const limit = { conditions, type: "requests", unit: "rpm", value: 1 };
    const queue = { max_waiting: 5, max_wait_ms: 1_000 };
    const id = await makePolicy(parts, "rate", { ...limit, queue });
    const shown = () => done(call<{ queue: object | null }>(parts.gateway, `GET /policies/rate-limits/${id}`));
    assert.deepEqual((await shown()).queue, queue);
    const change = (body: object) => done(call(parts.gateway, `PUT /policies/rate-limits/${id}`, { body }));
    await change({ queue: { ...queue, max_waiting: 6 } });
    assert.deepEqual((await shown()).queue, { ...queue, max_waiting: 6 });
    await change({ value: 1 });
    const path = `GET /policies/explain?workspace_id=${parts.workspaceId}&provider=openai`;
    const plan = () => done(call<Plan>(parts.gateway, path));
    assert.deepEqual((await plan()).policies[0]?.queue, { ...queue, max_waiting: 6, waiting: 0 });
    await change({ queue: null });
    assert.equal((await shown()).queue, null);
    const key = await makeKey(parts, {});
    assert.deepEqual([(await chat(parts, key)).status, (await chat(parts, key)).status], [200, 429]);
  }));

const bad = [
  ["no place", { max_waiting: 0, max_wait_ms: 1 }, "max_waiting"],
  ["too many places", { max_waiting: 10_001, max_wait_ms: 1 }, "max_waiting"],
  ["a part of a place", { max_waiting: 1.5, max_wait_ms: 1 }, "max_waiting"],
  ["no time", { max_waiting: 1, max_wait_ms: 0 }, "max_wait_ms"],
  ["more than ten minutes", { max_waiting: 1, max_wait_ms: 600_001 }, "max_wait_ms"],
  ["no bound on the wait", { max_waiting: 1 }, "max_wait_ms"],
  ["an unknown member", { max_waiting: 1, max_wait_ms: 1, priority: "high" }, "priority"],
] as const;

test("a queue with bad settings is refused at keys and policies, naming the field", () =>
  withGateway(async (parts) => {
    const conditions = [{ key: "provider", value: "openai" }];
    const group_by = [{ key: "api_key" }];
    const limit = { type: "requests", unit: "rpm", value: 1 };
    const key = { name: "bad", workspace_id: parts.workspaceId, scopes: ["completions.write"] };
    for (const [why, queue, param] of bad) {
      const policy = { workspace_id: parts.workspaceId, conditions, group_by, ...limit, queue };
      for (const [path, body, prefix] of [
        ["POST /policies/rate-limits", policy, "queue"],
        ["POST /api-keys/workspace/service", { ...key, rate_limits: [{ ...limit, queue }] }, "rate_limits.0.queue"],
      ] as const) {
        const answer = await call<{ error: { param: string } }>(parts.gateway, path, { body });
        assert.equal(answer.status, 400, why);
        assert.equal(answer.body.error.param, `${prefix}.${param}`, why);
      }
    }
    const wrong = { ...key, priority: "urgent" };
    const answer = await call<{ error: { param: string } }>(parts.gateway, "POST /api-keys/workspace/service", {
      body: wrong,
    });
    assert.deepEqual([answer.status, answer.body.error.param], [400, "priority"]);
  }));

test("budgets have no queue", () =>
  withGateway(async (parts) => {
    const usage_limits = { type: "tokens", credit_limit: 1, queue: { max_waiting: 1, max_wait_ms: 1 } };
    const body = { name: "bad", workspace_id: parts.workspaceId, scopes: ["completions.write"], usage_limits };
    const answer = await call<{ error: { param: string } }>(parts.gateway, "POST /api-keys/workspace/service", {
      body,
    });
    assert.equal(answer.status, 400);
  }));
