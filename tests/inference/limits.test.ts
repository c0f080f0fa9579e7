import assert from "node:assert/strict";
import { test } from "node:test";
import { awayRedis } from "../support/away-redis.ts";
import { call, done } from "../support/control.ts";
import { adminKey, createTemporaryFolder } from "../support/gateway.ts";
import {
  answerChat,
  becomes,
  chat,
  createKey,
  dollarsOfCall,
  json,
  makeKey,
  makePolicy,
  rpm,
  usedBy,
  withGateway,
} from "../support/limited.ts";

test("a rate limit of a key admits exactly as many requests as it allows, also all at once", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, rpm(20));
    const answers = await Promise.all(Array.from({ length: 100 }, () => chat(parts, key)));
    const refused = answers.filter(({ status }) => status === 429);
    assert.equal(answers.filter(({ status }) => status === 200).length, 20);
    assert.equal(refused.length, 80);
    assert.equal(parts.sent.length, 20);
    assert.deepEqual(new Set(refused.map(({ code }) => code)), new Set(["api_key_rate_limit_error"]));
    const seconds = Number(refused[0]?.headers.get("retry-after"));
    assert.ok(seconds >= 1 && seconds <= 60, String(seconds));
    parts.clock.advance(60_000);
    assert.equal((await chat(parts, key)).status, 200);
  }));

test("a budget of a key in dollars ends with 412, and is overrun by no more than one request", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, { usage_limits: { type: "cost", credit_limit: 1 } });
    const most = Math.ceil(1 / dollarsOfCall);
    let passed = 0;
    for (;;) {
      const { status, code } = await chat(parts, key);
      if (status !== 200) {
        assert.equal(`${status} ${code}`, "412 api_key_exhaust_error");
        break;
      }
      passed++;
      assert.ok(passed <= most);
    }
    // what is reserved for one request may not fit any more
    assert.ok(passed >= most - 3, String(passed));
  }));

test("a budget in tokens counts what the provider reports, and begins anew each week", () =>
  withGateway(async (parts) => {
    const limits = { usage_limits: { type: "tokens", credit_limit: 3_000, periodic_reset: "weekly" } };
    const key = await makeKey(parts, limits);
    assert.deepEqual([(await chat(parts, key)).status, (await chat(parts, key)).status], [200, 200]);
    assert.equal((await chat(parts, key)).status, 412);
    parts.clock.advance(7 * 86_400_000);
    assert.equal((await chat(parts, key)).status, 200);
  }));

test("a budget with another period begins a new counter, and a raised one continues", () =>
  withGateway(async (parts) => {
    const id = await makePolicy(parts, "usage", {
      conditions: [{ key: "provider", value: "openai" }],
      type: "tokens",
      credit_limit: 1_500,
    });
    const key = await makeKey(parts, {});
    const change = (body: object) => done(call(parts.gateway, `PUT /policies/usage-limits/${id}`, { body }));
    assert.deepEqual([(await chat(parts, key)).status, (await chat(parts, key)).status], [200, 412]);
    await change({ credit_limit: 3_000 });
    assert.deepEqual([(await chat(parts, key)).status, (await chat(parts, key)).status], [200, 412]);
    await change({ periodic_reset: "monthly" });
    assert.deepEqual([(await chat(parts, key)).status, (await chat(parts, key)).status], [200, 200]);
    assert.equal((await chat(parts, key)).status, 412);
    parts.clock.advance(17 * 86_400_000);
    assert.equal((await chat(parts, key)).status, 200);
  }));

test("a limit of a workspace holds for all of its keys", () =>
  withGateway(async (parts) => {
    const keys = [await makeKey(parts, {}), await makeKey(parts, {})];
    await done(call(parts.gateway, "PUT /admin/workspaces/default", { body: rpm(2) }));
    const statuses = [];
    for (const key of [...keys, ...keys]) statuses.push((await chat(parts, key)).status);
    assert.deepEqual(statuses, [200, 200, 429, 429]);
    assert.equal((await chat(parts, keys[0] ?? "")).code, "workspace_rate_limit_error");
  }));

const onceAMinute = { type: "requests", unit: "rpm", value: 1 };

test("a rate policy counts each value of its group, and only requests its conditions meet", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, {});
    const conditions = [{ key: "model", value: "gpt-4o*", excludes: "gpt-4o-mini" }];
    const id = await makePolicy(parts, "rate", { conditions, group_by: [{ key: "metadata.user" }], ...onceAMinute });
    const as = (user: string, body = {}) =>
      chat(parts, key, { headers: { "x-gateway-metadata": JSON.stringify({ user }) }, body });
    assert.equal((await as("alice")).status, 200);
    const { status, code, message } = await as("alice");
    assert.equal(`${status} ${code}`, "429 rate_limits_policy_exhaust_error");
    assert.ok(message?.includes(id) && message.includes("metadata.user:alice"), message);
    assert.equal((await as("bob")).status, 200);
    assert.equal((await as("alice", { model: "gpt-4o-mini" })).status, 200);
    // without the key of the group the policy does not apply
    assert.deepEqual([(await chat(parts, key)).status, (await chat(parts, key)).status], [200, 200]);
  }));

test("a policy takes effect with the next request, and stops with its end", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, {});
    const members = { conditions: [{ key: "provider", value: "openai" }], type: "requests", unit: "rpd", value: 0 };
    assert.equal((await chat(parts, key)).status, 200);
    const id = await makePolicy(parts, "rate", members);
    assert.equal((await chat(parts, key)).status, 429);
    await done(call(parts.gateway, `DELETE /policies/rate-limits/${id}`));
    assert.equal((await chat(parts, key)).status, 200);
  }));

test("a policy of one workspace does not count requests of another", () =>
  withGateway(async (parts) => {
    const second = await done(call<{ id: string }>(parts.gateway, "POST /admin/workspaces", { body: { name: "Two" } }));
    await makePolicy(parts, "rate", { conditions: [{ key: "provider", value: "*" }], ...onceAMinute });
    const key = await makeKey({ ...parts, workspaceId: second.id }, {});
    assert.deepEqual([(await chat(parts, key)).status, (await chat(parts, key)).status], [200, 200]);
  }));

test("a target over its limit is skipped like a failed one, without a retry", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, {});
    const conditions = [{ key: "provider", value: "openai" }];
    await makePolicy(parts, "rate", { conditions, ...onceAMinute });
    const config = {
      strategy: { mode: "fallback" },
      retry: { attempts: 3 },
      targets: [
        { provider: "openai", api_key: "sk-obviously-fake" },
        { provider: "groq", api_key: "gsk-obviously-fake" },
      ],
    };
    const send = () => chat(parts, key, { headers: { "x-gateway-config": JSON.stringify(config) } });
    assert.equal((await send()).headers.get("x-gateway-provider"), "openai");
    const second = await send();
    assert.equal(second.headers.get("x-gateway-provider"), "groq");
    assert.deepEqual(
      parts.sent.map((url) => new URL(url).hostname),
      ["api.openai.com", "api.groq.com"],
    );
  }));

for (const strictLimits of [true, false]) {
  test(`without its counters a gateway ${strictLimits ? "that is strict refuses" : "still admits"} requests with limits`, () =>
    withGateway(
      async (parts) => {
        const limited = await makeKey(parts, rpm(10));
        const config = { retry: { attempts: 2 }, provider: "openai", api_key: "sk-obviously-fake" };
        const response = await chat(parts, limited, { headers: { "x-gateway-config": JSON.stringify(config) } });
        if (!strictLimits) return assert.equal(response.status, 200);
        assert.deepEqual([response.status, response.code], [503, "limits_unavailable"]);
        assert.match(response.headers.get("retry-after") ?? "", /^[1-9]$/);
        assert.deepEqual(parts.sent, []);
        assert.equal((await chat(parts, await makeKey(parts, {}))).status, 200, "a request without limits");
      },
      { ...awayRedis, strictLimits, warn: () => {} },
    ));
}

test("GET /metrics counts the requests that were admitted without Redis", () =>
  withGateway(
    async (parts) => {
      const key = await makeKey(parts, rpm(2));
      for (const wanted of [200, 200, 429]) assert.equal((await chat(parts, key)).status, wanted);
      const response = await parts.gateway.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } });
      assert.match(await response.text(), /^gateway_requests_by_shares_total 2$/m);
    },
    { ...awayRedis, warn: () => {} },
  ));

for (const [route, path, body] of [
  ["completions", "/v1/completions", { prompt: "Hi" }],
  ["embeddings", "/v1/embeddings", { input: "Hi" }],
  ["messages", "/v1/messages", { max_tokens: 5 }],
  ["responses", "/v1/responses", { input: "Hi" }],
  ["Gemini", "/v1beta/models/gpt-4o:generateContent", { contents: [{ role: "user", parts: [{ text: "Hi" }] }] }],
  ["images", "/v1/images/generations", { prompt: "Hi" }],
  ["moderations", "/v1/moderations", { input: "Hi" }],
  ["speech", "/v1/audio/speech", { input: "Hi", voice: "alloy" }],
  ["passthrough", "/v1/proxy/v1/anything", {}],
  ["fine-tuning", "/v1/fine_tuning/jobs", { training_file: "file-1" }],
] as const) {
  test(`a limit that lets nothing pass refuses ${route} before the provider is called`, () =>
    withGateway(async (parts) => {
      const key = await makeKey(parts, rpm(0));
      const { status } = await chat(parts, key, { path, body });
      assert.equal(status, 429);
      assert.deepEqual(parts.sent, []);
    }));
}

test("a field of a tool's schema does not stand for the bound on output tokens", async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  let waiting = 0;
  const send = async () => {
    if (++waiting === 2) open();
    await opened;
    return answerChat();
  };
  await withGateway(
    async (parts) => {
      const key = await makeKey(parts, { usage_limits: { type: "tokens", credit_limit: 500 } });
      const parameters = { type: "object", properties: { max_tokens: { type: "integer" } } };
      const tools = [{ type: "function", function: { name: "ask", parameters } }];
      const first = chat(parts, key, { body: { tools, max_tokens: 5 } });
      const second = chat(parts, key, { body: { tools, max_tokens: 5 } }).finally(open);
      const { status } = await second;
      open();
      assert.deepEqual([status, (await first).status], [200, 200]);
    },
    { transport: { send } },
  );
});

test("a failed call counts as a request and uses no budget", () =>
  withGateway(
    async (parts) => {
      const limits = { ...rpm(2), usage_limits: { type: "tokens", credit_limit: 3_000 } };
      const key = await makeKey(parts, limits);
      assert.deepEqual([(await chat(parts, key)).status, (await chat(parts, key)).status], [400, 400]);
      assert.equal((await chat(parts, key)).status, 429);
    },
    { respond: () => new Response('{"error":{"message":"no"}}', { status: 400, headers: json }) },
  ));

test("a stream that breaks off uses the tokens that came until then", () => {
  const choices = [{ index: 0, delta: { content: "Hi" } }];
  const event = { id: "1", object: "chat.completion.chunk", created: 1, model: "gpt-4o", choices };
  // it ends without a finish reason
  const body = `data: ${JSON.stringify(event)}\n\n`;
  const type = { "content-type": "text/event-stream" };
  return withGateway(
    async (parts) => {
      const { gateway } = parts;
      const { id, key } = await createKey(gateway, { usage_limits: { type: "tokens", credit_limit: 1_500 } });
      const headers = { ...json, "x-gateway-api-key": key, "x-gateway-provider": "openai", authorization: "Bearer sk" };
      const request = { model: "gpt-4o", stream: true, messages: [{ role: "user", content: "Hello" }] };
      const response = await gateway.fetch("/v1/chat/completions", {
        method: "POST",
        headers,
        body: JSON.stringify(request),
      });
      assert.equal(response.status, 200);
      assert.match(await response.text(), /"error"/);
      // the tokens are estimated after the response
      const used = await becomes(
        () => usedBy(gateway, id),
        (tokens) => tokens > 0,
      );
      assert.ok(used > 0 && used < 100, String(used));
    },
    { respond: () => new Response(body, { headers: type }) },
  );
});

test("what was used survives the process: the counters are those of the stored rows", async () => {
  const folder = createTemporaryFolder();
  const database = `file:${folder.path}/gateway.db`;
  try {
    let key = "";
    await withGateway(
      async (parts) => {
        key = await makeKey(parts, { usage_limits: { type: "tokens", credit_limit: 4_500 } });
        assert.deepEqual([(await chat(parts, key)).status, (await chat(parts, key)).status], [200, 200]);
      },
      { database },
    );
    await withGateway(
      async (parts) => {
        assert.equal((await chat(parts, key)).status, 200);
        assert.equal((await chat(parts, key)).status, 412);
      },
      { database },
    );
  } finally {
    folder.remove();
  }
});

test("a used-up budget refuses no request that only reads a file", () =>
  withGateway(
    async (parts) => {
      const key = await makeKey(parts, { usage_limits: { type: "tokens", credit_limit: 100 } });
      await chat(parts, key, { body: { max_tokens: 1 } });
      assert.equal((await chat(parts, key)).status, 412);
      const headers = { "x-gateway-api-key": key, "x-gateway-provider": "openai", authorization: "Bearer sk-fake" };
      assert.equal((await parts.gateway.fetch("/v1/files/file-1/content", { headers })).status, 200);
    },
    {
      respond: (url) => (url.endsWith("/files/file-1/content") ? new Response("a line") : undefined),
    },
  ));

test("the API shows what was used of a budget, and a reset makes the key usable again", () =>
  withGateway(async (parts) => {
    const key = await makeKey(parts, { usage_limits: { type: "tokens", credit_limit: 3_000 } });
    const list = await done(call<{ data: { id: string; name: string }[] }>(parts.gateway, "GET /api-keys"));
    const id = list.data.find(({ name }) => name === "limited")?.id ?? assert.fail();
    const show = async () => {
      const { status, usage_limits: budget } = await done(
        call<{ status: string; usage_limits: { current_usage: number; status: string } }>(
          parts.gateway,
          `GET /api-keys/${id}`,
        ),
      );
      assert.equal(status, budget.status);
      return `${budget.current_usage} ${status}`;
    };
    assert.equal(await show(), "0 active");
    await chat(parts, key);
    assert.equal(await show(), "1500 active");
    await chat(parts, key);
    assert.equal(await show(), "3000 exhausted");
    assert.equal((await chat(parts, key)).status, 412);
    await done(
      call(parts.gateway, `PUT /api-keys/${id}`, { body: { usage_limits: { type: "tokens", credit_limit: 9_000 } } }),
    );
    assert.equal(await show(), "3000 active");
    parts.clock.advance(1);
    await done(call(parts.gateway, `PUT /api-keys/${id}`, { body: { reset_usage: true } }));
    assert.equal(await show(), "0 active");
    assert.equal((await chat(parts, key)).status, 200);
  }));

test("the limits of a stored provider refuse the calls to it, and others go on", () =>
  withGateway(async (parts) => {
    const { gateway } = parts;
    const key = await makeKey(parts, {});
    for (const slug of ["first", "second"]) {
      const body = { name: slug, slug, ai_provider_id: "openai", key: "sk-obviously-fake", workspace_id: "default" };
      await done(call(gateway, "POST /integrations", { body }));
    }
    const providers = await done(call<{ data: { slug: string }[] }>(gateway, "GET /providers?workspace_id=default"));
    const [first = "", second = ""] = providers.data.map(({ slug }) => slug).sort();
    const limits = { rate_limits: [{ type: "requests", unit: "rpm", value: 1 }], workspace_id: "default" };
    await done(call(gateway, `PUT /providers/${first}`, { body: limits }));
    const to = (slug: string) => chat(parts, key, { headers: { "x-gateway-provider": `@${slug}` } });
    assert.equal((await to(first)).status, 200);
    const { status, code } = await to(first);
    assert.equal(`${status} ${code}`, "429 virtual_key_rate_limit_error");
    assert.deepEqual([(await to(second)).status, (await to(second)).status], [200, 200]);
  }));
