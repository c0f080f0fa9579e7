import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import type { Database } from "../../src/db/client.ts";
import { isAdminEndpoint } from "../../src/endpoint.ts";
import { type Answer, call, createOrganisation, done } from "../support/control.ts";
import { adminKey, createTestGateway, insertKey, type TestGateway } from "../support/gateway.ts";
import { sample } from "../support/sample.ts";

// Two organisations with two workspaces each, all with records of every kind. Callers of the first workspace, and of
// the
// first organisation, name foreign records: in each path, query and body.

/** Records of one workspace, or of an organisation, by kind: the names a request can use for them. */
type Records = Record<string, readonly string[]>;

interface Place {
  /** Letters in every name of its records. */
  marker: string;
  organisationId: string;
  workspaceId: string;
  adminKey: string;
  /** Holds every scope. */
  workspaceKey: string;
  records: Records;
}

let gateway: TestGateway;
let database: Database;
const places: Place[] = [];

async function makeKey(organisationId: string, workspaceId: string): Promise<string> {
  const { key } = mintApiKey("gk");
  await insertKey(database, key, {
    organisationId,
    workspaceId,
    scopes: JSON.stringify(scopesOfKind("workspace-service")),
  });
  return key;
}

interface Receipt {
  id: string;
  slug: string;
}

/** Creates records of a workspace with its admin key. */
async function fill(place: Omit<Place, "records">): Promise<Records> {
  const { marker, workspaceId: workspace_id } = place;
  const post = (path: string, body: object) =>
    done<Receipt>(call<Receipt>(gateway, `POST ${path}`, { key: place.adminKey, body }));
  const names = ({ id, slug }: Receipt) => [id, slug].filter((name) => name !== undefined);
  const config = await post("/configs", { name: `${marker} config`, config: { retry: { attempts: 1 } }, workspace_id });
  const integration = await post("/integrations", {
    name: `${marker} integration`,
    slug: `${marker}-integration`,
    ai_provider_id: "openai",
    key: "fake-secret-0000",
    workspace_id,
    create_default_provider: false,
  });
  const provider = await post("/providers", {
    name: `${marker} provider`,
    slug: `${marker}-provider`,
    integration_id: `${marker}-integration`,
    workspace_id,
  });
  const target = { model: `@${marker}-provider/small` };
  const modelAlias = await post("/model-aliases", { name: `${marker}-alias`, target, workspace_id });
  const mcpIntegration = await post("/mcp-integrations", {
    name: `${marker} tools`,
    slug: `${marker}-tools`,
    url: "https://tools.example.com/mcp",
    auth_type: "none",
    transport: "http",
    workspace_id,
  });
  const mcpServer = await post("/mcp-servers", {
    name: `${marker} server`,
    slug: `${marker}-server`,
    mcp_integration_id: mcpIntegration.id,
    workspace_id,
  });
  const key = await post("/api-keys/workspace/service", { name: `${marker} key`, workspace_id, scopes: ["logs.view"] });
  const collection = await post("/collections", { name: `${marker} collection`, workspace_id });
  const label = await post("/labels", { name: `${marker}-label`, workspace_id });
  const prompt = await post("/prompts", {
    name: `${marker} prompt`,
    collection_id: collection.id,
    string: "x",
    parameters: {},
    virtual_key: "",
    workspace_id,
  });
  const version = await done<{ prompt_version_id: string }>(
    call(gateway, `GET /prompts/${prompt.id}`, { key: place.adminKey }),
  );
  const partial = await post("/prompts/partials", { name: `${marker} partial`, string: "x", workspace_id });
  const checks = [{ id: "default.contains", parameters: { words: [marker] } }];
  const guardrail = await post("/guardrails", { name: `${marker} guardrail`, checks, workspace_id });
  const policy = {
    name: `${marker} policy`,
    conditions: [{ key: "metadata.team", value: marker }],
    group_by: [{ key: "api_key" }],
    workspace_id,
  };
  const usageLimit = await post("/policies/usage-limits", { ...policy, type: "cost", credit_limit: 1 });
  const rateLimit = await post("/policies/rate-limits", { ...policy, type: "requests", unit: "rpm", value: 1 });
  const { group_by: _, ...conditional } = policy;
  const exampleSet = await post("/example-sets", {
    name: `${marker}-examples`,
    slug: `${marker}-examples`,
    examples: [{ variables: { marker } }],
    workspace_id,
  });
  const savedView = await post("/saved-views", {
    name: `${marker}-view`,
    page: "logs",
    question: {},
    shared: true,
    workspace_id,
  });
  const alertRule = await post("/alert-rules", {
    name: `${marker}-alert`,
    metric: "requests",
    threshold: 1,
    destinations: [],
    workspace_id,
  });
  const labelPolicy = await post("/policies/labels", { ...conditional, require_labels: { region: "eu" } });
  const { id: invite } = await post("/admin/users/invites", {
    email: `${marker}@example.com`,
    role: "member",
    workspaces: [{ id: workspace_id, role: "member" }],
  });
  return {
    config: names(config),
    integration: names(integration),
    provider: names(provider),
    modelAlias: [modelAlias.id, `${marker}-alias`],
    mcpIntegration: names(mcpIntegration),
    mcpServer: names(mcpServer),
    key: [key.id],
    collection: names(collection),
    label: [label.id],
    prompt: names(prompt),
    partial: names(partial),
    version: [version.prompt_version_id],
    invite: [invite],
    guardrail: names(guardrail),
    usageLimit: [usageLimit.id],
    rateLimit: [rateLimit.id],
    labelPolicy: [labelPolicy.id],
    alertRule: [alertRule.id],
    savedView: [savedView.id],
    exampleSet: [exampleSet.id, exampleSet.slug],
    workspace: [workspace_id, `${marker}-workspace`],
  };
}

/** Creates records of an organisation with its admin key. */
async function fillOrganisation(marker: string, key: string): Promise<Records> {
  const post = (path: string, body: object) => done<Receipt>(call<Receipt>(gateway, `POST ${path}`, { key, body }));
  const names = ({ id, slug }: Receipt) => [id, slug].filter((name) => name !== undefined);
  const integration = await post("/integrations", {
    name: `${marker} lent`,
    slug: `${marker}-lent`,
    ai_provider_id: "openai",
    key: "fake-secret-0000",
  });
  const reference = await post("/secret-references", {
    name: `${marker} reference`,
    slug: `${marker}-reference`,
    manager_type: "hashicorp_vault",
    secret_path: "a/b",
    auth_config: { vault_auth_type: "token", vault_addr: "https://vault.example.com", vault_token: "fake-token-0000" },
  });
  const deployment = await post("/deployments", { name: `${marker} deployment`, slug: `${marker}-deployment` });
  const token = await post("/admin/scim/tokens", { name: `${marker} token` });
  const checks = [{ id: "default.contains", parameters: { words: [marker] } }];
  const guardrail = await post("/admin/v2/guardrails", { name: `${marker} guardrail`, checks });
  const { data: people } = await done<{ data: { id: string }[] }>(call(gateway, "GET /admin/users", { key }));
  const { organisation_id } = await done<{ organisation_id: string }>(
    call<{ organisation_id: string }>(gateway, `GET /integrations/${marker}-lent`, { key }),
  );
  return {
    lent: names(integration),
    reference: names(reference),
    deployment: names(deployment),
    token: [token.id],
    person: people.map(({ id }) => id),
    organisation: [organisation_id],
    shared: names(guardrail),
  };
}

before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  const other = await createOrganisation(database, "other");
  const { rows } = await database.read(
    "SELECT id, organisation_id FROM workspaces WHERE slug = 'default' ORDER BY created_at DESC",
  );
  const own = rows.find(({ organisation_id }) => organisation_id !== other.organisationId);
  const homes = [
    { marker: "own", organisationId: String(own?.organisation_id), workspaceId: String(own?.id), adminKey },
    {
      marker: "foreign",
      organisationId: other.organisationId,
      workspaceId: other.workspaceId,
      adminKey: other.adminKey,
    },
  ];
  for (const home of homes) {
    const body = { name: `${home.marker} second` };
    const second = await done<Receipt>(call<Receipt>(gateway, "POST /admin/workspaces", { key: home.adminKey, body }));
    for (const [marker, workspaceId] of [
      [`${home.marker}1`, home.workspaceId],
      [`${home.marker}2`, second.id],
    ] as const) {
      const place = { ...home, marker, workspaceId, workspaceKey: await makeKey(home.organisationId, workspaceId) };
      places.push({ ...place, records: await fill(place) });
    }
    const records = await fillOrganisation(home.marker, home.adminKey);
    for (const place of places.filter(({ organisationId }) => organisationId === home.organisationId)) {
      Object.assign(place.records, records);
    }
  }
});
after(() => gateway.close());

/** Every foreign row: none of them may change. */
async function snapshot(organisationId: string, workspaceId: string | null): Promise<string> {
  const { rows: tables } = await database.read("SELECT name FROM sqlite_master WHERE type = 'table'");
  const contents: unknown[] = [];
  for (const { name } of tables) {
    if (["audit_logs", "changes", "sqlite_sequence", "log_batches", "log_bodies"].includes(String(name))) continue;
    const { rows } = await database.read(`SELECT * FROM "${name}"`);
    const foreign = rows.filter((row) => {
      const organisation = name === "organisations" ? row.id : row.organisation_id;
      if (organisation !== undefined && organisation !== organisationId) return true;
      const workspace = name === "workspaces" ? row.id : row.workspace_id;
      return workspaceId !== null && workspace !== undefined && workspace !== null && workspace !== workspaceId;
    });
    contents.push([name, foreign]);
  }
  return JSON.stringify(contents);
}

/** An unused name of the same form. */
function unknownLike(name: string): string {
  return /^[0-9a-f]{8}-/.test(name) ? crypto.randomUUID() : `${name.slice(0, 2)}-nothing-${name.length}`;
}

/** A response without the requested name, so that responses for different names can be compared. */
function anonymous({ status, body }: Answer, name: string): string {
  return `${status} ${JSON.stringify(body).replaceAll(name, "<name>")}`;
}

/** A body that every endpoint accepts, or refuses for both names alike. */
const plainBodies: Readonly<Record<string, object>> = {
  "PUT /admin/users/:userId": { role: "admin" },
  "POST /admin/workspaces/:id/users": { users: [] },
  "PUT /admin/workspaces/:id/users/:userId": { role: "manager" },
  "PUT /prompts/:id/makeDefault": { version: 1 },
  "PUT /prompts/partials/:id/makeDefault": { version: 1 },
  "PUT /prompts/:id/versions/:versionId": { label_id: null },
  "DELETE /admin/workspaces/:id": { name: "x", force_delete: true },
};

interface Swap {
  route: string;
  name: string;
  key: string;
  body?: object;
  place: Place;
}

let swaps = 0;

/** Requests a foreign record and an unknown one, and requires that the responses cannot be distinguished. */
async function requireAlike(
  build: (name: string) => { route: string; body?: object },
  { name, key, place }: Pick<Swap, "name" | "key" | "place">,
): Promise<void> {
  const unknown = unknownLike(name);
  const ask = async (asked: string) => {
    const { route, body } = build(asked);
    return call(gateway, route, { key, ...(body && { body }) });
  };
  const answer = await ask(name);
  const shown = build(name).route;
  assert.equal(anonymous(answer, name), anonymous(await ask(unknown), unknown), shown);
  const text = JSON.stringify(answer.body).replaceAll(name, "");
  assert.ok(!text.includes(place.marker.replace(/\d$/, place.marker)), `${shown} tells of ${place.marker}: ${text}`);
  swaps++;
}

/** Callers, and what is foreign to each: a sibling workspace and another organisation, or that alone. */
function callers() {
  const [own, sibling, other] = places;
  assert.ok(own && sibling && other);
  return [
    { key: own.workspaceKey, workspaceId: own.workspaceId, foreign: [sibling, other] },
    { key: adminKey, workspaceId: null, foreign: [other] },
  ];
}

/** Names of records that are foreign to a caller: of a sibling workspace only its own. */
function foreignNames(place: Place, own: Place | undefined): string[] {
  const shared = place.organisationId === own?.organisationId ? Object.values(own.records).flat() : [];
  return [...new Set(Object.values(place.records).flat())].filter((name) => !shared.includes(name));
}

const rows = adminEndpoints.filter(isAdminEndpoint).filter(({ path }) => path.includes(":"));

test("names in paths: foreign records respond like unknown ones, and are unchanged", async () => {
  for (const { key, workspaceId, foreign } of callers()) {
    const [own] = places;
    const before = await snapshot(own?.organisationId ?? "", workspaceId);
    for (const { method, path } of rows) {
      if (path.startsWith("/v1/api-keys/:type")) continue;
      const body =
        plainBodies[`${method} ${path.slice(3)}`] ??
        (method === "PUT" || method === "POST" ? { name: "x" } : undefined);
      for (const place of foreign) {
        for (const name of sample(foreignNames(place, own), 12)) {
          // where two names stand, the first is replaced, then the second below an own workspace
          const parameters = path.match(/:\w+/g) ?? [];
          for (const [index] of parameters.entries()) {
            const build = (asked: string) => {
              let position = 0;
              const filled = path.slice(3).replace(/:\w+/g, () => {
                position++;
                return position - 1 === index ? asked : (own?.workspaceId ?? "");
              });
              return { route: `${method} ${filled}`, ...(body && { body }) };
            };
            await requireAlike(build, { name, key, place });
          }
        }
      }
    }
    assert.equal(await snapshot(own?.organisationId ?? "", workspaceId), before);
  }
});

const queries = adminEndpoints
  .filter(isAdminEndpoint)
  .filter(({ path, method }) => method === "GET" && !path.includes(":"));

test("names in queries: foreign workspaces and organisations are refused like unknown ones", async () => {
  const times = "start_time=2020-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z";
  const parameters = ["workspace_id", "organisation_id", "ids", "scim_group_id", "user_id", "email"];
  for (const { key, workspaceId, foreign } of callers()) {
    const [own] = places;
    const before = await snapshot(own?.organisationId ?? "", workspaceId);
    for (const { path } of queries) {
      for (const place of foreign) {
        for (const parameter of parameters) {
          // the log of the caller's own organisation has the names of earlier requests
          if (path === "/v1/audit-logs" && parameter !== "organisation_id" && parameter !== "workspace_id") continue;
          for (const name of sample(foreignNames(place, own), 12)) {
            const build = (asked: string) => ({ route: `GET ${path.slice(3)}?${times}&${parameter}=${asked}` });
            await requireAlike(build, { name, key, place });
          }
        }
      }
    }
    assert.equal(await snapshot(own?.organisationId ?? "", workspaceId), before);
  }
});

const conditions = [{ key: "model", value: "*" }];
const grouping = [{ key: "api_key" }];

/** Bodies that refer to other records; the tested name is inserted. */
const references: readonly [route: string, build: (name: string, own: Place) => object][] = [
  ["POST /configs", (name) => ({ name: "x", config: { retry: { attempts: 1 } }, workspace_id: name })],
  [
    "POST /integrations",
    (name) => ({ name: "x", ai_provider_id: "openai", key: "fake-secret-0000", workspace_id: name }),
  ],
  [
    "POST /integrations",
    (name, own) => ({
      name: "x",
      ai_provider_id: "openai",
      workspace_id: own.workspaceId,
      create_default_provider: false,
      secret_mappings: [{ target_field: "key", secret_reference_id: name }],
    }),
  ],
  ["POST /model-aliases", (name) => ({ name: "x", target: { model: "@own1-provider/m" }, workspace_id: name })],
  ["POST /model-aliases", (name, own) => ({ name: "x", target: { config: name }, workspace_id: own.workspaceId })],
  [
    "POST /model-aliases",
    (name, own) => ({ name: "x", target: { model: `@${name}/m` }, workspace_id: own.workspaceId }),
  ],
  [
    "POST /model-aliases",
    (name, own) => ({
      name: "x",
      target: { model: "@own1-provider/m" },
      access: { api_keys: [name] },
      workspace_id: own.workspaceId,
    }),
  ],
  ["POST /providers", (name, own) => ({ name: "x", integration_id: name, workspace_id: own.workspaceId })],
  ["POST /providers", (name) => ({ name: "x", integration_id: "own1-integration", workspace_id: name })],
  [
    "POST /mcp-integrations",
    (name) => ({ name: "x", url: "https://x.example.com", auth_type: "none", transport: "http", workspace_id: name }),
  ],
  [
    "POST /mcp-integrations",
    (name, own) => ({
      name: "x",
      url: "https://x.example.com",
      auth_type: "headers",
      transport: "http",
      workspace_id: own.workspaceId,
      secret_mappings: [{ target_field: "configurations.custom_headers", secret_reference_id: name }],
    }),
  ],
  ["POST /mcp-servers", (name, own) => ({ name: "x", mcp_integration_id: name, workspace_id: own.workspaceId })],
  ["POST /mcp-servers", (name) => ({ name: "x", mcp_integration_id: "own1-tools", workspace_id: name })],
  [
    "POST /mcp-servers",
    (name, own) => ({
      name: "x",
      aggregate: { members: [{ mcp_server_id: name, prefix: "a" }] },
      workspace_id: own.workspaceId,
    }),
  ],
  ["POST /virtual-keys", (name) => ({ name: "x", provider: "openai", key: "fake-secret-0000", workspace_id: name })],
  [
    "POST /prompts",
    (name, own) => ({
      name: "x",
      string: "x",
      parameters: {},
      virtual_key: "",
      collection_id: name,
      workspace_id: own.workspaceId,
    }),
  ],
  [
    "POST /prompts",
    (name, own) => ({
      name: "x",
      string: "x",
      parameters: {},
      virtual_key: name,
      collection_id: own.workspaceId,
      workspace_id: own.workspaceId,
    }),
  ],
  [
    "POST /prompts/partials",
    (name, own) => ({ name: "x", string: "x", collection_id: name, workspace_id: own.workspaceId }),
  ],
  ["POST /collections", (name, own) => ({ name: "x", parent_collection_id: name, workspace_id: own.workspaceId })],
  ["POST /labels", (name) => ({ name: "x", workspace_id: name })],
  [
    "POST /policies/usage-limits",
    (name) => ({ conditions, group_by: grouping, type: "cost", credit_limit: 1, workspace_id: name }),
  ],
  [
    "POST /policies/rate-limits",
    (name) => ({ conditions, group_by: grouping, type: "tokens", unit: "rpm", value: 1, workspace_id: name }),
  ],
  [
    "POST /alert-rules",
    (name) => ({ name: "x", metric: "requests", threshold: 1, destinations: [], workspace_id: name }),
  ],
  ["POST /saved-views", (name) => ({ name: "x", page: "logs", question: {}, workspace_id: name })],
  ["POST /example-sets", (name) => ({ name: "x", examples: [{ variables: {} }], workspace_id: name })],
  ["POST /policies/labels", (name) => ({ conditions, require_labels: { region: "eu" }, workspace_id: name })],
  ["POST /api-keys/workspace/service", (name) => ({ name: "x", scopes: ["logs.view"], workspace_id: name })],
  [
    "POST /api-keys/workspace/user",
    (name, own) => ({ name: "x", scopes: ["logs.view"], workspace_id: own.workspaceId, user_id: name }),
  ],
  [
    "POST /api-keys/workspace/service",
    (name, own) => ({ name: "x", scopes: ["logs.view"], workspace_id: own.workspaceId, defaults: { config_id: name } }),
  ],
  [
    "POST /admin/users/invites",
    (name) => ({ email: "new@example.com", role: "member", workspaces: [{ id: name, role: "member" }] }),
  ],
  [
    "POST /guardrails",
    (name) => ({ name: "x", checks: [{ id: "default.contains", parameters: { words: ["x"] } }], workspace_id: name }),
  ],
  ["POST /admin/workspaces", (name) => ({ name: "x", defaults: { input_guardrails: [name] } })],
  ["PUT /admin/workspaces/<own>", (name) => ({ defaults: { output_guardrails: [name] } })],
  ["POST /admin/workspaces", (name) => ({ name: "x", users: [name] })],
  ["POST /admin/workspaces/<own>/users", (name) => ({ users: [{ id: name, role: "member" }] })],
  ["PUT /admin/workspaces/<own>", (name) => ({ defaults: { user_api_key_config: name } })],
  ["PUT /integrations/own-lent/workspaces", (name) => ({ workspaces: [{ id: name, enabled: true }] })],
  ["PUT /workspace-exclusions/input-guardrails", (name) => ({ workspaces: [{ workspace_id: name, excluded: true }] })],
  ["PUT /workspace-exclusions/input-guardrails", (name) => ({ organisation_id: name, workspaces: [] })],
  ["POST /scim/workspaces", (name) => ({ workspace_id: name, role: "member", scim_group_name: "people" })],
  ["POST /scim/workspaces", (name, own) => ({ workspace_id: own.workspaceId, role: "member", scim_group_id: name })],
  [
    "POST /secret-references",
    (name) => ({
      name: "x",
      manager_type: "hashicorp_vault",
      secret_path: "a",
      allowed_workspaces: [name],
      auth_config: {
        vault_auth_type: "token",
        vault_addr: "https://vault.example.com",
        vault_token: "fake-token-0000",
      },
    }),
  ],
  ["POST /deployments", (name) => ({ name: "x", auth_settings: { workspaces_allowed: [name] } })],
  ["PUT /admin/organisation/defaults", (name) => ({ input_guardrails: [name] })],
];

test("names in bodies: references to foreign records are refused, and nothing is written", async () => {
  for (const { key, workspaceId, foreign } of callers()) {
    const [own] = places;
    assert.ok(own);
    const before = await snapshot(own.organisationId, workspaceId);
    for (const [route, build] of references) {
      const path = route.replace("<own>", own.workspaceId);
      for (const place of foreign) {
        for (const name of sample(foreignNames(place, own), 12)) {
          const make = (asked: string) => ({ route: path, body: build(asked, own) });
          const { status } = await call(gateway, path, { key, body: build(name, own) });
          assert.ok(status >= 400 && status < 500, `${route} with ${name} answered ${status}`);
          await requireAlike(make, { name, key, place });
        }
      }
    }
    assert.equal(await snapshot(own.organisationId, workspaceId), before);
  }
});

test("stored providers of other workspaces cannot be called, by header or model", async () => {
  const [own, ...others] = places;
  assert.ok(own);
  for (const place of others) {
    for (const name of [...(place.records.provider ?? []), ...(place.records.integration ?? [])]) {
      const ask = async (asked: string, headers: Record<string, string>, model: string): Promise<string> => {
        const body = { model, messages: [{ role: "user", content: "Hello" }] };
        const answer = await call(gateway, "POST /chat/completions", { key: own.workspaceKey, body, headers });
        return anonymous(answer, asked);
      };
      const unknown = unknownLike(name);
      for (const form of [
        (asked: string) => ask(asked, { "x-gateway-provider": `@${asked}` }, "m"),
        (asked: string) => ask(asked, { "x-gateway-virtual-key": asked }, "m"),
        (asked: string) => ask(asked, {}, `@${asked}/m`),
      ]) {
        const answer = await form(name);
        assert.match(answer, /^400 /);
        assert.equal(answer, await form(unknown));
        swaps++;
      }
    }
  }
});

test("at least a thousand names were replaced", () => {
  assert.ok(swaps >= 1_000, `${swaps} swaps`);
});
