import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ask,
  askChat,
  type CacheStage,
  cachedHeaders,
  chatAnswer,
  createWorkspace,
  question,
  saidIn,
  toJsonResponse,
  withCache,
} from "../support/cache.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { waitForLogs, workspaceKey } from "../support/gateway.ts";

/** The row of the newest request, with what it says of the cache. */
async function newestRow({ gateway }: CacheStage, count: number): Promise<Record<string, unknown>> {
  const rows = await waitForLogs(gateway, "limit=100", count);
  return { ...rows[0] };
}

test("a response is used again, costs nothing, and its row says what it saved", () =>
  withCache(async (stage) => {
    const first = await askChat(stage);
    assert.deepEqual([first.status, first.cache, saidIn(first)], [200, "MISS", "Answer 1"]);
    stage.clock.advance(5_000);
    const second = await askChat(stage);
    assert.deepEqual([second.status, second.cache, second.text], [200, "HIT", first.text]);
    assert.equal(stage.sent.length, 1);
    const row = await newestRow(stage, 2);
    assert.deepEqual(
      [row.cache_status, row.cost, row.priced, row.usage, row.upstream_calls, row.cache],
      ["HIT", 0, true, null, 0, { saved_cost: 0.75, saved_tokens: 1_500, age: 5 }],
    );
    assert.equal(second.headers.get("x-gateway-provider"), "openai");
  }));

test("without a cache in the config or a header nothing is read or stored", () =>
  withCache(async (stage) => {
    for (const headers of [cachedHeaders(null), cachedHeaders({ retry: { attempts: 1 } })]) {
      const { cache } = await askChat(stage, headers);
      assert.equal(cache, "DISABLED");
    }
    await askChat(stage, cachedHeaders(null, { "x-gateway-cache-force-refresh": "true" }));
    assert.equal(stage.sent.length, 3);
    assert.equal((await askChat(stage)).cache, "MISS");
  }));

for (const [mode, status, problem] of [
  ["simple", "MISS", undefined],
  ["TRUE", "MISS", undefined],
  ["semantic", "DISABLED", "no provider makes embeddings: set semantic_cache or SEMANTIC_CACHE_PROVIDER"],
  ["exact", "DISABLED", "x-gateway-cache must be simple or semantic"],
  ["false", "DISABLED", undefined],
] as const) {
  test(`x-gateway-cache: ${mode}`, () =>
    withCache(async (stage) => {
      const headers = cachedHeaders(null, { "x-gateway-cache": mode });
      assert.equal((await askChat(stage, headers)).cache, status);
      const row = await newestRow(stage, 1);
      assert.deepEqual(row.cache, problem && { problem });
    }));
}

test("the config decides before the headers, and a target before its config", () =>
  withCache(async (stage) => {
    const header = { "x-gateway-cache": "exact", "x-gateway-cache-ttl": "3600" };
    assert.equal((await askChat(stage, cachedHeaders({ cache: "simple" }, header))).cache, "MISS");
    const config = {
      cache: { mode: "simple", max_age: 60 },
      strategy: { mode: "single" },
      targets: [{ provider: "openai", api_key: "a-key", cache: { mode: "simple", max_age: 120 } }],
    };
    await askChat(stage, cachedHeaders(config, { authorization: null }));
    stage.clock.advance(100_000);
    assert.equal((await askChat(stage, cachedHeaders(config, { authorization: null }))).cache, "HIT");
  }));

for (const [what, cache, headers, seconds] of [
  ["max_age of the config", { mode: "simple", max_age: 100 }, { "x-gateway-cache-ttl": "900" }, 100],
  ["x-gateway-cache-ttl", "simple", { "x-gateway-cache-ttl": "200", "cache-control": "max-age=900" }, 200],
  ["cache-control: max-age", "simple", { "cache-control": "no-transform, max-age=300" }, 300],
  ["a time below the limit", "simple", { "x-gateway-cache-ttl": "5" }, 60],
  ["a time above the limit", { mode: "simple", max_age: 1e12 }, {}, 7_776_000],
  ["an unreadable time", "simple", { "x-gateway-cache-ttl": "soon" }, 604_800],
  ["no time", "simple", {}, 604_800],
] as const) {
  test(`a response is used again for ${seconds} s: ${what}`, () =>
    withCache(async (stage) => {
      const asked = () => askChat(stage, cachedHeaders({ cache }, headers));
      await asked();
      stage.clock.advance(seconds * 1_000 - 1);
      assert.equal((await asked()).cache, "HIT");
      stage.clock.advance(1);
      assert.equal((await asked()).cache, "MISS");
    }));
}

test("a request does not get a response that is older than it accepts", () =>
  withCache(async (stage) => {
    const asked = (max_age: number) => askChat(stage, cachedHeaders({ cache: { mode: "simple", max_age } }));
    await asked(3_600);
    stage.clock.advance(100_000);
    assert.equal((await asked(100)).cache, "MISS");
    assert.equal((await asked(3_600)).cache, "HIT");
    assert.equal(stage.sent.length, 2);
  }));

test("the organisation's time is the default and the limit", () =>
  withCache(async (stage) => {
    const { id } = await done(call<{ data: { id: string } }>(stage.gateway, "GET /organisations/self")).then(
      ({ data }) => data,
    );
    await done(call(stage.gateway, `PUT /organisations/${id}`, { body: { default_cache_ttl: 300 } }));
    const asked = (cache: unknown) => askChat(stage, cachedHeaders({ cache }));
    await asked("simple");
    stage.clock.advance(299_999);
    assert.equal((await asked({ mode: "simple", max_age: 3_600 })).cache, "HIT");
    stage.clock.advance(1);
    assert.equal((await asked({ mode: "simple", max_age: 3_600 })).cache, "MISS");
  }));

test("x-gateway-cache-force-refresh: true calls the provider and replaces the stored response", () =>
  withCache(async (stage) => {
    const refresh = (value: string) =>
      askChat(stage, cachedHeaders(undefined, { "x-gateway-cache-force-refresh": value }));
    await askChat(stage);
    assert.equal((await refresh("1")).cache, "HIT");
    const fresh = await refresh("true");
    assert.deepEqual([fresh.cache, saidIn(fresh)], ["REFRESH", "Answer 2"]);
    const later = await askChat(stage);
    assert.deepEqual([later.cache, saidIn(later)], ["HIT", "Answer 2"]);
  }));

test("cache-control: no-store neither reads nor stores", () =>
  withCache(async (stage) => {
    await askChat(stage);
    const { cache } = await askChat(stage, cachedHeaders(undefined, { "cache-control": "No-Store" }));
    assert.deepEqual([cache, stage.sent.length], ["DISABLED", 2]);
    const row = await newestRow(stage, 2);
    assert.deepEqual(row.cache, { problem: "the request says cache-control: no-store" });
  }));

const response = {
  id: "resp_1",
  object: "response",
  created_at: 1,
  model: "gpt-4o",
  status: "completed",
  output: [],
  error: null,
  incomplete_details: null,
};

const routes: readonly (readonly [path: string, body: object, answer: object])[] = [
  [
    "/v1/completions",
    { model: "gpt-3.5-turbo-instruct", prompt: "Hi" },
    {
      id: "c",
      object: "text_completion",
      created: 1,
      model: "m",
      choices: [{ index: 0, text: "Hello", finish_reason: "stop" }],
    },
  ],
  [
    "/v1/embeddings",
    { model: "text-embedding-3-small", input: "Hi" },
    {
      object: "list",
      model: "m",
      data: [{ object: "embedding", index: 0, embedding: [0.5] }],
      usage: { prompt_tokens: 1, total_tokens: 1 },
    },
  ],
  ["/v1/responses", { model: "gpt-4o", input: "Hi" }, response],
  ["/v1/moderations", { input: "Hi" }, { id: "m", model: "m", results: [] }],
  ["/v1/images/generations", { prompt: "A cat", model: "gpt-image-1" }, { created: 1, data: [{ b64_json: "AAAA" }] }],
];

for (const [path, body, answer] of routes) {
  test(`responses of ${path} are used again`, () =>
    withCache(
      async (stage) => {
        const first = await ask(stage, path, body);
        const second = await ask(stage, path, body);
        assert.deepEqual([first.status, first.cache, second.cache], [200, "MISS", "HIT"]);
        assert.equal(second.text, first.text);
        assert.equal(stage.sent.length, 1);
      },
      { respond: () => toJsonResponse(answer) },
    ));
}

for (const [path, body] of [
  ["/v1/messages", { model: "gpt-4o", max_tokens: 10, messages: [{ role: "user", content: "Hi" }] }],
  ["/v1beta/models/gpt-4o:generateContent", { contents: [{ role: "user", parts: [{ text: "Hi" }] }] }],
  ["/v1/chat/completions", question],
] as const) {
  test(`converted responses of ${path} are used again`, () =>
    withCache(async (stage) => {
      const first = await ask(stage, path, body);
      const second = await ask(stage, path, body);
      assert.deepEqual([first.status, first.cache, second.cache, second.text], [200, "MISS", "HIT", first.text]);
    }));
}

test("a response of rerank is used again", () =>
  withCache(
    async (stage) => {
      const body = { model: "rerank-v3.5", query: "q", documents: ["a", "b"] };
      const headers = cachedHeaders(undefined, { "x-gateway-provider": "cohere" });
      const [first, second] = [
        await ask(stage, "/v1/rerank", body, headers),
        await ask(stage, "/v1/rerank", body, headers),
      ];
      assert.deepEqual([first.status, first.cache, second.cache, second.text], [200, "MISS", "HIT", first.text]);
    },
    { respond: () => toJsonResponse({ id: "r", results: [{ index: 0, relevance_score: 0.5 }] }) },
  ));

for (const [what, answer, status] of [
  ["an error", { error: { message: "no", type: "server_error" } }, 500],
  ["an error with status 200", { error: { message: "no", type: "server_error" } }, 200],
  ["a response that is no JSON", "{", 200],
  ["a refusal of the provider", chatAnswer("", { finish_reason: "content_filter" }), 200],
  ["a response without choices", { id: "x", object: "chat.completion", choices: [] }, 200],
] as const) {
  test(`${what} is not stored`, () =>
    withCache(
      async (stage) => {
        await askChat(stage);
        const second = await askChat(stage);
        assert.equal(second.cache, "MISS");
        assert.equal(stage.sent.length, 2);
      },
      {
        respond: () =>
          typeof answer === "string"
            ? new Response(answer, { headers: { "content-type": "application/json" } })
            : toJsonResponse(answer, status),
      },
    ));
}

for (const [body, problem] of [
  [{ background: true }, "responses in the background are not cached"],
  [{ conversation: "conv_1" }, "conversations are not cached"],
] as const) {
  test(`a request of the Responses API with ${Object.keys(body)[0]} is not cached`, () =>
    withCache(
      async (stage) => {
        const { cache } = await ask(stage, "/v1/responses", { model: "gpt-4o", input: "Hi", ...body });
        assert.equal(cache, "DISABLED");
        assert.deepEqual((await newestRow(stage, 1)).cache, { problem });
      },
      {
        respond: () => toJsonResponse(response),
      },
    ));
}

test("entries never leave their workspace or organisation", () =>
  withCache(
    async (stage) => {
      const database = await stage.gateway.openFile();
      const other = await createOrganisation(database, "other");
      const second = await createWorkspace(stage.gateway, "second");
      await askChat(stage);
      for (const key of [second.key, other.workspaceKey]) {
        const came = await askChat(stage, cachedHeaders(undefined, { "x-gateway-api-key": key }));
        assert.equal(came.cache, "MISS");
        const named = { "x-gateway-api-key": key, "x-gateway-cache-namespace": "shared" };
        assert.equal((await askChat(stage, cachedHeaders(undefined, named))).cache, "MISS");
      }
      assert.equal((await askChat(stage)).cache, "HIT");
    },
    { inFile: true },
  ));

test("a hit counts in limits on requests and uses no budget", () =>
  withCache(
    async (stage) => {
      const { id } = await done(call<{ id: string }>(stage.gateway, "GET /admin/workspaces/default"));
      const usage_limits = [{ type: "cost", credit_limit: 1 }];
      const rate_limits = [{ type: "requests", unit: "rpm", value: 4 }];
      await done(call(stage.gateway, `PUT /admin/workspaces/${id}`, { body: { usage_limits, rate_limits } }));
      const statuses: (string | number | null)[] = [];
      for (let count = 0; count < 5; count++) {
        const came = await askChat(stage);
        statuses.push(came.status === 200 ? came.cache : came.status);
      }
      assert.deepEqual(statuses, ["MISS", "HIT", "HIT", "HIT", 429]);
      stage.clock.advance(60_000);
      // the budget is used up: only stored responses are served
      assert.equal((await askChat(stage)).cache, "HIT");
      assert.equal((await askChat(stage, undefined, { ...question, temperature: 1 })).status, 412);
      assert.equal(stage.sent.length, 1);
    },
    {
      respond: () =>
        toJsonResponse({
          ...chatAnswer("Dear"),
          usage: { prompt_tokens: 1, completion_tokens: 200_000, total_tokens: 200_001 },
        }),
    },
  ));

test("a fallback stops at a hit", () =>
  withCache(
    async (stage) => {
      const target = { provider: "openai", api_key: "one", cache: "simple" };
      const config = { strategy: { mode: "fallback" }, targets: [target, { ...target, api_key: "two", cache: null }] };
      const headers = cachedHeaders(config, { authorization: null });
      const first = await askChat(stage, headers);
      assert.deepEqual([first.status, first.cache, saidIn(first)], [200, "MISS", "Answer 1"]);
      const second = await askChat(stage, headers);
      assert.deepEqual([second.cache, saidIn(second)], ["HIT", "Answer 1"]);
      const other = { ...question, temperature: 1 };
      const third = await askChat(stage, headers, other);
      // the first target failed, and the other one has no cache
      assert.deepEqual([third.status, third.cache], [200, "DISABLED"]);
    },
    {
      respond: (_, number) =>
        number === 2
          ? toJsonResponse({ error: { message: "no" } }, 500)
          : toJsonResponse(chatAnswer(`Answer ${number}`)),
    },
  ));

test("keys of one workspace share responses of a stored provider, and its new credential makes them other ones", () =>
  withCache(async (stage) => {
    const integration = { name: "one", ai_provider_id: "openai", key: "sk-first-credential" };
    const { id } = await done(call<{ id: string }>(stage.gateway, "POST /integrations", { body: integration }));
    const workspace = await done(call<{ id: string }>(stage.gateway, "GET /admin/workspaces/default"));
    const allowed = { workspaces: [{ id: workspace.id, enabled: true }] };
    await done(call(stage.gateway, `PUT /integrations/${id}/workspaces`, { body: allowed }));
    await done(
      call(stage.gateway, "POST /providers", {
        key: workspaceKey,
        body: { name: "main", integration_id: id, slug: "main" },
      }),
    );
    const headers = cachedHeaders(
      { provider: "@main", cache: "simple" },
      { "x-gateway-provider": null, authorization: null },
    );
    assert.deepEqual([(await askChat(stage, headers)).cache, (await askChat(stage, headers)).cache], ["MISS", "HIT"]);
    await done(call(stage.gateway, `PUT /integrations/${id}`, { body: { key: "sk-second-credential" } }));
    assert.equal((await askChat(stage, headers)).cache, "MISS");
  }));

test("a request that is too long for the cache runs without it", () =>
  withCache(async (stage) => {
    const messages = [{ role: "user", content: "x".repeat(4 * 1024 * 1024) }];
    const { status, cache } = await askChat(stage, undefined, { ...question, messages });
    assert.deepEqual([status, cache], [200, "DISABLED"]);
    assert.deepEqual((await newestRow(stage, 1)).cache, { problem: "the request is too long" });
  }));

test("a response that is too long is not stored", () =>
  withCache(
    async (stage) => {
      await askChat(stage);
      assert.equal((await askChat(stage)).cache, "MISS");
    },
    { respond: () => toJsonResponse(chatAnswer("x".repeat(4 * 1024 * 1024))) },
  ));

test("a response from the cache says nothing to the circuit breaker", () =>
  withCache(
    async (stage) => {
      const target = { provider: "openai", api_key: "one", cache: "simple" };
      const config = {
        strategy: { mode: "fallback", cb_config: { failure_threshold_percentage: 50, minimum_requests: 4 } },
        targets: [target, { ...target, api_key: "two", cache: null }],
      };
      const headers = cachedHeaders(config, { authorization: null });
      const used = async (seed: number) => {
        const came = await askChat(stage, headers, { ...question, seed });
        return came.headers.get("x-gateway-last-used-option-index");
      };
      const [first, second] = ["config.targets[0]", "config.targets[1]"];
      // one success, and hits that would be more of them
      for (let count = 0; count < 10; count++) assert.equal(await used(0), first);
      for (let seed = 1; seed <= 6; seed++) assert.equal(await used(seed), second);
      const before = stage.sent.length;
      assert.equal(await used(7), second);
      // most calls failed: the first target is not called any more
      assert.equal(stage.sent.length, before + 1);
    },
    {
      respond: ({ headers, body }, number) =>
        headers.authorization === "Bearer one" && body.seed !== 0
          ? toJsonResponse({ error: { message: "no" } }, 500)
          : toJsonResponse(chatAnswer(`Answer ${number}`)),
    },
  ));
