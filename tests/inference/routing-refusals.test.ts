import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { type FaultyUpstream, startFaultyUpstream } from "../support/faults.ts";
import { createTestGateway, type HeaderChanges, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { ask, saveConfig, targetOf } from "../support/routed.ts";

let gateway: TestGateway;
let upstream: FaultyUpstream;
before(async () => {
  gateway = await createTestGateway();
  upstream = await startFaultyUpstream();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const leaf = { provider: "openai", api_key: "k" };
const named = { ...leaf, name: "a" };
const nest = (levels: number): object =>
  levels === 0 ? leaf : { strategy: { mode: "single" }, targets: [nest(levels - 1)] };
const many = (count: number) => Array.from({ length: count }, () => leaf);
const choosing = (strategy: object) => ({ strategy: { mode: "conditional", ...strategy }, targets: [named] });
const asked = (query: unknown) => choosing({ conditions: [{ query, then: "a" }], default: "a" });

const notJson = /^Invalid config passed\. You need to pass a valid json$/;

/** Invalid configs: their content, and the message that says why. */
const refused: readonly (readonly [string, object | string, RegExp | string])[] = [
  ["a text", "hello", notJson],
  ["half an object", '{"retry":', notJson],
  ["an empty text", "", notJson],
  ["a list", "[1]", "path: config, message: must be an object"],
  ["a number", "7", "path: config, message: must be an object"],
  ["null", "null", "path: config, message: must be an object"],
  ["an object that says nothing", {}, /^path: config, message: must have a provider/],
  [
    "an unknown provider",
    { provider: "nobody", api_key: "k" },
    "path: provider, message: Invalid provider passed: nobody",
  ],
  ["a provider without a key", { provider: "openai" }, /^path: api_key, message: must be given for openai/],
  [
    "an unknown mode",
    { strategy: { mode: "race" }, targets: [leaf] },
    /^path: strategy\.mode, message: must be single/,
  ],
  ["a strategy without a mode", { strategy: {}, targets: [leaf] }, "path: strategy.mode, message: must be given"],
  ["a strategy without targets", { strategy: { mode: "single" } }, /^path: targets, message: must be given/],
  ["targets without a strategy", { targets: [leaf] }, /^path: strategy, message: must be given/],
  [
    "no targets",
    { strategy: { mode: "single" }, targets: [] },
    /^path: targets, message: must be a list of at least one/,
  ],
  [
    "targets that are no list",
    { strategy: { mode: "single" }, targets: {} },
    /^path: targets, message: must be a list/,
  ],
  [
    "a target that is no object",
    { strategy: { mode: "single" }, targets: ["a"] },
    "path: targets[0], message: must be an object",
  ],
  [
    "no weight",
    { strategy: { mode: "loadbalance" }, targets: [{ ...leaf, weight: 0 }] },
    "path: targets, message: must have a target with weight",
  ],
  [
    "a weight below zero",
    { strategy: { mode: "loadbalance" }, targets: [{ ...leaf, weight: -1 }, leaf] },
    "path: targets[0].weight, message: must be at least 0",
  ],
  ["a retry without attempts", { ...leaf, retry: {} }, "path: retry.attempts, message: must be given"],
  [
    "attempts that are a text",
    { ...leaf, retry: { attempts: "2" } },
    "path: retry.attempts, message: must be a number",
  ],
  [
    "a code that is none",
    { ...leaf, retry: { attempts: 1, on_status_codes: [200, 700] } },
    "path: retry.on_status_codes[1], message: must be at most 599",
  ],
  ["a timeout below zero", { ...leaf, request_timeout: -1 }, "path: request_timeout, message: must be at least 0"],
  [
    "no conditions",
    choosing({ conditions: [], default: "a" }),
    "path: strategy.conditions, message: No conditions passed in the query router",
  ],
  [
    "a condition without a query",
    choosing({ conditions: [{ then: "a" }] }),
    "path: strategy.conditions[0].query, message: must be given",
  ],
  [
    "a condition without a target",
    choosing({ conditions: [{ query: { "params.a": 1 } }] }),
    "path: strategy.conditions[0].then, message: must name a target",
  ],
  [
    "a condition for no target",
    choosing({ conditions: [{ query: { "params.a": 1 }, then: "b" }] }),
    "path: strategy.conditions[0].then, message: Invalid target name found in the query router: b",
  ],
  [
    "a default that names no target",
    choosing({ conditions: [{ query: { "params.a": 1 }, then: "a" }], default: "b" }),
    "path: strategy.default, message: Invalid target name found in the query router: b",
  ],
  ["an empty query", asked({}), "path: strategy.conditions[0].query, message: must name at least one field"],
  [
    "a pattern that is none",
    asked({ "params.a": { $regex: "(" } }),
    /^path: strategy\.conditions\[0\]\.query\.params\.a\.\$regex, message: is not a valid regular expression/,
  ],
  [
    "an unknown operator",
    asked({ "params.a": { $like: "x" } }),
    /message: Unsupported operator used in the query router: \$like$/,
  ],
  ["a list that is none", asked({ "params.a": { $in: "x" } }), /\$in, message: must be a list$/],
  [
    "an unknown field",
    asked({ "headers.a": 1 }),
    /message: must be metadata\.<name>, params\.<name> or url\.pathname$/,
  ],
  ["17 nested strategies", nest(17), /message: must not nest deeper than 16 strategies$/],
  [
    "101 targets",
    { strategy: { mode: "fallback" }, targets: many(101) },
    "path: targets, message: must have at most 100 entries (MAX_ROOT_CONFIG_TARGETS)",
  ],
  [
    "51 targets below one",
    { strategy: { mode: "single" }, targets: [{ strategy: { mode: "fallback" }, targets: many(51) }] },
    "path: targets[0].targets, message: must have at most 50 entries in all (MAX_NESTED_CONFIG_TARGETS)",
  ],
  [
    "10,000 brackets",
    `${"[".repeat(10_000)}${"]".repeat(10_000)}`,
    "path: config, message: has more than 64 levels of nesting",
  ],
  [
    "2,000 nested objects",
    `${'{"override_params":'.repeat(2_000)}1${"}".repeat(2_000)}`,
    "path: config, message: has more than 64 levels of nesting",
  ],
];

for (const [name, config, wanted] of refused) {
  test(`a config that holds ${name} is 400 and says where and why`, async () => {
    const answer = await ask(gateway, { config });
    assert.deepEqual([answer.status, answer.code], [400, "invalid_config"], answer.message);
    assert.match(answer.message, /^Invalid config passed/);
    const lines = wanted === notJson ? [answer.message] : answer.errors;
    const fits = (line: string) => (typeof wanted === "string" ? line === wanted : wanted.test(line));
    assert.ok(lines.some(fits), lines.join("\n"));
    assert.equal(upstream.calls.length, 0);
  });
}

test("an invalid config is refused with all its problems, up to a limit", async () => {
  const config = {
    strategy: { mode: "fallback" },
    targets: Array.from({ length: 80 }, () => ({ provider: "nobody" })),
  };
  const { status, errors, message } = await ask(gateway, { config });
  assert.equal(status, 400);
  assert.equal(errors.length, 50);
  assert.match(message, /targets\[0\]\.provider.*targets\[1\]\.provider.*targets\[2\]\.provider/);
  assert.ok(message.length < 500);
});

for (const [name, config, code, message] of [
  ["an unknown slug", "pc-nothing-000000", "invalid_config_id", /^Invalid config id passed$/],
  [
    "unknown providers",
    { strategy: { mode: "fallback" }, targets: [leaf, { provider: "@gone" }, { virtual_key: "lost" }] },
    "invalid_provider",
    /^Following keys are not valid: gone, lost$/,
  ],
  [
    "a host nobody may call",
    { ...leaf, custom_host: "http://169.254.169.254/v1" },
    "invalid_custom_host",
    /^Invalid custom host/,
  ],
  [
    "a condition for nothing",
    choosing({ conditions: [{ query: { "params.a": 1 }, then: "a" }] }),
    "invalid_config",
    /^Query router did not resolve to any valid target \(config\)$/,
  ],
] as const) {
  test(`a config that names ${name} is 400`, async () => {
    const answer = await ask(gateway, { config });
    assert.deepEqual([answer.status, answer.code], [400, code]);
    assert.match(answer.message, message);
  });
}

test("a saved config of another workspace is not found", async () => {
  const { id } = await done<{ id: string }>(call(gateway, "POST /admin/workspaces", { body: { name: "Elsewhere" } }));
  const body = { name: "Theirs", config: { provider: "echo" }, workspace_id: id };
  const { slug } = await done<{ slug: string }>(call(gateway, "POST /configs", { body }));
  assert.equal((await ask(gateway, { config: slug })).code, "invalid_config_id");
});

/** Request settings that are refused where only saved ones are allowed. */
const inline: readonly (readonly [string, HeaderChanges, string])[] = [
  ["a config", { "x-gateway-config": JSON.stringify(leaf) }, "inline_config_blocked config"],
  ["a config that is no JSON", { "x-gateway-config": "oops" }, "inline_config_blocked config"],
  ["a provider", { "x-gateway-provider": "openai" }, "inline_provider_blocked provider"],
  ["a host", { "x-gateway-custom-host": "https://api.example.com" }, "inline_custom_host_blocked custom-host"],
  [
    "a part of an address",
    { "x-gateway-azure-resource-name": "mine" },
    "inline_provider_url_blocked azure-resource-name",
  ],
  ["a list of headers", { "x-gateway-forward-headers": "x-a" }, "inline_forward_headers_blocked forward-headers"],
  [
    "everything",
    {
      "x-gateway-provider": "openai",
      "x-gateway-custom-host": "https://a.example",
      "x-gateway-forward-headers": "x-a",
    },
    "inline_provider_blocked provider",
  ],
];

/** Switches the mode on for a gateway; returns what switches it off again. */
const switches: Record<string, () => Promise<TestGateway>> = {
  "by the operator": () => createTestGateway({ savedOnly: true }),
  "by the organisation": async () => {
    const made = await createTestGateway();
    const body = { data_plane_security_settings: { block_inline_config: true } };
    const { data } = await done(call<{ data: { id: string } }>(made, "GET /organisations/self"));
    await done(call(made, `PUT /organisations/${data.id}`, { body }));
    return made;
  },
};

for (const [who, make] of Object.entries(switches)) {
  test(`in saved-only mode, ${who}, request settings are refused with 400`, async () => {
    const closed = await make();
    const slug = await saveConfig(closed, targetOf(upstream));
    const send = async (headers: HeaderChanges) => {
      const base = { "x-gateway-api-key": workspaceKey, "content-type": "application/json" };
      const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "Hello" }] });
      const sent = { method: "POST", headers: { ...base, ...headers } as Record<string, string>, body };
      const [chat, passed] = [
        await closed.fetch("/v1/chat/completions", sent),
        await closed.fetch("/v1/evaluations", sent),
      ];
      const { error = {}, status } = JSON.parse(await chat.text());
      await passed.text();
      assert.equal(passed.status, chat.status, "passthrough too");
      return { http: chat.status, shown: `${error.code} ${error.field}`, status };
    };
    for (const [name, headers, wanted] of inline) {
      assert.deepEqual(
        await send({ "x-gateway-config": slug, ...headers }),
        { http: 400, shown: wanted, status: "failure" },
        name,
      );
    }
    assert.equal((await send({ "x-gateway-config": slug })).http, 200);
    assert.equal((await send({ "x-gateway-provider": "@unknown" })).shown, "invalid_provider undefined");
    await closed.close();
  });
}
