import assert from "node:assert/strict";
import { test } from "node:test";
import { EntrySealer } from "../../src/cache/sealer.ts";
import { connectRedis } from "../../src/serve/redis.ts";
import { askChat, type CacheStage, cachedHeaders, createWorkspace, question, withCache } from "../support/cache.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { masterKeys, type TestGateway, type TestGatewayOptions } from "../support/gateway.ts";
import { startLibsqlServer, withoutLibsqlServer } from "../support/libsql-server.ts";
import { hasRedis, startRedis } from "../support/redis.ts";

const countOf = async ({ gateway }: CacheStage): Promise<number> => {
  const { rows } = await (await gateway.openFile()).read("SELECT count(*) AS count FROM cache_entries");
  return Number(rows[0]?.count);
};

const stored = (stage: CacheStage, count: number) =>
  eventually(`${count} entries are written`, async () => (await countOf(stage)) === count);

test("a response outlives the memory of its process, sealed", () =>
  withCache(
    async (stage) => {
      const first = await askChat(stage);
      await stored(stage, 1);
      const database = await stage.gateway.openFile();
      const { rows } = await database.read("SELECT sealed, key, namespace FROM cache_entries");
      const text = new TextDecoder("latin1").decode(new Uint8Array(rows[0]?.sealed as ArrayBuffer));
      assert.ok(!text.includes("Answer") && !text.includes("gpt-4o"));
      // of a memory of one byte nothing is found
      const hit = await askChat(stage);
      assert.deepEqual([hit.cache, hit.text, stage.sent.length], ["HIT", first.text, 1]);
    },
    { inFile: true, cache: { memoryBytes: 1 } },
  ));

/** Changes every stored entry. */
type Spoil = (sealed: Uint8Array<ArrayBuffer>, others: readonly Uint8Array<ArrayBuffer>[]) => Uint8Array<ArrayBuffer>;

const spoilt: Readonly<Record<string, Spoil>> = {
  "is cut": (sealed) => sealed.slice(0, sealed.length / 2),
  "is empty": () => new Uint8Array(0),
  "has another byte": (sealed) => sealed.map((byte, index) => (index === 40 ? byte ^ 1 : byte)),
  "belongs to another key": (sealed, others) => others.find((other) => other !== sealed) ?? sealed,
  "is text": () => new TextEncoder().encode('{"key":"x"}\n{"choices":[]}'),
};

for (const [what, spoil] of Object.entries(spoilt)) {
  test(`a stored entry that ${what} is a miss, and the operator is warned`, () =>
    withCache(
      async (stage) => {
        await askChat(stage);
        await askChat(stage, undefined, { ...question, temperature: 1 });
        await stored(stage, 2);
        const database = await stage.gateway.openFile();
        const { rows } = await database.read("SELECT key, sealed FROM cache_entries");
        const all = rows.map(({ sealed }) => new Uint8Array(sealed as ArrayBuffer));
        for (const [index, { key }] of rows.entries()) {
          const args = [spoil(all[index] ?? new Uint8Array(), all), String(key)];
          await database.write([{ sql: "UPDATE cache_entries SET sealed = ? WHERE key = ?", args }]);
        }
        const { status, cache } = await askChat(stage);
        assert.deepEqual([status, cache], [200, "MISS"]);
        assert.ok(stage.gateway.warnings.some((line) => line.startsWith("Cannot use a stored response")));
      },
      { inFile: true, cache: { memoryBytes: 1 } },
    ));
}

test("an entry opens for its place and key alone", async () => {
  const sealer = new EntrySealer(new Uint8Array(32).fill(7));
  const place = { organisationId: "o", workspaceId: "w", namespace: "" };
  const body = new TextEncoder().encode('{"a":"line\\n"}');
  const entry = { key: "k", body, dropped: ["x"], cost: null, tokens: 3, storedAt: 1, expiresAt: 2 };
  const sealed = await sealer.seal(place, entry);
  assert.deepEqual(await sealer.open(place, "k", sealed), entry);
  for (const other of [
    { ...place, organisationId: "p" },
    { ...place, workspaceId: "v" },
    { ...place, namespace: "n" },
  ]) {
    assert.equal(await sealer.open(other, "k", sealed), undefined);
  }
  assert.equal(await sealer.open(place, "l", sealed), undefined);
  assert.equal(await new EntrySealer(new Uint8Array(32).fill(8)).open(place, "k", sealed), undefined);
});

test("memory holds no more than its limit, and the database goes on", () =>
  withCache(
    async (stage) => {
      for (let number = 0; number < 40; number++) await askChat(stage, undefined, { ...question, seed: number });
      await stored(stage, 40);
      const before = stage.sent.length;
      for (let number = 0; number < 40; number++) {
        assert.equal((await askChat(stage, undefined, { ...question, seed: number })).cache, "HIT");
      }
      assert.equal(stage.sent.length, before);
    },
    { inFile: true, cache: { memoryBytes: 8_000 } },
  ));

test("a database that cannot be written or read leaves requests uncached", () =>
  withCache(
    async (stage) => {
      const database = await stage.gateway.openFile();
      await database.write(["DROP TABLE cache_entries"]);
      const asked = async () => {
        const { status, cache } = await askChat(stage);
        return [status, cache];
      };
      assert.deepEqual(
        [await asked(), await asked()],
        [
          [200, "MISS"],
          [200, "MISS"],
        ],
      );
      assert.ok(stage.gateway.warnings.some((line) => line.startsWith("Cannot use the shared cache")));
    },
    { inFile: true, cache: { memoryBytes: 1 } },
  ));

/** Sends a purge. */
const purge = ({ gateway }: Pick<CacheStage, "gateway">, query = "", key?: string) =>
  call(gateway, `DELETE /cache${query}`, key === undefined ? {} : { key });

for (const memoryBytes of [1, 1_000_000]) {
  test(`DELETE /cache removes what it names and nothing else, with ${memoryBytes} bytes of memory`, () =>
    withCache(
      async (stage) => {
        const other = await createOrganisation(await stage.gateway.openFile(), "other");
        const second = await createWorkspace(stage.gateway, "second");
        const callers = {
          first: {},
          second: { "x-gateway-api-key": second.key },
          other: { "x-gateway-api-key": other.workspaceKey },
        };
        const asked = (caller: keyof typeof callers, namespace: string | null) =>
          askChat(stage, cachedHeaders(undefined, { ...callers[caller], "x-gateway-cache-namespace": namespace }));
        const all = [
          ["first", null],
          ["first", "a"],
          ["first", "b"],
          ["second", "a"],
          ["other", "a"],
        ] as const;
        /** Which of them are stored; all are afterwards. */
        const look = async () => {
          const found: string[] = [];
          for (const [caller, namespace] of all) {
            if ((await asked(caller, namespace)).cache === "HIT") found.push(`${caller} ${namespace}`);
          }
          await stored(stage, all.length);
          return found;
        };
        await look();
        assert.deepEqual(await done(purge(stage, "?namespace=a", "test-workspace-key-000000")), {
          object: "cache_purge",
          workspace_id: (await done(call<{ id: string }>(stage.gateway, "GET /admin/workspaces/default"))).id,
          namespace: "a",
        });
        assert.deepEqual(await look(), ["first null", "first b", "second a", "other a"]);
        await done(purge(stage, `?workspace_id=${second.id}`));
        assert.deepEqual(await look(), ["first null", "first a", "first b", "other a"]);
        await done(purge(stage, "?namespace=a"));
        assert.deepEqual(await look(), ["first null", "first b", "other a"]);
        await done(purge(stage, "", other.workspaceKey));
        assert.deepEqual(await look(), ["first null", "first a", "first b", "second a"]);
        await done(purge(stage));
        assert.deepEqual(await look(), ["other a"]);
      },
      { inFile: true, cache: { memoryBytes } },
    ));
}

test("DELETE /cache refuses other workspaces and misspelt filters", () =>
  withCache(async (stage) => {
    await askChat(stage);
    const second = await createWorkspace(stage.gateway, "second");
    assert.equal(await refusal(purge(stage, "?workspace_id=default", second.key)), "403 AB03");
    assert.equal(await refusal(purge(stage, "?workspace_id=nobody")), "403 AB03");
    assert.equal(await refusal(purge(stage, "?name_space=a")), "400 AB01");
    assert.equal((await askChat(stage)).cache, "HIT");
  }));

test("expired entries, and the oldest above the limit, leave the database", () =>
  withCache(
    async (stage) => {
      const database = await stage.gateway.openFile();
      const { createCacheStore } = await import("../../src/db/stores/cache.ts");
      await askChat(stage, cachedHeaders({ cache: { mode: "simple", max_age: 60 } }));
      for (let seed = 0; seed < 5; seed++) {
        stage.clock.advance(1_000);
        await askChat(stage, undefined, { ...question, seed });
      }
      await stored(stage, 6);
      await createCacheStore(database, 1e9).cleanUp(stage.clock.now() + 60_000);
      assert.equal(await countOf(stage), 5);
      const { rows } = await database.read("SELECT max(bytes) AS bytes FROM cache_entries");
      await createCacheStore(database, 2 * Number(rows[0]?.bytes)).cleanUp(stage.clock.now());
      // one step removes up to 200
      assert.equal(await countOf(stage), 0);
    },
    { inFile: true },
  ));

/** Two gateways that share a store. */
async function withTwo(options: TestGatewayOptions, use: (one: CacheStage, other: CacheStage) => Promise<void>) {
  await withCache((one) => withCache((other) => use(one, other), options), options);
}

/** Asks a gateway until its response comes from the cache. */
const untilHit = (stage: { gateway: TestGateway }) =>
  eventually("the other process has the response", async () => (await askChat(stage)).cache === "HIT");

test("processes share responses in the database, and follow each other's purges", {
  skip: withoutLibsqlServer,
}, async () => {
  const server = await startLibsqlServer();
  try {
    await withTwo({ database: server.url, masterKeys }, async (one, other) => {
      const first = await askChat(one);
      await untilHit(other);
      const hit = await askChat(other);
      assert.equal(hit.text, first.text);
      await done(purge(one));
      await eventually("the purge arrives", async () => (await askChat(other)).cache === "MISS");
    });
  } finally {
    await server.kill();
  }
});

test("processes share responses in Redis, sealed, until Redis is away", { skip: !hasRedis }, async () => {
  const redis = await startRedis();
  try {
    const options = { redis: { url: redis.url }, connectRedis, cache: { memoryBytes: 1 } };
    await withCache(async (stage) => {
      await askChat(stage);
      await untilHit(stage);
      let names: string[] = [];
      await eventually("the entry is in Redis", async () => {
        names = (await redis.send("KEYS", "gateway-cache:*")) as string[];
        return names.length === 1;
      });
      assert.match(names[0] ?? "", /^gateway-cache(?::[\w-]{43}){4}$/);
      assert.ok(!String(await redis.send("GET", names[0] ?? "")).includes("Answer"));
      assert.ok(Number(await redis.send("PTTL", names[0] ?? "")) > 600_000_000);
      await done(purge(stage, "?namespace=other"));
      assert.equal((await askChat(stage)).cache, "HIT");
      await done(purge(stage));
      assert.equal((await askChat(stage)).cache, "MISS");
      await redis.kill();
      const { status, cache } = await askChat(stage, undefined, { ...question, seed: 1 });
      assert.deepEqual([status, cache], [200, "MISS"]);
    }, options);
  } finally {
    await redis.kill();
  }
});
