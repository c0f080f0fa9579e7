import assert from "node:assert/strict";
import { test } from "node:test";
import { toCanonical } from "../../src/cache/canonical.ts";
import { ResponseCache } from "../../src/cache/response-cache.ts";
import { VectorIndex } from "../../src/cache/vector-index.ts";
import { openDatabase } from "../../src/db/client.ts";
import { createCacheStore } from "../../src/db/stores/cache.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { askChat, cachedHeaders, createWorkspace, question, withCache } from "../support/cache.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { createRandom, type HeaderChanges } from "../support/gateway.ts";
import { rounds, sample } from "../support/sample.ts";

/** A request: its body, its headers and its config. */
interface Asked {
  body: Record<string, unknown>;
  headers: HeaderChanges;
  config: Record<string, unknown>;
}

const tool = {
  type: "function",
  function: { name: "look", parameters: { type: "object", properties: { a: {}, b: {} } } },
};

const base: Asked = {
  body: {
    ...question,
    tools: [tool],
    tool_choice: "auto",
    temperature: 0.5,
    top_p: 1,
    n: 1,
    seed: 1,
    stop: ["x"],
    user: "someone",
    max_tokens: 100,
    response_format: { type: "text" },
    metadata: { a: "1", b: "2" },
    unknown_member: { deep: [1, { deeper: true }] },
  },
  headers: { "x-gateway-metadata": '{"team":"blue","_user":"alice"}' },
  config: { cache: "simple", override_params: { presence_penalty: 0.1 } },
};

const withBody = (changes: object): Asked => ({ ...base, body: { ...base.body, ...changes } });
const withHeaders = (changes: HeaderChanges): Asked => ({ ...base, headers: { ...base.headers, ...changes } });
const withConfig = (changes: object): Asked => ({ ...base, config: { ...base.config, ...changes } });

/** What makes another request of it. */
const differences: Readonly<Record<string, Asked>> = {
  model: withBody({ model: "gpt-4o-mini" }),
  "a message": withBody({ messages: [{ role: "user", content: "What is a cache" }] }),
  "the role of a message": withBody({ messages: [{ role: "system", content: "What is a cache?" }] }),
  "one more message": withBody({ messages: [...question.messages, { role: "assistant", content: "" }] }),
  "the order of messages": withBody({
    messages: [
      { role: "user", content: "a" },
      { role: "user", content: "b" },
    ],
  }),
  "a tool": withBody({ tools: [{ ...tool, function: { ...tool.function, name: "see" } }] }),
  "no tools": withBody({ tools: undefined }),
  "a parameter of a tool": withBody({
    tools: [{ ...tool, function: { ...tool.function, parameters: { type: "object", properties: { a: {} } } } }],
  }),
  tool_choice: withBody({ tool_choice: "none" }),
  temperature: withBody({ temperature: 0.6 }),
  top_p: withBody({ top_p: 0.9 }),
  seed: withBody({ seed: 2 }),
  stop: withBody({ stop: "x" }),
  user: withBody({ user: "someone else" }),
  max_tokens: withBody({ max_tokens: 101 }),
  response_format: withBody({ response_format: { type: "json_object" } }),
  "metadata of the body": withBody({ metadata: { a: "1", b: "3" } }),
  "an unknown member": withBody({ unknown_member: { deep: [1, { deeper: false }] } }),
  "a new member": withBody({ another: null }),
  "a long number": withBody({ unknown_member: { deep: [9_007_199_254_740_991] } }),
  "the metadata": withHeaders({ "x-gateway-metadata": '{"team":"red","_user":"alice"}' }),
  "the user": withHeaders({ "x-gateway-metadata": '{"team":"blue","_user":"bob"}' }),
  "no metadata": withHeaders({ "x-gateway-metadata": null }),
  "a namespace": withHeaders({ "x-gateway-cache-namespace": "one" }),
  "the caller's credential": withHeaders({ authorization: "Bearer another-credential" }),
  "a custom host": withHeaders({ "x-gateway-custom-host": "https://api.example.com/v1" }),
  "a setting of the provider": withHeaders({ "x-gateway-openai-organization": "org-1" }),
  "the form of responses": withHeaders({ "x-gateway-strict-open-ai-compliance": "false" }),
  "a header the provider reads": withHeaders({ "openai-beta": "realtime=v1" }),
  "a forwarded header": withHeaders({ "x-gateway-forward-headers": "x-tenant", "x-tenant": "one" }),
  "an unknown header of the gateway": withHeaders({ "x-gateway-something": "1" }),
  "the provider": withHeaders({ "x-gateway-provider": "groq" }),
  override_params: withConfig({ override_params: { presence_penalty: 0.2 } }),
  default_params: withConfig({ default_params: { frequency_penalty: 1 } }),
  drop_params: withConfig({ drop_params: ["seed"] }),
  "the host of the config": withConfig({ custom_host: "https://other.example.com/v1" }),
  "the credential of the config": withConfig({ provider: "openai", api_key: "sk-of-the-config" }),
  guardrails: withConfig({
    input_guardrails: [{ "default.contains": { words: ["never"], operator: "none" }, id: "a" }],
  }),
  "other guardrails": withConfig({
    output_guardrails: [{ "default.contains": { words: ["never"], operator: "none" } }],
  }),
};

/** An object with its members in another order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  );
}

const written = (text: string): Asked => ({ ...base, body: { written: text } });

/** What makes no other request of it. */
const sames: Readonly<Record<string, Asked>> = {
  "the order of members": { ...base, body: Object(reversed(base.body)) },
  "white space": written(JSON.stringify(base.body, null, 4)),
  escapes: written(JSON.stringify(base.body).replace("What", "\\u0057hat")),
  "the form of a number": written(JSON.stringify(base.body).replace('"temperature":0.5', '"temperature":5e-1')),
  "the order of metadata": withHeaders({ "x-gateway-metadata": '{ "_user": "alice", "team": "blue" }' }),
  "headers of traces": withHeaders({
    "x-gateway-trace-id": "trace-2",
    "x-gateway-span-id": "span",
    "x-gateway-span-name": "name",
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  }),
  "a stream": withBody({ stream: true }),
  "timeouts and privacy": withHeaders({ "x-gateway-request-timeout": "9999", "x-gateway-debug": "false" }),
  "other spellings of headers": withHeaders({ "X-Gateway-Force-Nothing": null, "X-GATEWAY-DEBUG": "true" }),
  "headers nobody reads": withHeaders({ "user-agent": "curl", "x-tenant": "two", "x-stainless-runtime": "node" }),
  "retries and names in the config": withConfig({ retry: { attempts: 2 }, name: "main", request_timeout: 5_000 }),
  "parameters that change nothing": withConfig({ default_params: { temperature: 0.9 } }),
};

const send = (stage: Parameters<typeof askChat>[0], { body, headers, config }: Asked) =>
  askChat(stage, cachedHeaders(config, headers), "written" in body ? body.written : body);

test("changing anything that may change the response misses, and everything else hits", () =>
  withCache(async (stage) => {
    assert.equal((await send(stage, base)).cache, "MISS");
    for (const [what, asked] of Object.entries(differences)) {
      assert.equal((await send(stage, asked)).cache, "MISS", what);
      assert.equal((await send(stage, asked)).cache, "HIT", what);
    }
    const before = stage.sent.length;
    for (const [what, asked] of Object.entries(sames)) assert.equal((await send(stage, asked)).cache, "HIT", what);
    assert.equal(stage.sent.length, before);
  }));

test("two differences together make a third request", () =>
  withCache(async (stage) => {
    // of others one may hide the other
    const all = Object.keys(differences).filter(
      (name) => !/config|provider|host|drop_params|namespace|metadata|user/.test(name),
    );
    const names = sample(all, 6);
    const keys = new Set<unknown>();
    let asked = 0;
    for (const one of names) {
      for (const other of sample(all, 6)) {
        const [first, second] = [differences[one] ?? base, differences[other] ?? base];
        const both = {
          body: { ...first.body, ...changesOf(base.body, second.body) },
          headers: { ...first.headers, ...changesOf(base.headers, second.headers) },
          config: { ...first.config, ...changesOf(base.config, second.config) },
        };
        const key = toCanonical([both.body, both.headers, both.config]);
        const { cache } = await send(stage, both);
        // the order in which both came does not matter, nor which other one they equal
        if (keys.has(key)) assert.equal(cache, "HIT", `${one}, ${other}`);
        else assert.equal(cache, "MISS", `${one}, ${other}`);
        keys.add(key);
        asked++;
      }
    }
    assert.ok(asked > 0);
  }));

/** Members of an object that differ from another's. */
function changesOf(from: object, to: object): object {
  return Object.fromEntries(Object.entries(to).filter(([name, value]) => Reflect.get(from, name) !== value));
}

test("a namespace replaces the metadata, so that users share responses", () =>
  withCache(async (stage) => {
    const of = (user: string, namespace: string | null) =>
      askChat(
        stage,
        cachedHeaders(undefined, {
          "x-gateway-metadata": JSON.stringify({ _user: user }),
          "x-gateway-cache-namespace": namespace,
        }),
      );
    assert.deepEqual([(await of("alice", null)).cache, (await of("bob", null)).cache], ["MISS", "MISS"]);
    assert.deepEqual([(await of("alice", "a")).cache, (await of("bob", "a")).cache], ["MISS", "HIT"]);
    assert.deepEqual([(await of("bob", "b")).cache, (await of("bob", "")).cache], ["MISS", "HIT"]);
  }));

test("a saved guardrail that changes makes other requests", () =>
  withCache(async (stage) => {
    const { id: workspace_id } = await done(call<{ id: string }>(stage.gateway, "GET /admin/workspaces/default"));
    const checks = (words: string[]) => [{ id: "default.contains", parameters: { words, operator: "none" } }];
    const body = { name: "words", workspace_id, checks: checks(["never"]), actions: {} };
    const { slug, id } = await done(call<{ slug: string; id: string }>(stage.gateway, "POST /guardrails", { body }));
    const headers = cachedHeaders({ cache: "simple", input_guardrails: [slug] });
    assert.deepEqual([(await askChat(stage, headers)).cache, (await askChat(stage, headers)).cache], ["MISS", "HIT"]);
    await done(call(stage.gateway, `PUT /guardrails/${id}`, { body: { checks: checks(["nobody"]) } }));
    assert.equal((await askChat(stage, headers)).cache, "MISS");
  }));

test("keys with their own credentials, in other workspaces and organisations, never share an entry", () =>
  withCache(
    async (stage) => {
      const other = await createOrganisation(await stage.gateway.openFile(), "other");
      const second = await createWorkspace(stage.gateway, "second");
      const random = createRandom(7);
      const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
      const owners = [null, second.key, other.workspaceKey];
      const said = new Map<string, string>();
      for (let count = 0; count < rounds(300); count++) {
        const key = pick(owners);
        const authorization = pick(["Bearer one", "Bearer two"]);
        const content = pick(["a", "b", "c"]);
        const named = pick([null, "shared"]);
        const body = { ...question, messages: [{ role: "user", content }] };
        const more = { authorization, "x-gateway-cache-namespace": named, ...(key && { "x-gateway-api-key": key }) };
        const { cache, text } = await askChat(stage, cachedHeaders(undefined, more), body);
        const owner = JSON.stringify([key, authorization, content, named]);
        assert.equal(cache, said.has(owner) ? "HIT" : "MISS", owner);
        if (said.has(owner)) assert.equal(text, said.get(owner));
        said.set(owner, text);
      }
      assert.equal(new Set(said.values()).size, said.size);
    },
    { inFile: true },
  ));

test("two tenants never share an entry in 100,000 random look-ups", async () => {
  const questions = new VectorIndex({
    store: createCacheStore(await openDatabase({ url: ":memory:" }), 1),
    now: () => 0,
    bytes: 1,
  });
  const cache = new ResponseCache({
    questions,
    mac: nodeMac(new Uint8Array(32)),
    now: () => 0,
    monotonic: () => 0,
    memoryBytes: 64_000_000,
    warn() {},
  });
  const random = createRandom(3);
  // names that could be mistaken for another's if they were joined with a separator
  const letters = ["a", "b", "|", ",", '"', ":", "\\", "1", " "];
  const word = (most = 4) =>
    Array.from({ length: Math.floor(random() * most) }, () => letters[Math.floor(random() * letters.length)]).join("");
  const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];
  let found = 0;
  for (let count = 0; count < rounds(100_000); count++) {
    // few enough to be met again
    const tenant = { organisationId: word(2), workspaceId: word(2) };
    const parts = { target: [word(3), [word(2)]], request: { [word(2)]: word(2) } };
    const place = { ...tenant, namespace: "" };
    const key = (await cache.keyOf(tenant, parts)) ?? "";
    const owner = JSON.stringify([tenant, parts]);
    const entry = await cache.find(place, key, 1_000);
    if (entry) {
      found++;
      assert.equal(decoder.decode(entry.body), owner);
    } else {
      const facts = { key, dropped: null, cost: 1, tokens: 1, storedAt: 0, expiresAt: 1_000 };
      cache.store(place, { ...facts, body: encoder.encode(owner) }, cache.epoch);
    }
  }
  assert.ok(found > 50, `${found} entries were found`);
});
