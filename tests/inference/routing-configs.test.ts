import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { countParses } from "../../bench/config-parsing.ts";
import { recordAnswers } from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import { answering, type FaultyUpstream, faultOf, success } from "../support/faults.ts";
import { chat, type HeaderChanges, helloBody, waitForLog, workspaceKey } from "../support/gateway.ts";
import { ask, configHeader, logOf, saveConfig, startRouted, targetOf } from "../support/routed.ts";

const routed = await startRouted(2);
const { gateway, upstreams } = routed;
const [a, b] = upstreams as [FaultyUpstream, FaultyUpstream]; // there are two
beforeEach(() => routed.reset());
after(() => routed.close());

const [first, second] = ["config.targets[0]", "config.targets[1]"];
const key = workspaceKey;

/** A target that calls an upstream chosen when the test runs. */
const target = (upstream: "a" | "b", more: object = {}) => targetOf(upstream === "a" ? a : b, more);
const group = (strategy: object, ofA: object = {}, ofB: object = {}) => ({
  strategy,
  targets: [target("a", ofA), target("b", ofB)],
});
const fallback = (more: object = {}) => ({ ...group({ mode: "fallback" }), ...more });

/** The last body an upstream received. */
const sent = ({ calls }: FaultyUpstream) => JSON.parse(calls.at(-1)?.text ?? "null");

test("the text of a config is parsed once, however often it is sent", async () => {
  const texts = [0.11, 0.12].map((top_p) => JSON.stringify(fallback({ default_params: { top_p } })));
  const parsed = await countParses(new Set(texts), async () => {
    for (const text of [...texts, ...texts, ...texts]) {
      const answer = await chat(gateway, helloBody, { "x-gateway-provider": null, "x-gateway-config": text });
      assert.equal(answer.status, 200);
      await answer.text();
    }
  });
  assert.equal(parsed, 2);
});

test("parameters of every level are applied: defaults, overrides, and dropped fields", async () => {
  const config = {
    default_params: { temperature: 0.1, top_p: 0.5, seed: 1 },
    override_params: { user: "root", seed: 2 },
    drop_params: ["stop"],
    strategy: { mode: "single" },
    targets: [
      target("a", {
        default_params: { temperature: 0.2, max_tokens: 5 },
        override_params: { model: "other", user: "leaf" },
        drop_params: ["tools[*].function.strict", "audio.format"],
      }),
    ],
  };
  const tools = [{ type: "function", function: { name: "f", strict: true } }];
  const audio = { voice: "a", format: "wav" };
  const body = { top_p: 0.9, stop: "x", tools, audio };
  await ask(gateway, { config, body });
  const { messages, ...members } = sent(a);
  assert.equal(messages.length, 1);
  assert.deepEqual(members, {
    model: "other",
    top_p: 0.9,
    temperature: 0.2,
    max_tokens: 5,
    seed: 2,
    user: "leaf",
    tools: [{ type: "function", function: { name: "f" } }],
    audio: { voice: "a" },
  });
});

test("each target of a fallback receives its own parameters", async () => {
  a.script(() => faultOf("500"));
  const config = group(
    { mode: "fallback" },
    { override_params: { model: "one" } },
    { override_params: { model: "two" } },
  );
  const answer = await ask(gateway, { config });
  assert.deepEqual([sent(a).model, sent(b).model], ["one", "two"]);
  const row = await logOf(gateway, answer);
  assert.deepEqual(
    row.attempts?.map(({ model }) => model),
    ["one", "two"],
  );
});

for (const [name, config, headers, wanted] of [
  ["of the config", () => fallback({ forward_headers: ["X-Tenant"] }), {}, ["blue", undefined]],
  [
    "of the nearest level",
    () => group({ mode: "single" }, { forward_headers: ["x-region"] }),
    {},
    [undefined, "north"],
  ],
  [
    "of the header instead",
    () => fallback({ forward_headers: ["x-tenant"] }),
    { "x-gateway-forward-headers": "x-region" },
    [undefined, "north"],
  ],
  ["of nobody", () => fallback(), {}, [undefined, undefined]],
] as const) {
  test(`headers named in the list ${name} are forwarded`, async () => {
    await ask(gateway, { config: config(), headers: { "x-tenant": "blue", "x-region": "north", ...headers } });
    const received = a.calls[0]?.headers;
    assert.deepEqual([received?.["x-tenant"], received?.["x-region"]], wanted);
    assert.equal(received?.authorization, "Bearer upstream-credential");
  });
}

for (const [draw, label] of [
  [0, first],
  [0.24, first],
  [0.26, second],
  [0.999, second],
] as const) {
  test(`a draw of ${draw} among the weights 1 and 3 gives ${label}`, async () => {
    routed.chance = draw;
    assert.equal((await ask(gateway, { config: group({ mode: "loadbalance" }, {}, { weight: 3 }) })).label, label);
  });
}

test("requests with equal fields stay with one target, for saved and inline configs", async () => {
  const sticky = { enabled: true, hash_fields: ["metadata.user"], ttl: 60 };
  const config = group({ mode: "loadbalance", sticky });
  for (const named of [config, await saveConfig(gateway, config)]) {
    const labelOf = async (user: string, draw: number, from: object | string = named) => {
      routed.chance = draw;
      return (await ask(gateway, { config: from, headers: { "x-gateway-metadata": JSON.stringify({ user }) } })).label;
    };
    assert.equal(await labelOf("ann", 0.9), second);
    assert.equal(await labelOf("ann", 0), second);
    assert.equal(await labelOf("bob", 0), first);
    const other = { ...config, override_params: { seed: typeof named === "string" ? 1 : 2 } };
    assert.equal(await labelOf("ann", 0, other), first, "another config remembers nothing of this one");
  }
});

test("a conversation stays with its target by affinity", async () => {
  const config = group({ mode: "loadbalance", affinity: true });
  const labels = new Map<string, Set<string | null>>();
  for (let turn = 0; turn < 48; turn++) {
    routed.chance = turn / 48;
    const session = `session-${turn % 12}`;
    const { label } = await ask(gateway, { config, headers: { "x-session-id": session } });
    labels.set(session, (labels.get(session) ?? new Set()).add(label));
  }
  assert.ok([...labels.values()].every(({ size }) => size === 1));
  assert.equal(new Set([...labels.values()].flatMap((set) => [...set])).size, 2);
});

/** Posts to a passthrough path. */
async function pass(path: string, config: object, body: BodyInit, headers: HeaderChanges = {}) {
  const trace = crypto.randomUUID();
  const all = { "x-gateway-api-key": key, "x-gateway-trace-id": trace, "content-type": "application/json" };
  const length = typeof body === "string" ? { "content-length": String(body.length) } : {};
  const init = {
    method: "POST",
    body,
    headers: { ...all, ...length, ...configHeader(config), ...headers },
    duplex: "half",
  };
  const response = await gateway.fetch(path, init as RequestInit); // the DOM types do not know `duplex`
  const text = await response.text();
  const { headers: got, status } = response;
  return {
    trace,
    status,
    text,
    label: got.get("x-gateway-last-used-option-index"),
    retries: got.get("x-gateway-retry-attempt-count"),
  };
}

test("passthrough applies retries, fallbacks and conditions on the body", async () => {
  a.script(() => faultOf("503"));
  const config = { ...fallback(), retry: { attempts: 2 } };
  const answer = await pass("/v1/evaluations", config, '{"input":"x","model":"m"}');
  assert.deepEqual([answer.status, answer.label, answer.retries], [200, second, "0"]);
  assert.deepEqual([a.calls.length, b.calls.length, b.calls[0]?.text], [3, 1, '{"input":"x","model":"m"}']);
  const row = await logOf(gateway, answer);
  assert.deepEqual([row.upstream_calls, row.attempts?.map(({ retries }) => retries)], [4, [2, 0]]);

  const conditions = [{ query: { "params.input": "x" }, then: "b" }];
  const choosing = group({ mode: "conditional", conditions, default: "a" }, { name: "a" }, { name: "b" });
  assert.equal((await pass("/v1/evaluations", choosing, '{"input":"x"}')).label, second);
  assert.equal((await pass("/v1/evaluations", choosing, '{"input":"y"}')).label, first);
});

test("the last response of a passthrough is forwarded unchanged", async () => {
  for (const upstream of upstreams) upstream.script(() => faultOf("429 retry-after soon"));
  const answer = await pass("/v1/evaluations", fallback(), "{}");
  assert.deepEqual([answer.status, answer.label, JSON.parse(answer.text).error.code], [429, second, "upstream_code"]);
});

test("a streamed body is sent only once", async () => {
  a.script(() => faultOf("503"));
  const chunks = ["one ", "two"].map((text) => new TextEncoder().encode(text));
  const body = new ReadableStream({
    pull(controller) {
      const next = chunks.shift();
      if (next) controller.enqueue(next);
      else controller.close();
    },
  });
  const answer = await pass("/v1/evaluations", { ...fallback(), retry: { attempts: 2 } }, body);
  assert.deepEqual([answer.status, answer.label, a.calls.length, b.calls.length], [503, first, 1, 0]);
  assert.equal(a.calls[0]?.text, "one two");
});

for (const [path, record] of [
  ["/v1/files", recordAnswers.file],
  ["/v1/batches", recordAnswers.batch],
  ["/v1/fine_tuning/jobs", recordAnswers.job],
  ["/v1/batches/b1/cancel", recordAnswers.batch],
] as const) {
  test(`${path} accepts one target only, however deep the others are nested`, async () => {
    for (const config of [fallback(), { strategy: { mode: "single" }, targets: [fallback()] }]) {
      const answer = await pass(path, config, "{}");
      assert.equal(answer.status, 400);
      assert.match(answer.text, /Maximum one target is allowed/);
    }
    const one = { strategy: { mode: "single" }, targets: [{ strategy: { mode: "fallback" }, targets: [target("a")] }] };
    a.script(() => answering(record));
    assert.equal((await pass(path, one, "{}")).status, 200);
  });
}

const byHeader = () => ({
  "x-gateway-provider": "openai",
  "x-gateway-custom-host": `${a.url}/v1`,
  authorization: "Bearer upstream-credential",
});

test("the older header requests retries on the usual codes", async () => {
  a.script(({ index }) => (index < 2 ? faultOf("500") : success));
  const answer = await ask(gateway, { headers: { ...byHeader(), "x-gateway-retry-count": "3" } });
  assert.deepEqual([answer.status, answer.retries, a.calls.length], [200, "2", 3]);
  a.script(() => faultOf("400"));
  await ask(gateway, { headers: { ...byHeader(), "x-gateway-retry-count": "3" } });
  assert.equal(a.calls.length, 1);
  const bad = await ask(gateway, { headers: { ...byHeader(), "x-gateway-retry-count": "many" } });
  assert.deepEqual([bad.status, bad.code], [400, "invalid_header"]);
});

test("a config of settings takes its provider from the headers", async () => {
  a.script(({ index }) => (index === 0 ? faultOf("500") : success));
  const config = { retry: { attempts: 1 }, override_params: { seed: 7 } };
  const answer = await ask(gateway, { config, headers: byHeader() });
  assert.deepEqual([answer.status, answer.label, answer.retries, sent(a).seed], [200, "config", "1", 7]);
});

test("a config is taken from the request, else from the key, else from the workspace", async () => {
  const seeded = (seed: number) => saveConfig(gateway, target("a", { override_params: { seed } }));
  const [ofRequest, ofKey, ofWorkspace] = [await seeded(1), await seeded(2), await seeded(3)];
  const mint = async (defaults?: object) => {
    const body = { name: "k", scopes: ["completions.write", "logs.list", "logs.view"], ...(defaults && { defaults }) };
    const { key: made } = await done<{ key: string }>(call(gateway, "POST /api-keys/workspace/service", { key, body }));
    return made;
  };
  const route = async (options: { by: string; config?: string | object; headers?: HeaderChanges }) => {
    const { by, config, headers } = options;
    const answer = await ask(gateway, { ...(config && { config }), headers: { "x-gateway-api-key": by, ...headers } });
    return { ...answer, seed: answer.status === 200 ? sent(a).seed : answer.code };
  };
  const [plain, own, fixed] = [
    await mint(),
    await mint({ config_slug: ofKey }),
    await mint({ config_id: ofKey, allow_config_override: false }),
  ];
  assert.equal((await route({ by: plain, headers: byHeader() })).seed, undefined, "no config at all");
  assert.equal((await route({ by: plain, config: ofRequest })).seed, 1);
  assert.equal((await route({ by: own })).seed, 2);
  assert.equal((await route({ by: own, config: ofRequest })).seed, 1);
  assert.equal((await route({ by: fixed })).seed, 2);
  for (const config of [ofRequest, target("a")]) {
    const refused = await route({ by: fixed, config });
    assert.deepEqual([refused.status, refused.seed], [400, "config_override_not_allowed"]);
    assert.equal(refused.message, "Cannot override default config set for this API key.");
  }
  const defaults = { user_api_key_config: ofWorkspace };
  await done(call(gateway, "PUT /admin/workspaces/default", { body: { defaults } }));
  const byWorkspace = await route({ by: plain });
  assert.equal(byWorkspace.seed, 3);
  assert.equal((await logOf(gateway, byWorkspace)).config, ofWorkspace);
  assert.equal((await route({ by: own })).seed, 2);
  assert.equal((await route({ by: plain, config: ofRequest })).seed, 1);
  await done(call(gateway, "PUT /admin/workspaces/default", { body: { defaults: { user_api_key_config: null } } }));
});

test("a target the gateway refuses is followed by the next one, and its row names no other provider", async () => {
  const configurations = { custom_host: `${b.url}/v1` };
  const integration = { name: "Old", slug: "old-integration", ai_provider_id: "openai", key: "k", configurations };
  const options = { key, body: { ...integration, create_default_provider: false } };
  await done(call(gateway, "POST /integrations", options));
  const provider = { name: "Old", slug: "old", integration_id: "old-integration", expires_at: "2020-01-01T00:00:00Z" };
  await done(call(gateway, "POST /providers", { key, body: provider }));
  const expired = { provider: "@old" };
  const strategy = { mode: "fallback" };
  const served = await ask(gateway, { config: { strategy, targets: [expired, target("a")] } });
  assert.deepEqual([served.status, served.label], [200, second]);
  a.script(() => faultOf("500"));
  const answer = await ask(gateway, { config: { strategy, targets: [target("a"), expired] } });
  assert.deepEqual([answer.status, answer.code, answer.label], [401, "virtual_key_expired_error", second]);
  const row = await logOf(gateway, answer);
  assert.equal(row.upstream_calls, 1);
  assert.deepEqual(
    row.attempts?.map(({ provider: name, status }) => [name, status]),
    [
      ["openai", 500],
      [null, 401],
    ],
  );
  assert.equal(b.calls.length, 0);
});

test("logs show the same digest of an inline config each time, and never its text", async () => {
  const secret = "obviously-fake-target-credential";
  const config = fallback({ targets: [target("a", { api_key: secret })] });
  const shown = new Set<string | undefined>();
  for (let round = 0; round < 3; round++) {
    const { trace } = await ask(gateway, { config });
    const row = await waitForLog(gateway, trace);
    shown.add(row.request.headers["x-gateway-config"]);
    assert.equal(JSON.stringify(row).includes(secret), false);
  }
  assert.equal(shown.size, 1);
  assert.match([...shown][0] ?? "", /^hmac:[0-9a-f]{12}$/);
});
