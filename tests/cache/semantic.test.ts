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
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { createRandom, masterKeys, type TestGatewayOptions, waitForLogs, workspaceKey } from "../support/gateway.ts";
import { startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";
import { isWhole } from "../support/sample.ts";

const semantic = { cache: "semantic" };

/** The angle of a question, in degrees: questions of this test are written as such. */
const angleOf = (text: string): number => Number(/-?[\d.]+/.exec(text)?.[0] ?? 0);

/** A vector at an angle, of which the second number of the text says the plane. */
function vectorAt(text: string, dimensions: number): number[] {
  const radians = (angleOf(text) * Math.PI) / 180;
  const vector = new Array<number>(dimensions).fill(0);
  vector[0] = 3 * Math.cos(radians);
  vector[1] = 3 * Math.sin(radians);
  return vector;
}

interface SemanticOptions extends TestGatewayOptions {
  failing?: () => boolean;
  dimensions?: number;
  /** Runs before the first request. */
  prepare?: (stage: CacheStage) => Promise<void>;
}

/** A gateway with a provider of embeddings; chats say which question they answered. */
async function withSemantic(
  use: (stage: CacheStage, embeddings: () => number) => Promise<void>,
  { failing = () => false, dimensions = 8, prepare = async () => {}, ...options }: SemanticOptions = {},
): Promise<void> {
  let embedded = 0;
  await withCache(
    async (stage) => {
      await prepare(stage);
      await createProvider(stage);
      await use(stage, () => embedded);
    },
    {
      semanticCache: { provider: "vectors", model: "text-embedding-3-small" },
      ...options,
      respond: (sent, number) => {
        if (!sent.url.endsWith("/embeddings")) return toJsonResponse(chatAnswer(`Answer ${number}`));
        embedded++;
        if (failing()) return toJsonResponse({ error: { message: "no" } }, 500);
        const data = [{ object: "embedding", index: 0, embedding: vectorAt(String(sent.body.input), dimensions) }];
        return toJsonResponse({ object: "list", model: "m", data, usage: { prompt_tokens: 5, total_tokens: 5 } });
      },
    },
  );
}

/** Stores the provider of embeddings. */
async function createProvider({ gateway }: CacheStage): Promise<void> {
  const integration = { name: "vectors", ai_provider_id: "openai", key: "sk-obviously-fake" };
  const { id } = await done(call<{ id: string }>(gateway, "POST /integrations", { body: integration }));
  const workspace = await done(call<{ id: string }>(gateway, "GET /admin/workspaces/default"));
  const body = { workspaces: [{ id: workspace.id, enabled: true }] };
  await done(call(gateway, `PUT /integrations/${id}/workspaces`, { body }));
  const provider = { name: "vectors", integration_id: id, slug: "vectors" };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
}

const at = (angle: number | string, more: object = {}) => ({
  ...question,
  messages: [{ role: "user", content: `turn ${angle}` }],
  ...more,
});

const asked = (stage: CacheStage, body: unknown, config: object = semantic) =>
  askChat(stage, cachedHeaders(config), body);

test("a similar question gets the stored response, and then its own entry", () =>
  withSemantic(async (stage, embeddings) => {
    const first = await asked(stage, at(0));
    assert.deepEqual([first.status, first.cache], [200, "SEMANTIC MISS"]);
    // the cosine of 10 degrees is 0.985, and of 20 degrees 0.940
    const similar = await asked(stage, at(10));
    assert.deepEqual([similar.cache, saidIn(similar)], ["SEMANTIC HIT", saidIn(first)]);
    assert.equal((await asked(stage, at(20))).cache, "SEMANTIC MISS");
    assert.equal(embeddings(), 3);
    assert.equal((await asked(stage, at(10))).cache, "HIT");
    assert.equal(embeddings(), 3);
    const rows = await waitForLogs(stage.gateway, "limit=100", 7);
    const of = (operation: string) => rows.filter((row) => row.operation === operation);
    assert.deepEqual([of("embed").length, of("chat").length], [3, 4]);
    const hit = of("chat").find((row) => Reflect.get(row, "cache_status") === "SEMANTIC HIT");
    assert.deepEqual([hit?.cost, Reflect.get(hit ?? {}, "cache").saved_cost], [0, 0.75]);
    // the embedding belongs to the trace of its request
    assert.ok(of("embed").some(({ trace_id }) => trace_id === hit?.trace_id));
    const vector = stage.sent.find(({ url }) => url.endsWith("/embeddings"));
    assert.deepEqual([vector?.body.dimensions, vector?.headers.authorization], [256, "Bearer sk-obviously-fake"]);
  }));

test("hits and misses of 1,000 questions are exactly those above and below the threshold", () =>
  withSemantic(async (stage) => {
    const random = createRandom(11);
    const stored: number[] = [];
    for (let count = 0; count < (isWhole ? 1_000 : 80); count++) {
      const angle = Math.round(random() * 360_000) / 1_000;
      const near = stored.map((other) => Math.cos(((angle - other) * Math.PI) / 180));
      const best = Math.max(-1, ...near);
      // 32-bit numbers cannot decide this close to it
      if (Math.abs(best - 0.95) < 1e-5) continue;
      const { cache } = await asked(stage, at(angle));
      const expected = stored.includes(angle) ? "HIT" : best >= 0.95 ? "SEMANTIC HIT" : "SEMANTIC MISS";
      assert.equal(cache, expected, `${angle} among ${stored.length}, best ${best}`);
      if (expected === "SEMANTIC MISS") stored.push(angle);
    }
    assert.ok(stored.length > 5);
  }));

for (const [what, body, status] of [
  [
    "other system messages",
    at(1, {
      messages: [
        { role: "system", content: "Be brief" },
        { role: "user", content: "turn 1" },
      ],
    }),
    "SEMANTIC MISS",
  ],
  ["another temperature", at(1, { temperature: 1 }), "SEMANTIC MISS"],
  ["another model", at(1, { model: "gpt-4o-mini" }), "SEMANTIC MISS"],
  ["other tools", at(1, { tools: [{ type: "function", function: { name: "a", parameters: {} } }] }), "SEMANTIC MISS"],
  [
    "other roles",
    at(1, {
      messages: [
        { role: "user", content: "turn 1" },
        { role: "assistant", content: "" },
      ],
    }),
    "SEMANTIC MISS",
  ],
  ["five messages", at(1, { messages: new Array(5).fill({ role: "user", content: "turn 1" }) }), "MISS"],
  ["no user message", at(1, { messages: [{ role: "assistant", content: "turn 1" }] }), "MISS"],
  [
    "an image",
    at(1, {
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] }],
    }),
    "MISS",
  ],
  [
    "a result of a tool",
    at(1, {
      messages: [
        { role: "user", content: "turn 1" },
        { role: "tool", tool_call_id: "a", content: "1" },
      ],
    }),
    "MISS",
  ],
  ["a very long text", at(1, { messages: [{ role: "user", content: `turn 1 ${"x".repeat(33_000)}` }] }), "MISS"],
  ["a stream", at(1, { stream: true }), "SEMANTIC HIT"],
  [
    "text in parts",
    at(1, { messages: [{ role: "user", content: [{ type: "text", text: "turn 1" }] }] }),
    "SEMANTIC HIT",
  ],
] as const) {
  test(`a similar question with ${what}: ${status}`, () =>
    withSemantic(async (stage) => {
      await asked(stage, at(0));
      assert.equal((await asked(stage, body)).cache, status);
    }));
}

test("similar questions of others are never looked at", () => {
  let foreignKey = "";
  return withSemantic(
    async (stage) => {
      await asked(stage, at(0));
      const second = await createWorkspace(stage.gateway, "second");
      for (const headers of [
        { authorization: "Bearer another-credential" },
        { "x-gateway-metadata": '{"_user":"bob"}' },
        { "x-gateway-cache-namespace": "another" },
        // these have no provider of this name
        { "x-gateway-api-key": foreignKey },
        { "x-gateway-api-key": second.key },
      ]) {
        const came = await askChat(stage, cachedHeaders(semantic, headers), at(1));
        assert.deepEqual([came.status, came.cache], [200, "SEMANTIC MISS"], JSON.stringify(headers));
      }
      assert.equal((await asked(stage, at(1))).cache, "SEMANTIC HIT");
    },
    {
      inFile: true,
      async prepare({ gateway }) {
        foreignKey = (await createOrganisation(await gateway.openFile(), "other")).workspaceKey;
      },
    },
  );
});

test("text completions have a semantic cache too, and embeddings a simple one", () =>
  withSemantic(async (stage) => {
    const of = (path: string, body: object) => ask(stage, path, body, cachedHeaders(semantic));
    const complete = (prompt: string) => of("/v1/completions", { model: "gpt-3.5-turbo-instruct", prompt });
    assert.deepEqual(
      [(await complete("turn 0")).cache, (await complete("turn 1")).cache],
      ["SEMANTIC MISS", "SEMANTIC HIT"],
    );
    const embed = (input: string) => of("/v1/embeddings", { model: "text-embedding-3-small", input });
    assert.deepEqual([(await embed("turn 0")).cache, (await embed("turn 1")).cache], ["MISS", "MISS"]);
  }));

test("without a provider of embeddings, or while it fails, requests go on, and their rows say why", () => {
  let fails = true;
  return withSemantic(
    async (stage) => {
      for (const _ of [1, 2]) {
        const { status, cache } = await asked(stage, at(0, { seed: _ }));
        assert.deepEqual([status, cache], [200, "SEMANTIC MISS"]);
      }
      const [row] = await waitForLogs(stage.gateway, "limit=10", 4);
      assert.ok(row);
      const problem = { problem: "the embedding failed with 500" };
      const rows = await waitForLogs(stage.gateway, "limit=10", 4);
      assert.deepEqual(Reflect.get(rows.find(({ operation }) => operation === "chat") ?? {}, "cache"), problem);
      // the exact entry was stored all the same
      assert.equal((await asked(stage, at(0, { seed: 1 }))).cache, "HIT");
      fails = false;
      assert.equal((await asked(stage, at(0, { seed: 3 }))).cache, "SEMANTIC MISS");
      assert.equal((await asked(stage, at(1, { seed: 3 }))).cache, "SEMANTIC HIT");
    },
    { failing: () => fails },
  );
});

test("nothing that makes embeddings: the cache is off, and the row says so", () =>
  withCache(async (stage) => {
    const { status, cache } = await asked(stage, at(0));
    assert.deepEqual([status, cache], [200, "DISABLED"]);
    const [row] = await waitForLogs(stage.gateway, "limit=1");
    const problem = "no provider makes embeddings: set semantic_cache or SEMANTIC_CACHE_PROVIDER";
    assert.deepEqual(Reflect.get(row ?? {}, "cache"), { problem });
  }));

test("an organisation chooses its own provider and threshold, which must exist", () =>
  withSemantic(async (stage) => {
    const { data } = await done(call<{ data: { id: string } }>(stage.gateway, "GET /organisations/self"));
    const save = (semantic_cache: object) =>
      call(stage.gateway, `PUT /organisations/${data.id}`, { body: { semantic_cache } });
    assert.equal(await refusal(save({ provider: "nobody" })), "400 AB01");
    assert.equal(await refusal(save({ provider: "vectors", threshold: 1.5 })), "400 AB01");
    await done(save({ provider: "vectors", model: "own-model", threshold: 0.9 }));
    await asked(stage, at(0));
    assert.equal((await asked(stage, at(20))).cache, "SEMANTIC HIT");
    const vector = stage.sent.find(({ url }) => url.endsWith("/embeddings"));
    assert.deepEqual([vector?.body.model, vector?.body.dimensions], ["own-model", undefined]);
  }));

test("a forced refresh replaces the response of its question", () =>
  withSemantic(async (stage) => {
    await asked(stage, at(0));
    const refresh = cachedHeaders(semantic, { "x-gateway-cache-force-refresh": "true" });
    const fresh = await askChat(stage, refresh, at(0));
    assert.equal(fresh.cache, "REFRESH");
    const similar = await asked(stage, at(1));
    assert.deepEqual([similar.cache, saidIn(similar)], ["SEMANTIC HIT", saidIn(fresh)]);
  }));

test("a purge removes questions, and an expired response is no hit", () =>
  withSemantic(
    async (stage) => {
      await asked(stage, at(0));
      await done(call(stage.gateway, "DELETE /cache"));
      assert.equal((await asked(stage, at(1))).cache, "SEMANTIC MISS");
      const short = { cache: { mode: "semantic", max_age: 60 } };
      await asked(stage, at(90), short);
      stage.clock.advance(61_000);
      assert.equal((await asked(stage, at(91), short)).cache, "SEMANTIC MISS");
    },
    { inFile: true },
  ));

/** Questions that only the database holds are found too. */
for (const [what, vectorBytes] of [
  ["more vectors than fit in memory", 1],
  ["vectors in memory", 1_000_000],
] as const) {
  test(`${what} are found after the process forgot them`, () =>
    withSemantic(
      async (stage) => {
        for (const angle of [0, 60, 120, 180, 240]) await asked(stage, at(angle));
        const database = await stage.gateway.openFile();
        await eventually("all vectors are written", async () => {
          const { rows } = await database.read("SELECT count(*) AS count FROM cache_vectors");
          return Number(rows[0]?.count) === 5;
        });
        stage.clock.advance(11_000);
        for (const angle of [1, 61, 121, 181, 241]) assert.equal((await asked(stage, at(angle))).cache, "SEMANTIC HIT");
        assert.equal((await asked(stage, at(30))).cache, "SEMANTIC MISS");
      },
      { inFile: true, cache: { vectorBytes } },
    ));
}

test("processes share questions through a libSQL server", { skip: withoutLibsqlServer }, async () => {
  const server = await startLibsqlServer();
  try {
    const options = { database: server.url, masterKeys, cache: { vectorBytes: 1 } };
    await withSemantic(async (one) => {
      await asked(one, at(0));
      await withCache(
        (other) =>
          eventually("the other process finds it", async () => {
            const { cache } = await asked(other, at(Math.random()));
            return cache === "SEMANTIC HIT";
          }),
        {
          ...options,
          semanticCache: { provider: "vectors" },
          respond: ({ url, body }, number) =>
            url.endsWith("/embeddings")
              ? toJsonResponse({
                  object: "list",
                  model: "m",
                  data: [{ object: "embedding", index: 0, embedding: vectorAt(String(body.input), 8) }],
                  usage: { prompt_tokens: 1, total_tokens: 1 },
                })
              : toJsonResponse(chatAnswer(`Other ${number}`)),
        },
      );
    }, options);
  } finally {
    await server.kill();
  }
});
