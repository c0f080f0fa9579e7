import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { findTargetExcess } from "../../src/routing/read-config.ts";
import { type Json, linesOf, problemsOf, seeded, toConfig } from "../support/routing.ts";

const leaf = { provider: "@a" };

function toCamel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

const noCache = { mode: "simple", maxAgeSeconds: undefined, join: false, problem: undefined };

/** A value of each member of a node, and what is read of it. */
const nodeMembers: readonly (readonly [name: string, written: unknown, member: string, read: unknown])[] = [
  ["name", "n", "name", "n"],
  ["provider", "@slug", "provider", "@slug"],
  ["virtual_key", "slug", "virtualKey", "slug"],
  ["api_key", "sk", "apiKey", "sk"],
  ["prompt_id", "p", "promptId", "p"],
  ["weight", 0.25, "weight", 0.25],
  ["weight", 0, "weight", 0],
  ["request_timeout", 5, "requestTimeoutMs", 5],
  ["request_timeout", 0, "requestTimeoutMs", undefined],
  ["total_timeout", 5, "totalTimeoutMs", 5],
  ["stream_idle_timeout", 5, "streamIdleTimeoutMs", 5],
  ["custom_host", "https://a.example", "customHost", "https://a.example"],
  ["forward_headers", ["X-One", "x-two"], "forwardHeaders", ["x-one", "x-two"]],
  ["override_params", { maxTokens: 1, max_tokens: 2 }, "overrideParams", { maxTokens: 1, max_tokens: 2 }],
  ["default_params", { aB: { cD: 1 } }, "defaultParams", { aB: { cD: 1 } }],
  ["drop_params", ["aB.cD"], "dropParams", ["aB.cD"]],
  ["requires", ["tools"], "requires", ["tools"]],
  ["requires", [], "requires", []],
  ["passthrough", true, "passthrough", true],
  ["strict_open_ai_compliance", false, "strict", false],
  ["fetch_integrated_models", true, "fetchIntegratedModels", true],
  ["metadata", { aB: 1 }, "metadata", Object.assign(Object.create(null), { aB: "1" })],
  ["cache", { mode: "semantic", max_age: 60 }, "cache", { ...noCache, mode: "semantic", maxAgeSeconds: 60 }],
  ["cache", { mode: "simple", join: true }, "cache", { ...noCache, join: true }],
  ["cache", "simple", "cache", noCache],
  [
    "labels",
    { region: "eu", zero_retention: true, team: "a" },
    "labels",
    { region: "eu", zero_retention: true, team: "a" },
  ],
  ["require_labels", { region: ["eu", "ch"] }, "requireLabels", { region: ["eu", "ch"] }],
  ["prompt_cache", true, "promptCache", { ttl: undefined }],
  ["prompt_cache", false, "promptCache", false],
  ["prompt_cache", { ttl: "1h" }, "promptCache", { ttl: "1h" }],
  [
    "retry",
    { attempts: 2, on_status_codes: [500], use_retry_after_headers: true },
    "retry",
    { attempts: 2, onStatusCodes: [500], useRetryAfter: true },
  ],
];

for (const [name, written, member, read] of nodeMembers) {
  for (const spelling of new Set([name, toCamel(name)])) {
    test(`readConfig() reads ${spelling}: ${JSON.stringify(written)}`, () => {
      // requests name their prompt in the path: a config with one cannot be saved
      for (const strict of name === "prompt_id" ? [false] : [false, true]) {
        const config = toConfig({ ...(name === "provider" ? {} : leaf), [spelling]: written }, strict);
        assert.deepEqual(config[member as keyof typeof config], read);
      }
    });
  }
}

const hookNames = [
  "before_request_hooks",
  "after_request_hooks",
  "input_guardrails",
  "output_guardrails",
  "input_mutators",
  "output_mutators",
];

for (const name of hookNames) {
  test(`readConfig() reads ${name} as it is written, in both spellings`, () => {
    const written = [{ id: "h", checks: [{ id: "c", parameters: { someName: 1 } }] }];
    for (const spelling of [name, toCamel(name)]) {
      assert.deepEqual(toConfig({ [spelling]: written }, true).hooks, { [name]: written });
    }
  });
}

/** Members of providers, as the reference lists them. */
const providerNames = [
  "openai_organization",
  "openai_project",
  "openai_beta",
  "resource_name",
  "deployment_id",
  "api_version",
  "deployments",
  "azure_auth_mode",
  "azure_ad_token",
  "azure_entra_client_id",
  "azure_entra_client_secret",
  "azure_entra_tenant_id",
  "azure_entra_scope",
  "azure_managed_client_id",
  "azure_workload_client_id",
  "azure_model_name",
  "azure_region",
  "azure_deployment_name",
  "azure_deployment_type",
  "azure_endpoint_name",
  "azure_api_version",
  "azure_foundry_url",
  "azure_extra_parameters",
  "aws_access_key_id",
  "aws_region",
  "aws_secret_access_key",
  "aws_session_token",
  "aws_auth_type",
  "aws_role_arn",
  "aws_external_id",
  "aws_s3_bucket",
  "aws_s3_object_key",
  "aws_bedrock_model",
  "aws_server_side_encryption",
  "aws_server_side_encryption_kms_key_id",
  "amzn_sagemaker_model_name",
  "vertex_project_id",
  "vertex_region",
  "vertex_service_account_json",
  "vertex_auth_type",
  "vertex_storage_bucket_name",
  "vertex_batch_endpoint",
  "vertex_skip_ptu_cost_attribution",
  "anthropic_beta",
  "anthropic_version",
  "anthropic_api_key",
  "workers_ai_account_id",
  "huggingface_base_url",
  "stability_client_id",
  "stability_client_user_id",
  "stability_client_version",
  "fireworks_account_id",
  "snowflake_account",
  "mistral_fim_completion",
  "oracle_api_version",
  "oracle_region",
  "oracle_compartment_id",
  "oracle_serving_mode",
  "oracle_tenancy",
  "oracle_user",
  "oracle_fingerprint",
  "oracle_private_key",
  "oracle_key_passphrase",
  "databricks_workspace",
  "modal_key",
  "modal_secret",
  "oauth",
];

test("readConfig() reads every member of a provider in both spellings, and leaves its value alone", () => {
  const value = { someKey: { other_key: 1 } };
  for (const name of providerNames) {
    for (const spelling of [name, toCamel(name)]) {
      assert.deepEqual(toConfig({ ...leaf, [spelling]: value }, true).providerSettings, { [name]: value }, spelling);
    }
  }
});

const group = (strategy: unknown, targets: unknown = [leaf, leaf], more: Json = {}): Json => ({
  ...more,
  strategy,
  targets,
});

for (const [written, expected] of [
  [{ mode: "single" }, { mode: "single", breaker: undefined }],
  [{ mode: "fallback" }, { mode: "fallback", breaker: undefined, onStatusCodes: undefined, onErrorCodes: undefined }],
  [
    { mode: "fallback", on_status_codes: [] },
    { mode: "fallback", breaker: undefined, onStatusCodes: [], onErrorCodes: undefined },
  ],
  [
    { mode: "fallback", onStatusCodes: [429] },
    { mode: "fallback", breaker: undefined, onStatusCodes: [429], onErrorCodes: undefined },
  ],
  [
    { mode: "fallback", on_error_codes: ["timeout", "empty"] },
    { mode: "fallback", breaker: undefined, onStatusCodes: undefined, onErrorCodes: ["timeout", "empty"] },
  ],
  [
    { mode: "loadbalance" },
    { mode: "loadbalance", breaker: undefined, sticky: undefined, affinity: false, balance: undefined },
  ],
  [
    { mode: "loadbalance", affinity: true, sticky: { enabled: false, hash_fields: ["metadata.a"] } },
    { mode: "loadbalance", breaker: undefined, sticky: undefined, affinity: true, balance: undefined },
  ],
  ...["hash_fields", "hashFields"].map(
    (name) =>
      [
        { mode: "loadbalance", sticky: { enabled: true, [name]: ["metadata.a", "headers.b"], ttl: 5 } },
        {
          mode: "loadbalance",
          breaker: undefined,
          sticky: { hashFields: ["metadata.a", "headers.b"], ttlSeconds: 5 },
          affinity: false,
          balance: undefined,
        },
      ] as const,
  ),
  [
    { mode: "loadbalance", sticky: { enabled: true } },
    {
      mode: "loadbalance",
      breaker: undefined,
      sticky: { hashFields: [], ttlSeconds: 3_600 },
      affinity: false,
      balance: undefined,
    },
  ],
  ...["cb_config", "cbConfig"].map(
    (name) =>
      [
        {
          mode: "single",
          [name]: {
            failureThreshold: 2,
            failure_threshold_percentage: 50,
            minimumRequests: 3,
            cooldownInterval: 40_000,
            failureStatusCodes: [500],
          },
        },
        {
          mode: "single",
          breaker: {
            failureThreshold: 2,
            failureThresholdPercentage: 50,
            minimumRequests: 3,
            cooldownMs: 40_000,
            failureStatusCodes: [500],
          },
        },
      ] as const,
  ),
] as const) {
  test(`readConfig() reads the strategy ${JSON.stringify(written)}`, () => {
    for (const strict of [false, true]) assert.deepEqual(toConfig(group(written), strict).strategy, expected);
  });
}

test("readConfig() leaves the names in a query alone, and compares names of targets by their characters", () => {
  const query = { "metadata.someKey": { $eq: 1 }, "params.other_key": 2 };
  const targets = [
    { ...leaf, name: "e\u0301" },
    { ...leaf, name: "b" },
  ];
  const { strategy } = toConfig(
    group(
      {
        mode: "conditional",
        conditions: [
          { query, then: "\u00e9" },
          { query, then: "e\u0301" },
        ],
        default: "b",
      },
      targets,
    ),
    true,
  );
  assert.ok(strategy?.mode === "conditional");
  assert.deepEqual(
    strategy.conditions.map(({ written, then }) => ({ written, then })),
    [
      { written: query, then: "\u00e9" },
      { written: query, then: "\u00e9" },
    ],
  );
});

test("readConfig() labels nodes by their place", () => {
  const config = toConfig(group({ mode: "fallback" }, [leaf, group({ mode: "single" })]));
  const paths = [config, ...config.targets, ...(config.targets[1]?.targets ?? [])].map(({ path }) => path);
  assert.deepEqual(paths, [
    "config",
    "config.targets[0]",
    "config.targets[1]",
    "config.targets[1].targets[0]",
    "config.targets[1].targets[1]",
  ]);
});

for (const [what, written, expected] of [
  ["the default codes of a retry", { retry: { attempts: 1 } }, [429, 500, 502, 503, 504, 529]],
  ["own codes of a retry", { retry: { attempts: 1, on_status_codes: [418] } }, [418]],
] as const) {
  test(`readConfig() accepts ${what}`, () => {
    assert.deepEqual(toConfig(written).retry?.onStatusCodes, expected);
  });
}

for (const name of [
  "use_retry_after_header",
  "use_retry_after_headers",
  "useRetryAfterHeader",
  "useRetryAfterHeaders",
]) {
  test(`readConfig() reads ${name}`, () => {
    assert.equal(toConfig({ retry: { attempts: 1, [name]: true } }, true).retry?.useRetryAfter, true);
  });
}

for (const [written, path] of [
  [{ ...leaf, requestTimeout: 1, request_timeout: 2 }, "request_timeout"],
  [{ ...leaf, request_timeout: 2, requestTimeout: 1 }, "request_timeout"],
] as const) {
  test(`readConfig() lets snake_case win over camelCase at a request: ${Object.keys(written).join()}`, () => {
    assert.equal(toConfig(written).requestTimeoutMs, 2);
    assert.deepEqual(linesOf(written, true), [`${path}: is written in two spellings`]);
  });
}

test("readConfig() refuses two spellings before a config is saved, wherever they stand", () => {
  const both = { attempts: 1, onStatusCodes: [1_000], on_status_codes: [500] };
  const sticky = { enabled: true, hashFields: [], hash_fields: ["headers.a"] };
  const written = group({ mode: "loadbalance", sticky }, [{ ...leaf, retry: both }]);
  assert.deepEqual(linesOf(written, true), [
    "strategy.sticky.hash_fields: is written in two spellings",
    "targets[0].retry.on_status_codes: is written in two spellings",
  ]);
  assert.deepEqual(toConfig(written).targets[0]?.retry?.onStatusCodes, [500]);
});

test("readConfig() ignores members nobody knows at a request, and names them before saving", () => {
  const written = group({ mode: "fallback", extra: 1, cb_config: { failure_threshold: 1, window: 2 } }, [
    { ...leaf, unknown_one: 1, retry: { attempts: 1, jitter: true }, cache: { mode: "simple", size: 1 } },
  ]);
  toConfig(written);
  assert.deepEqual(linesOf(written, true), [
    "strategy.extra: is not a member of a config",
    "strategy.cb_config.window: is not a member of a config",
    "targets[0].unknown_one: is not a member of a config",
    "targets[0].retry.jitter: is not a member of a config",
    "targets[0].cache.size: is not a member of a config",
  ]);
});

for (const [cache, message, read] of [
  [
    "exact",
    "cache.mode: must be simple or semantic",
    { mode: "off", problem: "cache.mode must be simple or semantic" },
  ],
  [
    { mode: "simple", max_age: "1h" },
    "cache.max_age: must be a number",
    { mode: "off", problem: "cache.max_age must be a number" },
  ],
  [{ mode: "simple", max_age: 59 }, "cache.max_age: must be at least 60", { maxAgeSeconds: 60 }],
  [{ mode: "simple", max_age: 1e9 }, "cache.max_age: must be at most 7776000", { maxAgeSeconds: 7_776_000 }],
  [{ mode: "semantic", maxAge: -5 }, "cache.max_age: must be at least 60", { mode: "semantic", maxAgeSeconds: 60 }],
] as const) {
  test(`readConfig() refuses to save the cache ${JSON.stringify(cache)}, and a request goes on`, () => {
    assert.deepEqual(linesOf({ ...leaf, cache }, true), [message]);
    assert.deepEqual(toConfig({ ...leaf, cache }).cache, { ...noCache, ...read });
  });
}

test("readConfig() accepts null for absent", () => {
  const written = { ...leaf, retry: null, cache: null, weight: null, name: null, strategy: null, targets: null };
  const { retry, cache, weight, name } = toConfig(written, true);
  assert.deepEqual([retry, cache, weight, name], [undefined, undefined, 1, undefined]);
});

test("readConfig() accepts the codes of a fallback at their former place, and does not use them", () => {
  const written = group({ mode: "fallback" }, [{ ...leaf, on_status_codes: [429] }], { onStatusCodes: [500] });
  const { strategy } = toConfig(written, true);
  assert.ok(strategy?.mode === "fallback");
  assert.equal(strategy.onStatusCodes, undefined);
  assert.deepEqual(linesOf({ ...leaf, on_status_codes: [99] }), ["on_status_codes[0]: must be at least 100"]);
});

const named = [
  { ...leaf, name: "a" },
  { ...leaf, name: "b" },
];
const query = { "metadata.x": 1 };
const withKey = { provider: "vertex-ai", vertex_region: "r" };

for (const written of [
  group({ mode: "fallback" }),
  { provider: "openai", api_key: "k" },
  { provider: "openai", custom_host: "https://a.example" },
  { virtual_key: "v" },
  { provider: "openai", virtual_key: "v" },
  { provider: "@slug" },
  { provider: "@slug/model" },
  { provider: "ollama" },
  { provider: "openai", forward_headers: ["authorization"] },
  { cache: { mode: "simple" } },
  { retry: { attempts: 0 } },
  { request_timeout: 1 },
  { forward_headers: [] },
  { default_params: {} },
  { drop_params: [] },
  { passthrough: true },
  ...hookNames.map((name) => ({ [name]: [] })),
  { provider: "bedrock", aws_access_key_id: "i", aws_secret_access_key: "s" },
  { provider: "bedrock", aws_auth_type: "assumedRole" },
  { provider: "bedrock", aws_auth_type: "serviceRole" },
  { aws_access_key_id: "i", aws_secret_access_key: "s" },
  { ...withKey, vertex_project_id: "p" },
  { ...withKey, vertex_service_account_json: {} },
  { vertex_region: "r", vertex_project_id: "p" },
  ...["entra", "managed", "workload", "entraFederated"].map((azure_auth_mode) => ({
    provider: "azure-openai",
    azure_auth_mode,
  })),
  { provider: "azure-openai", resource_name: "r", deployment_id: "d", api_version: "v", api_key: "k" },
  group({ mode: "conditional", conditions: [{ query, then: "a" }] }, named),
  group({ mode: "conditional", conditions: [{ query, then: "a" }], default: "b" }, named),
  group({ mode: "loadbalance" }, [{ ...leaf, weight: 0 }, leaf]),
  group({ mode: "fallback" }, [{ passthrough: true }, leaf]),
]) {
  test(`readConfig() accepts ${JSON.stringify(written)}`, () => {
    assert.deepEqual(linesOf(written), []);
    assert.deepEqual(linesOf(written, true), []);
  });
}

const homeless = ": must have a provider, a virtual key, or a strategy with targets";
const noKey = (provider: string) => `api_key: must be given for ${provider}, or name a stored provider as @slug`;
const needsVertex = "vertex_region: must be given, with vertex_project_id or vertex_service_account_json";
const noConditions = "strategy.conditions: No conditions passed in the query router";
const unknownName = (path: string, name: string) =>
  `strategy.${path}: Invalid target name found in the query router: ${name}`;
const conditional = (...conditions: unknown[]) => group({ mode: "conditional", conditions }, named);
let deep: Json = leaf;
for (let level = 0; level < 17; level++) deep = group({ mode: "single" }, [deep]);

for (const [written, expected] of [
  [undefined, [": must be an object"]],
  [null, [": must be an object"]],
  [[], [": must be an object"]],
  [1, [": must be an object"]],
  ["{}", [": must be an object"]],
  [{}, [homeless]],
  [{ name: "n", weight: 1, api_key: "k" }, [homeless]],
  [{ aws_access_key_id: "i" }, [homeless]],
  [{ vertex_region: "r" }, [homeless]],
  [{ provider: "nobody" }, ["provider: Invalid provider passed: nobody"]],
  [{ provider: "constructor", api_key: "k" }, ["provider: Invalid provider passed: constructor"]],
  [{ provider: "@" }, ["provider: Invalid provider passed: @"]],
  [{ provider: "@/m" }, ["provider: Invalid provider passed: @/m"]],
  [{ provider: "" }, ["provider: must have at least 1 characters"]],
  [{ provider: "openai" }, [noKey("openai")]],
  [{ provider: "openai", override_params: {} }, [noKey("openai")]],
  [{ provider: "azure-openai", azure_auth_mode: "apiKey" }, [noKey("azure-openai")]],
  [{ provider: "bedrock", aws_auth_type: "accessKey" }, [noKey("bedrock")]],
  [{ provider: "bedrock", aws_auth_type: { toString: 1 } }, [noKey("bedrock")]],
  [{ provider: "vertex-ai" }, [needsVertex]],
  [{ provider: "vertex-ai", vertex_project_id: "p" }, [needsVertex]],
  [withKey, [needsVertex]],
  [{ ...withKey, cache: "simple" }, [needsVertex]],
  [{ strategy: { mode: "single" } }, ["targets: must be given where there is a strategy"]],
  [{ targets: [leaf] }, ["strategy: must be given where there are targets"]],
  [group({ mode: "single" }, []), ["targets: must be a list of at least one target"]],
  [group({ mode: "single" }, {}), ["targets: must be a list of at least one target"]],
  [group({ mode: "single" }, [null, 1]), ["targets[0]: must be an object", "targets[1]: must be an object"]],
  [group({}), ["strategy.mode: must be given"]],
  [group({ mode: null }), ["strategy.mode: must be given"]],
  [group({ mode: "scientist" }), ["strategy.mode: must be single, fallback, loadbalance, conditional or auto"]],
  [group({ mode: {} }), ["strategy.mode: must be single, fallback, loadbalance, conditional or auto"]],
  [group([]), ["strategy: must be an object"]],
  [group("single"), ["strategy: must be an object"]],
  [group({ mode: "single" }, [leaf], { passthrough: true }), ["passthrough: cannot be combined with targets"]],
  [{ passthrough: true, override_params: {} }, ["override_params: cannot be combined with passthrough"]],
  [
    { passthrough: true, input_guardrails: [], output_guardrails: [] },
    ["input_guardrails: cannot be combined with passthrough", "output_guardrails: cannot be combined with passthrough"],
  ],
  [
    group({ mode: "loadbalance" }, [
      { ...leaf, weight: 0 },
      { ...leaf, weight: 0 },
    ]),
    ["targets: must have a target with weight"],
  ],
  [group({ mode: "conditional" }, named), [noConditions]],
  [conditional(), [noConditions]],
  [group({ mode: "conditional", conditions: {} }, named), [noConditions]],
  [conditional(1), ["strategy.conditions[0]: must be an object with query and then"]],
  [conditional({}), ["strategy.conditions[0].query: must be given", "strategy.conditions[0].then: must name a target"]],
  [conditional({ query, then: "" }), ["strategy.conditions[0].then: must name a target"]],
  [
    conditional({ query: {}, then: "a" }, { query, then: "c" }, { query, then: "toString" }),
    [
      "strategy.conditions[0].query: must name at least one field",
      unknownName("conditions[1].then", "c"),
      unknownName("conditions[2].then", "toString"),
    ],
  ],
  [
    conditional({ query: { "metadata.x": { $near: 1 } }, then: "a" }),
    ["strategy.conditions[0].query.metadata.x.$near: Unsupported operator used in the query router: $near"],
  ],
  [
    group({ mode: "conditional", conditions: [{ query, then: "a" }], default: "c" }, named),
    [unknownName("default", "c")],
  ],
  [{ cache: {} }, ["cache.mode: must be given"]],
  [{ cache: { mode: null } }, ["cache.mode: must be given"]],
  [{ cache: [] }, ["cache: must be an object"]],
  [{ retry: {} }, ["retry.attempts: must be given"]],
  [{ retry: { attempts: null } }, ["retry.attempts: must be given"]],
  [{ retry: 3 }, ["retry: must be an object"]],
  [{ retry: { attempts: "3" } }, ["retry.attempts: must be a number"]],
  [{ retry: { attempts: -1 } }, ["retry.attempts: must be at least 0"]],
  [{ retry: { attempts: 1.5 } }, ["retry.attempts: must be a whole number"]],
  [
    { retry: { attempts: 1, on_status_codes: [500, "x", 99, 600] } },
    [
      "retry.on_status_codes[1]: must be a number",
      "retry.on_status_codes[2]: must be at least 100",
      "retry.on_status_codes[3]: must be at most 599",
    ],
  ],
  [{ ...leaf, weight: "50%" }, ["weight: must be a number"]],
  [{ ...leaf, weight: "1" }, ["weight: must be a number"]],
  [{ ...leaf, weight: -0.1 }, ["weight: must be at least 0"]],
  [{ ...leaf, weight: Number.NaN }, ["weight: must be a number"]],
  [{ ...leaf, weight: 1e300 }, ["weight: must be at most 1000000000000"]],
  [{ request_timeout: "x" }, ["request_timeout: must be a number"]],
  [{ request_timeout: 2 ** 31 }, ["request_timeout: must be at most 2147483647"]],
  [{ override_params: [1], ...leaf }, ["override_params: must be an object"]],
  [{ default_params: "x" }, ["default_params: must be an object"]],
  [{ metadata: [] }, ["metadata: must be an object"]],
  [{ drop_params: "user" }, ["drop_params: must be a list of strings"]],
  [{ forward_headers: new Array(501).fill("a") }, ["forward_headers: must have at most 500 entries"]],
  [{ passthrough: "yes" }, ["passthrough: must be true or false"]],
  [{ virtual_key: "a b" }, ["virtual_key: must be an id or a slug"]],
  [{ ...leaf, name: "a".repeat(257) }, ["name: must have at most 256 characters"]],
  [{ before_request_hooks: [[]] }, ["before_request_hooks[0]: must be an object"]],
  [{ input_guardrails: ["g", 1] }, ["input_guardrails[1]: must be a slug or an object"]],
  [{ input_mutators: {} }, ["input_mutators: must be a list of mutators"]],
  [
    group({ mode: "loadbalance", sticky: { enabled: 1, hash_fields: ["metadata.a", "user", "metadata."], ttl: 0 } }),
    [
      "strategy.sticky.enabled: must be true or false",
      "strategy.sticky.hash_fields[1]: must start with metadata., params. or headers.",
      "strategy.sticky.hash_fields[2]: must start with metadata., params. or headers.",
      "strategy.sticky.ttl: must be at least 1",
    ],
  ],
  [
    group({
      mode: "fallback",
      cb_config: {
        failure_threshold: 0,
        failure_threshold_percentage: 101,
        minimum_requests: 0,
        cooldown_interval: -1,
      },
    }),
    [
      "strategy.cb_config.failure_threshold: must be at least 1",
      "strategy.cb_config.failure_threshold_percentage: must be at most 100",
      "strategy.cb_config.minimum_requests: must be at least 1",
      "strategy.cb_config.cooldown_interval: must be at least 0",
    ],
  ],
  [
    group({ mode: "fallback", on_status_codes: ["x"] }, [
      { provider: "nobody", retry: {} },
      group({ mode: "single" }, [{ weight: -1 }]),
    ]),
    [
      "strategy.on_status_codes[0]: must be a number",
      "targets[0].retry.attempts: must be given",
      "targets[0].provider: Invalid provider passed: nobody",
      "targets[1].targets[0].weight: must be at least 0",
      `targets[1].targets[0]${homeless}`,
    ],
  ],
  [deep, [`${"targets[0].".repeat(16)}targets: must not nest deeper than 16 strategies`]],
] as const) {
  test(`readConfig() refuses ${JSON.stringify(written)?.slice(0, 90)}`, () => {
    assert.deepEqual(linesOf(written), expected);
  });
}

test("readConfig() accepts 16 strategies in each other", () => {
  const [inside] = Object.values(deep.targets as Json[]);
  assert.deepEqual(linesOf(inside, true), []);
});

test("findTargetExcess() finds the same in a config that was read", () => {
  const config = toConfig(group({ mode: "single" }));
  assert.deepEqual(findTargetExcess(config, { root: 2, conditional: 1, nested: 1 }), []);
  assert.equal(findTargetExcess(config, { root: 1, conditional: 9, nested: 9 })[0]?.path, "targets");
});

const evil = (text: string) => JSON.parse(text) as unknown;

for (const [what, written] of [
  ["prototypes", evil('{"__proto__":{"provider":"openai"},"constructor":{"prototype":{"x":1}}}')],
  [
    "prototypes below",
    evil('{"strategy":{"__proto__":{"mode":"single"}},"targets":[{"__proto__":{"provider":"@a"}}]}'),
  ],
  ["texts that are no texts", { provider: { toString: 1 }, virtual_key: { valueOf: null }, name: [[]] }],
  ["a list of lists", { targets: [[[[[]]]]], strategy: [[]] }],
  ["many wrong codes", { retry: { attempts: 1, on_status_codes: new Array(50_000).fill("x") } }],
  ["many wrong targets", group({ mode: "single" }, new Array(50_000).fill(1))],
  ["many wrong conditions", conditional(...new Array<unknown>(50_000).fill({ query: { $x: 1 }, then: "a" }))],
  ["many wrong members", Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`m${index}`, index]))],
  ["bad patterns", conditional({ query: { "metadata.x": { $regex: "(" } }, then: "a" })],
  ["wrong numbers", { weight: Number.POSITIVE_INFINITY, request_timeout: Number.NaN, provider: "@a" }],
] as const) {
  test(`readConfig() reports what is wrong with hostile input: ${what}`, () => {
    for (const strict of [false, true]) {
      const problems = problemsOf(written, strict);
      assert.ok(problems.length > 0 && problems.length <= 1_000);
      for (const { path, message } of problems) assert.ok(typeof path === "string" && message.length > 0);
    }
    assert.equal(({} as Json).provider, undefined);
  });
}

test("readConfig() never takes over prototypes from parameters", () => {
  const written = evil(
    '{"provider":"@a","override_params":{"__proto__":{"x":1},"a":1},"azure_x":{"__proto__":{"y":1}}}',
  );
  const { overrideParams, providerSettings } = toConfig(written);
  assert.deepEqual(Object.keys(overrideParams), ["a"]);
  assert.equal(overrideParams.x, undefined);
  assert.equal(Object.getPrototypeOf(providerSettings), Object.prototype);
});

for (const [name, written, message] of [
  ["labels", "eu", "must be an object"],
  ["labels", { Region: "eu" }, "names must be 1 to 64 lower-case letters, digits or _, and begin with a letter"],
  ["labels", { region: true }, "region must be a string"],
  ["labels", { zero_retention: "yes" }, "zero_retention must be true or false"],
  ["labels", { team: ["a"] }, "must be a string, or true or false"],
  ["labels", { team: " a" }, "must be 1 to 128 characters, without spaces around them"],
  ["require_labels", {}, "must name at least one label"],
  ["require_labels", { region: [] }, "must have at least one entry"],
  ["require_labels", { region: ["eu", true] }, "region must be a string"],
  ["require_labels", { zero_retention: "true" }, "zero_retention must be true or false"],
] as const) {
  test(`readConfig() refuses ${name} ${JSON.stringify(written)} when it is saved`, () => {
    const problems = problemsOf({ ...leaf, [name]: written }, true);
    assert.deepEqual(
      problems.map((problem) => problem.message),
      [message],
    );
  });
}

for (const [written, path] of [
  [{ web_search: {} }, "server_tools.web_search"],
  [{ web_search: { model: "@a/b", mcp: { server: "s", tool: "t" } } }, "server_tools.web_search"],
  [{ web_search: { model: "@a/b", max_uses: 0 } }, "server_tools.web_search.max_uses"],
  [{ web_search: { model: "@a/b", run: "never" } }, "server_tools.web_search.run"],
  [{ web_search: { mcp: { server: "s" } } }, "server_tools.web_search.mcp.tool"],
  [{ web_search: { model: "@a/b", provider: "exa" } }, "server_tools.web_search.provider"],
  [{ code_interpreter: {} }, "server_tools.code_interpreter"],
  [{ browse: {} }, "server_tools.browse"],
  ["exa", "server_tools"],
] as const) {
  test(`readConfig() refuses server_tools ${JSON.stringify(written)} when it is saved`, () => {
    const problems = problemsOf({ ...leaf, server_tools: written }, true);
    assert.deepEqual(
      problems.map((problem) => problem.path),
      [path],
    );
  });
}

test("readConfig() refuses server_tools of a target", () => {
  const target = { ...leaf, server_tools: { web_search: { model: "@a/b" } } };
  const problems = problemsOf({ strategy: { mode: "fallback" }, targets: [target] }, true);
  assert.deepEqual(problems, [{ path: "targets[0].server_tools", message: "must be at the root" }]);
});

for (const [written, path] of [
  ["yes", "prompt_cache"],
  [{ ttl: "2h" }, "prompt_cache.ttl"],
  [{ ttl: 300 }, "prompt_cache.ttl"],
  [{ size: 1 }, "prompt_cache.size"],
] as const) {
  test(`readConfig() refuses prompt_cache ${JSON.stringify(written)} when it is saved`, () => {
    const problems = problemsOf({ ...leaf, prompt_cache: written }, true);
    assert.deepEqual(
      problems.map((problem) => problem.path),
      [path],
    );
  });
}

test("readConfig() gives load balancers over a prompt cache affinity, unless they say otherwise", () => {
  const affinityOf = (config: Json) => {
    const { strategy } = toConfig(config);
    return strategy?.mode === "loadbalance" ? strategy.affinity : undefined;
  };
  const strategy = { mode: "loadbalance" };
  const nested = { strategy: { mode: "fallback" }, targets: [leaf, { ...leaf, prompt_cache: true }] };
  assert.equal(affinityOf({ strategy, targets: [leaf, leaf], prompt_cache: true }), true);
  assert.equal(affinityOf({ strategy, targets: [leaf, nested] }), true);
  assert.equal(affinityOf({ strategy, targets: [leaf, leaf] }), false);
  assert.equal(affinityOf({ strategy, targets: [{ ...leaf, prompt_cache: false }], prompt_cache: true }), false);
  assert.equal(affinityOf({ strategy: { ...strategy, affinity: false }, targets: [leaf], prompt_cache: true }), false);
});

const names = [
  ...new Set(nodeMembers.map(([name]) => name)),
  ...hookNames,
  "strategy",
  "targets",
  "cb_config",
  "aws_auth_type",
];
const strategyNames = [
  "mode",
  "on_status_codes",
  "conditions",
  "default",
  "sticky",
  "cb_config",
  "affinity",
  "choose",
  "outlier_ejection",
];
const inner = [
  "attempts",
  "enabled",
  "hash_fields",
  "failure_threshold",
  "query",
  "then",
  "$and",
  "metadata.x",
  "$regex",
];

test(seeded("readConfig() never throws, and names what it refuses"), () => {
  const word = fc.constantFrom(...names, ...strategyNames, ...inner, "__proto__", "toString");
  const value = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom<unknown>(
        "single",
        "fallback",
        "loadbalance",
        "conditional",
        "@a",
        "(",
        "",
        null,
        true,
        -1,
        2,
        0.5,
      ),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(word, tie("value"), { maxKeys: 5 }),
    ),
  })).value;
  const part = fc.dictionary(fc.constantFrom(...strategyNames), value, { maxKeys: 4 });
  const node = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 5 });
  const config = fc.oneof(
    value,
    node,
    fc
      .tuple(node, part, fc.array(node, { maxLength: 3 }))
      .map(([own, strategy, targets]) => ({ ...own, strategy, targets })),
  );
  fc.assert(
    fc.property(config, fc.boolean(), (written, strict) => {
      for (const { path, message } of problemsOf(written, strict)) {
        assert.ok(typeof path === "string" && message.length > 0);
        assert.ok(path !== "" || message.startsWith("must "));
      }
    }),
    { numRuns: 2_000 },
  );
});

test(seeded("readConfig() reads any mixture of spellings alike"), () => {
  const chosen = fc.record(
    Object.fromEntries(nodeMembers.map(([name, written]) => [name, fc.constant(written)] as const)),
    { requiredKeys: ["provider"] },
  );
  fc.assert(
    fc.property(chosen, fc.infiniteStream(fc.boolean()), (written, isCamel) => {
      const entries = Object.entries(written);
      const mixed = entries.map(([name, value]) => [isCamel.next().value ? toCamel(name) : name, value] as const);
      assert.deepEqual(linesOf(written), linesOf(Object.fromEntries(mixed)));
      if (linesOf(written).length === 0) {
        assert.deepEqual(toConfig(Object.fromEntries(mixed)), toConfig(Object.fromEntries(entries)));
      }
    }),
    { numRuns: 300 },
  );
});
