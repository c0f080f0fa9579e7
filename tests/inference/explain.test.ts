import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ExplainResponse } from "../../src/schemas/explain.ts";
import { call, done } from "../support/control.ts";
import { adminKey, chat, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

/** Secrets that must not be returned. */
const secrets = {
  inline: "fake-inline-credential-1234567890",
  stored: "fake-stored-credential-1234567890",
  header: "fake-custom-header-value-1234567890",
};
const key = workspaceKey;

let gateway: TestGateway;
let upstream: RecordingUpstream;
/** The next random number of the gateway. */
let drawn = 0;
before(async () => {
  gateway = await createTestGateway({ random: () => drawn });
  upstream = await startRecordingUpstream((_request, response) => response.end("{}"));
  await createProvider("main");
  await createProvider("old", { expires_at: "2020-01-01T00:00:00Z" });
  await createProvider("strict");
  const models = [{ slug: "allowed", enabled: true }];
  const path = "PUT /integrations/strict-integration/models";
  await done(call(gateway, path, { key, body: { models, allow_all_models: false } }));
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** A key of the workspace. */
async function createKey(changes: object): Promise<string> {
  const body = { name: "A key", workspace_id: "default", ...changes };
  const created = await done(call(gateway, "POST /api-keys/workspace/service", { key: adminKey, body }));
  return String(created.key);
}

/** An integration with a provider of the same slug that would call the upstream. */
async function createProvider(slug: string, changes: object = {}, credential: object = { key: secrets.stored }) {
  const configurations = { custom_host: `${upstream.url}/v1`, custom_headers: { "x-tenant": secrets.header } };
  const integration = { name: slug, slug: `${slug}-integration`, ai_provider_id: "openai", configurations };
  const body = { ...integration, ...credential, create_default_provider: false };
  await done(call(gateway, "POST /integrations", { key: "secret_mappings" in credential ? adminKey : key, body }));
  if ("secret_mappings" in credential) {
    const workspaces = [{ id: "default", enabled: true }];
    await done(call(gateway, `PUT /integrations/${slug}-integration/workspaces`, { body: { workspaces } }));
  }
  const provider = { name: slug, slug, integration_id: `${slug}-integration`, ...changes };
  await done(call(gateway, "POST /providers", { key, body: provider }));
}

interface SampleRequest {
  method?: string | undefined;
  path?: string | undefined;
  body?: object;
  headers?: Record<string, string>;
  metadata?: Record<string, string>;
}

const sample: SampleRequest = { body: { model: "m", temperature: 1 } };

/** The plan of a config; requires that nothing is called and no secret is in it. */
async function explain(config: unknown, request: SampleRequest = sample, by = key): Promise<ExplainResponse> {
  const connections = upstream.connections;
  const plan = await done<ExplainResponse>(
    call(gateway, "POST /configs/explain", { key: by, body: { config, request } }),
  );
  assert.equal(upstream.connections, connections);
  const text = JSON.stringify(plan);
  for (const secret of Object.values(secrets)) assert.ok(!text.includes(secret), `${secret} is in the plan`);
  assert.equal(plan.object, "plan");
  return plan;
}

const echo = { provider: "echo" };
const labelsOf = ({ attempts }: ExplainResponse) => attempts.map(({ label }) => label);

/** The only attempt of a plan. */
function only({ attempts }: ExplainResponse): ExplainResponse["attempts"][number] {
  const [attempt] = attempts;
  assert.ok(attempt && attempts.length === 1, `${attempts.length} attempts`);
  return attempt;
}

test("POST /v1/configs/explain shows a config without strategy as one attempt", async () => {
  const plan = await explain({ provider: "openai", api_key: secrets.inline });
  assert.deepEqual(plan, {
    object: "plan",
    attempts: [
      {
        label: "config",
        provider: "openai",
        model: "m",
        host: "https://api.openai.com/v1",
        params: sample.body,
        retry: null,
        timeout_ms: 300_000,
        why: "the config itself",
      },
    ],
    conditions: [],
    warnings: [],
  });
});

const targets = [echo, { provider: "openai", custom_host: "https://two.example/v1" }, { ...echo, weight: 2 }];

test("POST /v1/configs/explain shows no host for echo", async () => {
  assert.equal(only(await explain(echo)).host, null);
});

test("POST /v1/configs/explain: single shows the first target only", async () => {
  const { label, why } = only(await explain({ strategy: { mode: "single" }, targets }));
  assert.deepEqual([label, why], ["config.targets[0]", "the only target of a single strategy"]);
});

test("POST /v1/configs/explain: fallback shows every target in order", async () => {
  const fallback = targets.map((target) => ({ ...target, provider: "echo" }));
  const plan = await explain({ strategy: { mode: "fallback" }, targets: fallback });
  assert.deepEqual(labelsOf(plan), ["config.targets[0]", "config.targets[1]", "config.targets[2]"]);
  const reasons = plan.attempts.map(({ why }) => why);
  assert.deepEqual(reasons, ["first of a fallback", "number 2 of a fallback", "number 3 of a fallback"]);
});

for (const [number, index] of [
  [0, 0],
  [0.25, 1],
  [0.5, 2],
  [0.99, 2],
] as const) {
  test(`POST /v1/configs/explain: loadbalance drawing ${number} of weights 1, 1 and 2 is target ${index}`, async () => {
    drawn = number;
    const balanced = [echo, echo, { ...echo, weight: 2 }];
    const { label, why } = only(await explain({ strategy: { mode: "loadbalance" }, targets: balanced }));
    assert.deepEqual([label, why], [`config.targets[${index}]`, "drawn by weight among 3 targets of total weight 4"]);
  });
}

const asked: SampleRequest = {
  path: "/v1/completions",
  body: { model: "small-1", max_tokens: 100, stream: true },
  metadata: { tier: "free", size: "10" },
};

for (const [operator, holds, fails] of [
  ["an equal value", { "metadata.tier": "free" }, { "metadata.tier": "paid" }],
  ["$eq", { "params.stream": { $eq: true } }, { "params.stream": { $eq: "true" } }],
  ["$ne", { "metadata.tier": { $ne: "paid" } }, { "metadata.tier": { $ne: "free" } }],
  ["$gt", { "params.max_tokens": { $gt: 99 } }, { "params.max_tokens": { $gt: 100 } }],
  ["$gte", { "params.max_tokens": { $gte: 100 } }, { "params.max_tokens": { $gte: 101 } }],
  ["$lt", { "metadata.size": { $lt: 11 } }, { "metadata.size": { $lt: 10 } }],
  ["$lte", { "metadata.size": { $lte: 10 } }, { "metadata.size": { $lte: 9 } }],
  ["$in", { "metadata.tier": { $in: ["free"] } }, { "metadata.tier": { $in: ["paid"] } }],
  ["$nin", { "metadata.tier": { $nin: ["paid"] } }, { "metadata.tier": { $nin: ["free"] } }],
  ["$regex", { "params.model": { $regex: "^small" } }, { "params.model": { $regex: "^large" } }],
  ["$and", { $and: [{ "metadata.tier": "free" }, { "params.stream": true }] }, { $and: [{ "metadata.tier": "x" }] }],
  ["$or", { $or: [{ "metadata.tier": "x" }, { "params.stream": true }] }, { $or: [{ "metadata.tier": "x" }] }],
  ["url.pathname", { "url.pathname": "/v1/completions" }, { "url.pathname": "/v1/embeddings" }],
] as const) {
  test(`conditional: ${operator} is reported with why`, async () => {
    const conditions = [
      { query: fails, then: "one" },
      { query: holds, then: "two" },
      { query: holds, then: "one" },
    ];
    const named = [
      { ...echo, name: "one" },
      { ...echo, name: "two" },
    ];
    const plan = await explain({ strategy: { mode: "conditional", conditions }, targets: named }, asked);
    const label = "config";
    assert.deepEqual(plan.conditions, [
      { label, query: fails, matched: false, why: "a part of the query does not match" },
      { label, query: holds, matched: true, why: "every part of the query matches: two" },
    ]);
    const { label: place, why } = only(plan);
    assert.deepEqual([place, why], ["config.targets[1]", "condition for two matched"]);
  });
}

const byTier = {
  strategy: { mode: "conditional", conditions: [{ query: { "metadata.tier": "paid" }, then: "b" }], default: "a" },
  targets: [
    { ...echo, name: "a" },
    { ...echo, name: "b" },
  ],
};

test("POST /v1/configs/explain: conditional shows the default, and reads metadata from wherever a request has it", async () => {
  const { label, why } = only(await explain(byTier));
  assert.deepEqual([label, why], ["config.targets[0]", "no condition matched: the default"]);
  const paid = JSON.stringify({ tier: "paid" });
  for (const request of [
    { metadata: { tier: "paid" } },
    { headers: { "x-gateway-metadata": paid } },
    { headers: { baggage: "tier=paid" } },
  ]) {
    assert.equal(only(await explain(byTier, request)).label, "config.targets[1]");
  }
});

test("POST /v1/configs/explain: metadata of the key wins over the sample's, as for a request", async () => {
  const by = await createKey({ scopes: ["completions.write"], defaults: { metadata: { tier: "paid" } } });
  const plan = await explain(byTier, { metadata: { tier: "free" } }, by);
  assert.equal(only(plan).label, "config.targets[1]");
});

test("POST /v1/configs/explain: nested strategies decide separately", async () => {
  drawn = 0.9;
  const plan = await explain(
    {
      strategy: { mode: "fallback" },
      targets: [{ strategy: { mode: "loadbalance" }, targets: [echo, echo] }, byTier, echo],
    },
    { metadata: { tier: "paid" } },
  );
  assert.deepEqual(labelsOf(plan), [
    "config.targets[0].targets[1]",
    "config.targets[1].targets[1]",
    "config.targets[2]",
  ]);
  assert.deepEqual(
    plan.conditions.map(({ label, matched }) => [label, matched]),
    [["config.targets[1]", true]],
  );
});

test("POST /v1/configs/explain explains a saved config by its slug", async () => {
  const config = { strategy: { mode: "fallback" }, targets: [echo, echo] };
  const { slug } = await done(call(gateway, "POST /configs", { key, body: { name: "Saved", config } }));
  assert.deepEqual(labelsOf(await explain(slug)), ["config.targets[0]", "config.targets[1]"]);
});

for (const [name, config, body] of [
  ["@slug", { provider: "@main" }, { model: "m" }],
  ["virtual_key", { virtual_key: "main" }, { model: "m" }],
  ["@slug/model in the request", { provider: "@main" }, { model: "@main/m" }],
  ["@slug/model in the config", { override_params: { model: "@main/m" } }, { model: "other" }],
  ["a provider with a model", { provider: "@main/m" }, {}],
] as const) {
  test(`POST /v1/configs/explain shows the plain model for a stored provider named by ${name}`, async () => {
    const plan = await explain(config, { body });
    const { provider, model, host, params } = only(plan);
    assert.deepEqual(
      { provider, model, host, params, warnings: plan.warnings },
      { provider: "openai", model: "m", host: `${upstream.url}/v1`, params: { model: "m" }, warnings: [] },
    );
  });
}

test("POST /v1/configs/explain: a passthrough target takes its provider from the sample's headers", async () => {
  const config = { strategy: { mode: "single" }, targets: [{ passthrough: true }] };
  const headers = { "x-gateway-provider": "openai", authorization: `Bearer ${secrets.inline}` };
  const plan = await explain(config, { ...sample, headers });
  assert.deepEqual([only(plan).provider, plan.warnings], ["openai", []]);
  const stored = await explain(config, { ...sample, headers: { "x-gateway-virtual-key": "main" } });
  assert.equal(only(stored).host, `${upstream.url}/v1`);
  const { warnings } = await explain(config);
  assert.match(warnings[0] ?? "", /^config\.targets\[0\]: Either x-gateway-config or x-gateway-provider/);
});

test("POST /v1/configs/explain merges parameters of all levels and takes settings from the nearest", async () => {
  const config = {
    override_params: { a: 1, b: 1 },
    default_params: { temperature: 0, c: 1 },
    drop_params: ["user"],
    retry: { attempts: 2, on_status_codes: [429] },
    request_timeout: 5_000,
    custom_host: "https://outer.example",
    strategy: { mode: "fallback" },
    targets: [
      { ...echo, override_params: { b: 2 }, default_params: { d: 2 }, drop_params: ["tools[0].strict"] },
      { ...echo, retry: { attempts: 1 }, request_timeout: 100, custom_host: "https://inner.example/v1" },
    ],
  };
  const body = { model: "m", temperature: 1, user: "u", tools: [{ name: "t", strict: true }] };
  const { attempts } = await explain(config, { body });
  const tools = [{ name: "t", strict: true }];
  assert.deepEqual(
    attempts.map(({ params }) => params),
    [
      { model: "m", temperature: 1, tools: [{ name: "t" }], c: 1, d: 2, a: 1, b: 2 },
      { model: "m", temperature: 1, tools, c: 1, a: 1, b: 1 },
    ],
  );
  assert.deepEqual(
    attempts.map(({ retry, timeout_ms, host }) => ({ retry, timeout_ms, host })),
    [
      { retry: { attempts: 2, on_status_codes: [429] }, timeout_ms: 5_000, host: "https://outer.example" },
      {
        retry: { attempts: 1, on_status_codes: [429, 500, 502, 503, 504, 529] },
        timeout_ms: 100,
        host: "https://inner.example/v1",
      },
    ],
  );
});

test("POST /v1/configs/explain applies the sample's headers as in a request", async () => {
  const headers = { "x-gateway-request-timeout": "1234", "x-gateway-custom-host": "https://asked.example" };
  const { timeout_ms, host } = only(await explain({ ...echo, request_timeout: 5 }, { ...sample, headers }));
  assert.deepEqual([timeout_ms, host], [1234, "https://asked.example"]);
});

test("POST /v1/configs/explain accepts other prefixes of gateway headers in a sample", async () => {
  const other = await createTestGateway({ headerAliases: ["x-acme-"] });
  try {
    const request = { headers: { "x-acme-request-timeout": "77" } };
    const plan = done<ExplainResponse>(call(other, "POST /configs/explain", { key, body: { config: echo, request } }));
    assert.equal(only(await plan).timeout_ms, 77);
  } finally {
    await other.close();
  }
});

test("POST /v1/configs/explain shows passthrough requests unchanged, with conditions on all of them", async () => {
  const conditions = [
    { query: { "params.input": "Bye" }, then: "a" },
    { query: { "params.input": "Hello" }, then: "b" },
  ];
  const config = {
    override_params: { model: "other" },
    strategy: { mode: "conditional", conditions },
    targets: [
      { ...echo, name: "a" },
      { provider: "@main", name: "b" },
    ],
  };
  const body = { model: "m", input: "Hello" };
  const plan = await explain(config, { path: "/v1/evaluations", body });
  const { label, params, model } = only(plan);
  assert.deepEqual({ label, params, model }, { label: "config.targets[1]", params: body, model: "m" });
  assert.deepEqual(plan.warnings, []);
});

for (const [name, config, request, warning] of [
  ["an expired provider", { provider: "@old" }, sample, "config: Cannot use the provider old: it has expired"],
  [
    "a model that is not allowed",
    { provider: "@strict" },
    sample,
    "config: Cannot call m: the provider strict does not allow this model",
  ],
  [
    "a model that is not allowed where bodies pass through",
    { provider: "@strict" },
    { ...sample, path: "/v1/evaluations" },
    "config: Cannot call m: the provider strict does not allow this model",
  ],
  [
    "a provider without network",
    echo,
    { ...sample, path: "/v1/evaluations" },
    "config: Cannot forward this path to echo: it runs inside the gateway",
  ],
  [
    "a provider without the operation",
    echo,
    { ...sample, path: "/v1/rerank" },
    "config: Cannot call rerank on echo: this provider does not have it",
  ],
  [
    "a custom host beside a stored provider",
    { provider: "@main", custom_host: "https://other.example" },
    sample,
    "config: Cannot use custom_host of config with a stored provider: set it on the integration",
  ],
] as [string, object, SampleRequest, string][]) {
  test(`POST /v1/configs/explain warns of a target that cannot be used: ${name}`, async () => {
    const plan = await explain(config, request);
    assert.deepEqual([labelsOf(plan), plan.warnings], [["config"], [warning]]);
  });
}

const ofOpenai = { provider: "openai", api_key: "k" };
const fixedHosts = { openai: "https://api.openai.com/v1", cohere: "https://api.cohere.ai" };

for (const [route, request, config, wanted] of [
  [
    "POST /v1beta/models/gemini-9:generateContent",
    { body: { contents: [] } },
    ofOpenai,
    { model: "gemini-9", params: { contents: [], model: "gemini-9" } },
  ],
  [
    "POST /v1/models/a%2Fb:streamGenerateContent",
    { body: { contents: [] } },
    { ...ofOpenai, override_params: { model: "c" } },
    { model: "c", params: { contents: [], model: "c", stream: true } },
  ],
  ["POST /v1beta/models/m:batchEmbedContents", {}, ofOpenai, { model: "m", params: { model: "m" } }],
  ["POST /v1/images/generations", sample, { ...ofOpenai, drop_params: ["temperature"] }, { params: { model: "m" } }],
  ["POST /v1/audio/transcriptions", sample, { ...ofOpenai, drop_params: ["temperature"] }, { params: { model: "m" } }],
  ["GET /v1/realtime?model=r", {}, ofOpenai, { model: "r", params: { model: "r" } }],
  ["GET /v1/realtime", sample, { ...ofOpenai, override_params: { model: "s" } }, { model: "s" }],
  ["GET /v1/realtime?model=r", {}, { provider: "cohere", api_key: "k" }, "Cannot call realtime on cohere"],
  ["GET /v1/models", {}, ofOpenai, { model: null, params: {} }],
  ["POST /v1/assistants", sample, ofOpenai, { model: "m", params: sample.body }],
  ["POST /v1/threads/t/runs", sample, { provider: "cohere", api_key: "k" }, "Cannot call create_run on cohere"],
  ["GET /v1/vector_stores", {}, { provider: "cohere", api_key: "k" }, "Cannot call list_vector_stores on cohere"],
  ["GET /v1/videos/v", {}, echo, "Cannot forward this path to echo"],
  ["GET /v1/files", {}, ofOpenai, { params: {} }],
  ["DELETE /v1/files/f", {}, ofOpenai, { params: {} }],
  ["POST /v1/batches", { body: { input_file_id: "f" } }, ofOpenai, { params: { input_file_id: "f" } }],
  ["POST /v1/batches", {}, { provider: "cohere", api_key: "k" }, { params: {} }],
  ["POST /v1/fine_tuning/jobs", {}, { provider: "cohere", api_key: "k" }, "Cannot call createFinetune on cohere"],
  ["POST /v1/responses/input_tokens", sample, ofOpenai, { params: sample.body }],
] as [string, SampleRequest, { provider: keyof typeof fixedHosts }, object | string][]) {
  test(`${route} at ${config.provider} is explained like the real call`, async () => {
    const [method, path] = route.split(" ");
    const { attempts, warnings } = await explain(config, { ...request, method, path });
    const [attempt] = attempts;
    if (typeof wanted === "string") return assert.match(warnings[0] ?? "", new RegExp(`^config: ${wanted}`));
    assert.deepEqual(warnings, []);
    const expected: Record<string, unknown> = { host: fixedHosts[config.provider], ...wanted };
    const shown: Record<string, unknown> = { ...attempt };
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, shown[name]])), expected);
  });
}

test("POST /v1/configs/explain: a path without a method means the endpoint with a body", async () => {
  const path = "/v1/vector_stores";
  const { warnings } = await explain({ provider: "cohere", api_key: "k" }, { path });
  assert.match(warnings[0] ?? "", /create_vector_store/);
});

test("POST /v1/configs/explain: a realtime session is opened at the first target only", async () => {
  const config = { strategy: { mode: "fallback" }, targets: [ofOpenai, ofOpenai] };
  const plan = await explain(config, { path: "/v1/realtime?model=r" });
  assert.deepEqual(labelsOf(plan), ["config.targets[0]"]);
});

test("POST /v1/configs/explain warns of decisions only where they cannot be made of chats either", async () => {
  const path = "/v1/decisions";
  const targets = [echo, { provider: "typesafe", api_key: "k" }, { provider: "jina", api_key: "k" }];
  const plan = await explain({ strategy: { mode: "fallback" }, targets }, { path, body: { model: "m" } });
  assert.deepEqual(plan.warnings, ["config.targets[2]: Cannot call decide on jina: this provider does not have it"]);
});

test("POST /v1/configs/explain leaves out a target with an open circuit breaker and says so", async () => {
  const other = await createTestGateway();
  const config = {
    strategy: { mode: "fallback", cb_config: { failure_threshold: 1 } },
    targets: [
      { ...echo, api_key: "a", override_params: { model: "" } },
      { ...echo, api_key: "b" },
    ],
  };
  const headers = { "x-gateway-config": JSON.stringify(config), "x-gateway-provider": null };
  try {
    const { status } = await chat(other, undefined, { ...headers, "x-gateway-echo-status": "500" });
    assert.equal(status, 500);
    // a second circuit breaker opens with the first: both are called
    const both = { key, body: { config, request: sample } };
    const plan = await done<ExplainResponse>(call(other, "POST /configs/explain", both));
    assert.deepEqual(labelsOf(plan), ["config.targets[0]", "config.targets[1]"]);
    const third = { ...config, targets: [...config.targets, { ...echo, api_key: "c" }] };
    const body = { config: third, request: sample };
    const left = await done<ExplainResponse>(call(other, "POST /configs/explain", { key, body }));
    assert.deepEqual(labelsOf(left), ["config.targets[2]"]);
    assert.deepEqual(left.warnings, [
      "config.targets[0]: left out, its circuit breaker is open",
      "config.targets[1]: left out, its circuit breaker is open",
    ]);
  } finally {
    await other.close();
  }
});

interface Refused {
  message: string;
  errors?: string[];
  error: { code: string | null };
}

async function refuse(body: unknown, by = key): Promise<{ status: number; code: string | null; errors: string[] }> {
  const answer = await call<Refused>(gateway, "POST /configs/explain", { key: by, body });
  const { error, errors = [] } = answer.body;
  return { status: answer.status, code: error.code, errors };
}

test("POST /v1/configs/explain refuses an invalid config with all its problems", async () => {
  const config = { strategy: { mode: "any" }, targets: [{ provider: "nobody" }, { ...echo, weight: -1 }] };
  assert.deepEqual(await refuse({ config, request: sample }), {
    status: 400,
    code: "invalid_config",
    errors: [
      "path: strategy.mode, message: must be single, fallback, loadbalance, conditional or auto",
      "path: targets[0].provider, message: Invalid provider passed: nobody",
      "path: targets[1].weight, message: must be at least 0",
    ],
  });
});

const withUnknown = { strategy: { mode: "single" }, targets: [echo, { provider: "@no" }] };

for (const [name, body, code] of [
  ["an unknown slug", { config: "pc-nothing-000000", request: sample }, "invalid_config_id"],
  ["a text that is no config", { config: "nothing", request: sample }, "invalid_config"],
  ["an unknown @slug in a target that is not chosen", { config: withUnknown, request: sample }, "invalid_provider"],
  ["an unknown stored provider", { config: { provider: "@no" }, request: sample }, "invalid_provider"],
  ["a refused host", { config: { ...echo, custom_host: "http://10.0.0.1" }, request: sample }, "invalid_custom_host"],
  ["no request", { config: echo }, "invalid_body"],
  ["a list", { config: [echo], request: sample }, "invalid_config"],
  ["a path with a fragment", { config: echo, request: { path: "/v1/models#a" } }, "invalid_body"],
  ["a path with a backslash", { config: echo, request: { path: "/v1/a%5cb" } }, "invalid_body"],
  ["a malformed path", { config: echo, request: { path: "/v1/files/%zz" } }, "invalid_body"],
  ["a saved prompt", { config: echo, request: { path: "/v1/prompts/pp-x/completions" } }, "invalid_body"],
  ["another method", { config: echo, request: { method: "PATCH" } }, "invalid_body"],
  [
    "a Gemini body with another model than the path",
    { config: echo, request: { path: "/v1beta/models/a:embedContent", body: { model: "b" } } },
    "invalid_model",
  ],
  ["a header with a line end", { config: echo, request: { headers: { a: "b\nc" } } }, "invalid_body"],
  ["metadata that are no texts", { config: echo, request: { metadata: { a: 1 } } }, "invalid_body"],
  ["a bad timeout", { config: echo, request: { headers: { "x-gateway-request-timeout": "0" } } }, "invalid_header"],
  [
    "several targets for files",
    { config: { strategy: { mode: "fallback" }, targets: [echo, echo] }, request: { path: "/v1/files" } },
    "invalid_config",
  ],
  [
    "conditions that lead nowhere",
    { config: { ...byTier, strategy: { ...byTier.strategy, default: undefined } }, request: {} },
    "invalid_config",
  ],
] as const) {
  test(`${name} is refused with 400`, async () => {
    const { status, code: found } = await refuse(body);
    assert.deepEqual([status, found], [400, code]);
  });
}

test("POST /v1/configs/explain refuses keys of the organisation and keys without the scope with 403", async () => {
  const body = { config: echo, request: sample };
  assert.deepEqual(await refuse(body, adminKey), { status: 403, code: "AB03", errors: [] });
  for (const [scope, status] of [
    ["logs.view", 403],
    ["configs.read", 200],
    ["completions.write", 200],
  ] as const) {
    const by = await createKey({ scopes: [scope] });
    assert.equal((await call(gateway, "POST /configs/explain", { key: by, body })).status, status, scope);
  }
});

test("POST /v1/configs/explain remembers nothing: the next request draws a target itself", async () => {
  const strategy = { mode: "loadbalance", sticky: { enabled: true, hash_fields: ["metadata.user"] } };
  const config = { strategy, targets: [echo, echo] };
  const request = { metadata: { user: "u1" } };
  drawn = 0;
  const before = only(await explain(config, request));
  assert.equal(before.label, "config.targets[0]");
  drawn = 0.9;
  const response = await chat(gateway, undefined, {
    "x-gateway-config": JSON.stringify(config),
    "x-gateway-provider": null,
    "x-gateway-metadata": JSON.stringify(request.metadata),
  });
  assert.equal(response.headers.get("x-gateway-last-used-option-index"), "config.targets[1]");
  // the choice of an earlier request is shown, whatever would be drawn now
  drawn = 0;
  const { label, why } = only(await explain(config, request));
  assert.deepEqual([label, why], ["config.targets[1]", "remembered (sticky)"]);
});

test("POST /v1/configs/explain: a remembered choice does not count for another config of the key", async () => {
  const strategy = { mode: "loadbalance", sticky: { enabled: true } };
  const config = { strategy, targets: [echo, echo] };
  drawn = 0;
  const headers = { "x-gateway-config": JSON.stringify(config), "x-gateway-provider": null };
  assert.equal((await chat(gateway, undefined, headers)).status, 200);
  drawn = 0.9;
  assert.equal(only(await explain(config)).label, "config.targets[0]");
  assert.equal(only(await explain({ ...config, request_timeout: 9 })).label, "config.targets[1]");
});

test("POST /v1/configs/explain does not read external secret stores", async () => {
  const auth_config = { vault_auth_type: "token", vault_addr: upstream.url, vault_token: "hvs.token-0000000001" };
  const reference = { name: "Vault", slug: "vault", manager_type: "hashicorp_vault", auth_config };
  await done(call(gateway, "POST /secret-references", { body: { ...reference, secret_path: "secret/data/openai" } }));
  const secret_mappings = [{ target_field: "key", secret_reference_id: "vault" }];
  await createProvider("outside", {}, { secret_mappings });
  const plan = await explain({ provider: "@outside" });
  assert.deepEqual([only(plan).host, plan.warnings], [`${upstream.url}/v1`, []]);
  const connections = upstream.connections;
  await chat(gateway, undefined, { "x-gateway-provider": "@outside" });
  assert.ok(upstream.connections > connections);
});

for (const [config, body, tools] of [
  [{ provider: "groq", api_key: "k" }, {}, undefined],
  [{ provider: "groq", api_key: "k" }, { web_search_options: {} }, { web_search: "targets" }],
  [{ provider: "groq", api_key: "k", server_tools: search() }, { web_search_options: {} }, { web_search: "gateway" }],
  [
    { provider: "perplexity-ai", api_key: "k", server_tools: search() },
    { web_search_options: {} },
    { web_search: "targets" },
  ],
] as const) {
  test(`explain says who searches for ${JSON.stringify(body)} with ${JSON.stringify(config)}`, async () => {
    const plan = await explain(config, { body: { model: "m", messages: [], ...body } });
    assert.deepEqual(plan.server_tools, tools);
  });
}

function search() {
  return { web_search: { model: "@main/auto" } };
}
