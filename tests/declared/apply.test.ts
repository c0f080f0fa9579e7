import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { DeclaredState, readDeclared } from "../../src/declared/document.ts";
import { exportDeclared } from "../../src/declared/export.ts";
import { organisationKinds, workspaceKinds } from "../../src/declared/kinds/all.ts";
import { readYaml, writeYaml } from "../../src/declared/yaml.ts";
import { createOwnApi } from "../../src/serve/declared-file.ts";
import { call, done } from "../support/control.ts";
import { applyTo, planOf, stepsOf } from "../support/declared.ts";
import { createTestGateway, helloBody, type TestGateway, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

const secret = "sk-an-obvious-fake-0123456789";
const environment = {
  FAKE_KEY: secret,
  FAKE_CLIENT: "gk-chosen-fake-0123456789",
  FAKE_VAULT: "an-obvious-fake-token",
  FAKE_SLACK: "https://hooks.slack.com/services/T0/B0/an-obvious-fake",
  FAKE_SIGNATURE: "an-obvious-fake-signature-0123456789",
};

/** A document with every section. */
const whole = {
  organisation: {
    secret_references: {
      vault: {
        manager_type: "hashicorp_vault",
        secret_path: "kv/data/openai",
        auth_config: {
          vault_auth_type: "token",
          vault_addr: "https://vault.example.com",
          vault_token: { $env: "FAKE_VAULT" },
        },
      },
    },
    integrations: {
      shared: {
        name: "Shared",
        ai_provider_id: "openai",
        secret_mappings: [{ target_field: "key", secret_reference_id: "vault" }],
        models: { "gpt-4o": { enabled: false }, "ft:mine": { is_custom: true, pricing_config: { pay_as_you_go: {} } } },
        workspaces: { research: { usage_limits: { credit_limit: 100, periodic_reset: "monthly" } } },
      },
    },
    guardrails: {
      "pg-no-words": { checks: [{ id: "default.contains", parameters: { words: ["secret"], operator: "none" } }] },
    },
    model_aliases: { everywhere: { target: { model: "@echo/echo-1" }, access: { workspaces: ["research"] } } },
    mcp_integrations: {
      tools: {
        url: "https://tools.example.com/mcp",
        auth_type: "headers",
        transport: "http",
        configurations: { custom_headers: { Authorization: { $env: "FAKE_KEY" } } },
        workspaces: { research: {} },
      },
    },
  },
  workspaces: {
    research: {
      name: "Research",
      description: "Trials",
      defaults: {
        metadata: { team: "research" },
        input_guardrails: ["pg-short"],
        user_api_key_config: "pc-main",
      },
      rate_limits: [{ type: "requests", unit: "rpm", value: 600 }],
      integrations: {
        echo: { ai_provider_id: "echo" },
        vllm: {
          name: "vLLM",
          ai_provider_id: "openai",
          key: { $env: "FAKE_KEY" },
          configurations: { custom_host: "https://vllm.example.com/v1", custom_headers: { "X-Team": "research" } },
          create_default_provider: false,
        },
      },
      providers: {
        shared: {
          integration_id: "shared",
          note: "with a limit",
          usage_limits: { credit_limit: 5 },
          rate_limits: [{ type: "tokens", unit: "rpm", value: 1000 }],
          expires_at: "2099-01-01",
        },
      },
      guardrails: {
        "pg-short": {
          name: "Short",
          checks: [{ id: "default.characterCount", parameters: { maxCharacters: 1000 } }],
          actions: { deny: true },
        },
      },
      collections: { "co-top": {}, "co-inner": { name: "Inner", parent_collection_id: "co-top" } },
      partials: { "pl-sign": { string: "Yours", collection_id: "co-inner" } },
      prompts: {
        "pp-hello": {
          name: "Hello",
          collection_id: "co-inner",
          string: [{ role: "user", content: "Hello {{name}} {{>pl-sign}}" }],
          parameters: { temperature: 0 },
          model: "echo-1",
          virtual_key: "echo",
        },
        "pp-plain": { string: "Hello" },
      },
      mcp_servers: {
        "tools-a": { mcp_integration_id: "tools", settings: { pinning: "hide" } },
        "joined-a": { aggregate: { members: [{ mcp_server_id: "tools-a", prefix: "a" }] } },
      },
      configs: {
        "pc-main": {
          is_default: true,
          config: { strategy: { mode: "fallback" }, targets: [{ provider: "@echo" }, { provider: "@shared" }] },
        },
        "pc-keyed": { config: { provider: "openai", api_key: { $env: "FAKE_KEY" } } },
      },
      keys: {
        App: {
          scopes: ["completions.write", "logs:list"],
          usage_limits: { credit_limit: 5, periodic_reset: "monthly" },
          defaults: { config_id: "pc-main", metadata: { app: "one" } },
          alert_emails: ["Owner@Example.com"],
          allowed_models: ["fast", "every*", "fast"],
        },
        Moved: { scopes: ["completions.write"], key: { $env: "FAKE_CLIENT" } },
      },
      alert_rules: {
        Errors: {
          metric: "error_rate",
          threshold: 5,
          filter: { status_code: "500" },
          destinations: [
            { type: "slack", url: { $env: "FAKE_SLACK" } },
            { type: "webhook", url: "https://alerts.example.com/hook", secret: { $env: "FAKE_SIGNATURE" } },
          ],
        },
        Quiet: { metric: "requests", threshold: 1 },
      },
      model_aliases: {
        fast: { target: { model: "@echo/echo-1" }, tags: ["a"], metadata: { b: "c" }, access: { api_keys: ["App"] } },
        pool: { target: { config: "pc-main" }, rate_limits: [{ type: "requests", unit: "rpm", value: 5 }] },
      },
      usage_limit_policies: {
        "Each user": {
          conditions: [{ key: "model", value: "*" }],
          group_by: [{ key: "metadata._user" }],
          type: "cost",
          credit_limit: 10,
          periodic_reset: "weekly",
        },
      },
      rate_limit_policies: {
        Calm: {
          conditions: [{ key: "model", value: "gpt*" }],
          group_by: [{ key: "api_key" }],
          type: "requests",
          unit: "rpm",
          value: 60,
        },
      },
    },
  },
};

const keys = new Map<string, string>();

test("a document with every section is applied, and nothing is left to do", async () => {
  const written = await applyTo(gateway, whole, { environment, keys });
  assert.ok(written > 25, String(written));
  assert.deepEqual(stepsOf(await planOf(gateway, whole, { environment })), []);
  assert.equal(await applyTo(gateway, whole, { environment }), 0);
});

async function chat(key: string, model: string): Promise<number> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const body = JSON.stringify({ ...helloBody, model });
  const response = await gateway.fetch("/v1/chat/completions", { method: "POST", headers, body });
  await response.text();
  return response.status;
}

test("what was applied serves requests, with new keys and with those that clients have", async () => {
  const made = keys.get("App") ?? "";
  assert.match(made, /^gk_/);
  assert.deepEqual([...keys.keys()], ["App"]);
  assert.equal(await chat(made, "fast"), 200);
  assert.equal(await chat(made, "everywhere"), 200);
  assert.equal(await chat(environment.FAKE_CLIENT, "pool"), 400); // its target sets no model
  assert.equal(await chat(environment.FAKE_CLIENT, "@echo/echo-1"), 200);
  assert.equal(await chat(environment.FAKE_CLIENT, "fast"), 403);
});

test("each write leaves an audit row of the gateway", async () => {
  const { records } = await done<{ records: { user_id: string; resource_type: string }[] }>(
    call(gateway, "GET /audit-logs?page_size=100"),
  ).catch(() => ({ records: [] }));
  if (records.length > 0) assert.ok(records.some(({ user_id }) => user_id === "gateway"));
});

test("export writes the same file: applied again it changes nothing, in YAML and read back", async () => {
  const { document, variables } = await exportDeclared(await createOwnApi(gateway.gateway));
  const text = await writeYaml(document);
  const read = (await readYaml(new TextEncoder().encode(text), "the file")) as object;
  assert.deepEqual(read, JSON.parse(JSON.stringify(document)));
  assert.ok(!text.includes(secret) && !text.includes("*****"), text);
  assert.deepEqual(
    variables.toSorted(),
    [
      "RESEARCH_ALERT_RULES_ERRORS_DESTINATIONS_0_URL",
      "RESEARCH_ALERT_RULES_ERRORS_DESTINATIONS_1_SECRET",
      "RESEARCH_ALERT_RULES_ERRORS_DESTINATIONS_1_URL",
      "RESEARCH_CONFIGS_PC_KEYED_CONFIG_API_KEY",
      "RESEARCH_INTEGRATIONS_VLLM_KEY",
      "SECRET_REFERENCES_VAULT_AUTH_CONFIG_VAULT_TOKEN",
      "MCP_INTEGRATIONS_TOOLS_CONFIGURATIONS_CUSTOM_HEADERS_AUTHORIZATION",
    ].toSorted(),
  );
  // without its variables secrets stay as they are
  assert.deepEqual(stepsOf(await planOf(gateway, read)), []);
  const other = await createTestGateway();
  try {
    const values = Object.fromEntries(
      variables.map((name) => [name, name.endsWith("_URL") ? environment.FAKE_SLACK : secret]),
    );
    await assert.rejects(applyTo(other, read), /set the variable/);
    await applyTo(other, read, { environment: values });
    const again = await exportDeclared(await createOwnApi(other.gateway));
    assert.deepEqual(again.document, document);
  } finally {
    await other.close();
  }
});

test("a change by the control plane is drift, and is taken back", async () => {
  const place = { workspace_id: "research" };
  await done(call(gateway, "PUT /providers/shared", { body: { note: "another", ...place } }));
  await done(call(gateway, "PUT /integrations/vllm", { body: { key: "sk-another-obvious-fake-xyz", ...place } }));
  const plan = await planOf(gateway, whole, { environment });
  assert.deepEqual(stepsOf(plan), [
    "~ workspaces.research.integrations.vllm",
    "~ workspaces.research.providers.shared",
  ]);
  const [ofKey, ofNote] = plan.changes.map(({ differences }) => differences);
  assert.deepEqual(ofKey, [{ path: "key", from: '"sk*****xyz"', to: "$FAKE_KEY" }]);
  assert.deepEqual(ofNote, [{ path: "note", from: '"another"', to: '"with a limit"' }]);
  await applyTo(gateway, whole, { environment });
  assert.deepEqual(stepsOf(await planOf(gateway, whole, { environment })), []);
});

test("records that the file does not have stay, unless prune is asked for; sections that it does not have stay always", async () => {
  const { research } = whole.workspaces;
  const less = { workspaces: { research: { configs: { "pc-main": research.configs["pc-main"] } } } };
  const kept = await planOf(gateway, less, { prune: "none" });
  assert.deepEqual([stepsOf(kept), kept.left], [[], 1]);
  assert.deepEqual(stepsOf(await planOf(gateway, less)), ["- workspaces.research.configs.pc-keyed"]);
  await applyTo(gateway, less, { prune: "records" });
  const { total } = await done(call(gateway, "GET /configs?workspace_id=research"));
  assert.equal(total, 1);
  assert.equal(await applyTo(gateway, whole, { environment }), 1);
});

test("a provider that follows from an integration goes with it", async () => {
  const { echo: _, ...integrations } = whole.workspaces.research.integrations;
  const steps = stepsOf(await planOf(gateway, { workspaces: { research: { integrations } } }));
  assert.deepEqual(steps, ["- workspaces.research.providers.echo", "- workspaces.research.integrations.echo"]);
});

test("prune removes whole workspaces only where all is asked for, and never the default one", async () => {
  const other = { workspaces: { other: { name: "Other" } } };
  assert.deepEqual(stepsOf(await planOf(gateway, other, { prune: "records" })), ["+ workspaces.other"]);
  assert.deepEqual(stepsOf(await planOf(gateway, other)), ["+ workspaces.other", "- workspaces.research"]);
});

test("what cannot change is refused before anything is written, with the way out", async () => {
  const document = {
    workspaces: {
      research: {
        integrations: { echo: { ai_provider_id: "openai", key: secret } },
        configs: { "pc-new": { config: {} } },
      },
    },
  };
  const plan = await planOf(gateway, document, { prune: "none" });
  assert.match(plan.problems.join(), /integrations\.echo: ai_provider_id cannot change/);
  await assert.rejects(applyTo(gateway, document), /cannot change/);
  assert.equal((await call(gateway, "GET /configs/pc-new?workspace_id=research")).status, 404);
});

test("a policy or key whose fixed fields change is made anew", async () => {
  const { usage_limit_policies: policies } = whole.workspaces.research;
  const document = {
    workspaces: { research: { usage_limit_policies: { "Each user": { ...policies["Each user"], type: "tokens" } } } },
  };
  assert.deepEqual(stepsOf(await planOf(gateway, document)), ["± workspaces.research.usage_limit_policies.Each user"]);
  await applyTo(gateway, document);
  assert.deepEqual(stepsOf(await planOf(gateway, document)), []);
  await applyTo(gateway, whole, { environment });
});

test("new keys need a place for their secret", async () => {
  const document = { workspaces: { default: { keys: { New: { scopes: ["completions.write"] } } } } };
  await assert.rejects(applyTo(gateway, document, { takesSecrets: false }), /keys\.New: give --keys-file/);
});

for (const [document, message] of [
  [{ version: 2 }, /version must be 1/],
  [{ workspace: {} }, /workspace is not a known field/],
  [{ workspaces: { a: { confgs: {} } } }, /workspaces\.a\.confgs is not a known field/],
  [{ workspaces: { a: { configs: { "pc-a": { config: {}, slug: "b" } } } } }, /slug is not a known field/],
  [{ workspaces: { a: { providers: { b: {} } } } }, /integration_id/],
  [
    { workspaces: { a: { keys: { b: { scopes: [], usage_limits: { next_usage_reset_at: "2030-01-01" } } } } } },
    /cannot be declared/,
  ],
  [
    { organisation: { integrations: { a: { ai_provider_id: "echo", create_default_provider: true } } } },
    /not a known field/,
  ],
] as const) {
  test(`the file is refused before it is applied: ${JSON.stringify(document)}`, () => {
    assert.throws(() => readDeclared({ version: 1, ...document }, "the file"), message);
  });
}

test("every field that a file may have is compared", () => {
  const shape = DeclaredState.entries as unknown as Shape; // read as data
  const sections = {
    organisation: shape.organisation.wrapped.entries,
    workspaces: shape.workspaces.wrapped.value.entries,
  };
  for (const [place, kinds] of [
    ["organisation", organisationKinds],
    ["workspaces", workspaceKinds],
  ] as const) {
    for (const kind of kinds) {
      const record = sections[place][kind.section]?.wrapped.value;
      const options = record?.options ?? [record];
      const given = new Set(options.flatMap((one) => Object.keys(one?.entries ?? {})));
      const compared = Object.keys(kind.toFields("a", {}));
      const own = kind.section === "integrations" ? ["create_default_provider"] : [];
      assert.deepEqual(
        [...given].filter((name) => ![...compared, ...own].includes(name)),
        [],
        `${place}.${kind.section}`,
      );
    }
  }
});

/** What the test reads of the schema. */
interface Shape {
  readonly organisation: { wrapped: { entries: Sections } };
  readonly workspaces: { wrapped: { value: { entries: Sections } } };
}
type Sections = Readonly<
  Record<string, { wrapped: { value: Record<string, never> & { entries?: object; options?: { entries: object }[] } } }>
>;

test("callers cannot change what a file declares, and the error names it", async () => {
  const resources = new Set(["configs"]);
  const own = await createTestGateway({ declaredIn: { file: "gateway.yaml", resources } });
  try {
    const body = { name: "A", config: { provider: "echo" } };
    const refused = await call(own, "POST /configs", { key: workspaceKey, body });
    assert.equal(refused.status, 409);
    assert.match(JSON.stringify(refused.body), /gateway\.yaml.*GATEWAY_FILE/);
    assert.equal((await call(own, "GET /configs", { key: workspaceKey })).status, 200);
    await applyTo(own, { workspaces: { default: { configs: { "pc-a": { config: { provider: "echo" } } } } } });
    assert.equal((await call(own, "DELETE /configs/pc-a", { key: workspaceKey })).status, 409);
  } finally {
    await own.close();
  }
});
