import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adminEndpoints } from "../../src/admin/endpoints.ts";
import { call, done } from "../support/control.ts";
import { adminKey, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { requireListed } from "../support/listed.ts";
import { addPerson } from "../support/people.ts";

// Whatever id or slug a list shows names its record on the routes of one record.

let gateway: TestGateway;
let count = 0;

type Row = Record<string, unknown>;

const as = (key: string) => async (route: string, body?: object) =>
  done<Row>(call(gateway, route, { key, ...(body && { body }) }));
const own = (route: string, body?: object) => as(workspaceKey)(route, body);
const ofAdmin = (route: string, body?: object) => as(adminKey)(route, body);
const idIn = (row: Row): string => String(row.id ?? (row.data as Row | undefined)?.id);

const integration = () =>
  ofAdmin("POST /integrations", { name: unique(), ai_provider_id: "openai", key: "fake-key-000000" });
const unique = () => `record-${++count}`;
const provider = async () => {
  const made = await own("POST /integrations", { name: unique(), ai_provider_id: "openai", key: "fake-key-000000" });
  return { name: unique(), integration_id: made.id };
};
const checks = [{ id: "default.contains", parameters: { words: ["a"], operator: "any" } }];
const policy = { conditions: [{ key: "model", value: "a" }], group_by: [{ key: "api_key" }] };
const mcp = () => ({ name: unique(), url: "https://mcp.example.com", auth_type: "oauth_auto", transport: "http" });
const message = JSON.stringify([{ role: "user", content: "Hello" }]);
const collection = async () => {
  const { data } = await own("GET /collections");
  return (data as Row[])[0]?.id;
};

/** Invites that were deleted stay in the list. */
const isGone = ({ status }: Row) => status === "cancelled";

/** How a record of each list is made, and whose key lists it. */
const makers: Record<string, { key?: string; make?(): Promise<unknown>; deletion?: (row: Row) => object }> = {
  "/configs": { make: () => own("POST /configs", { name: unique(), config: { retry: { attempts: 1 } } }) },
  "/model-aliases": {
    make: async () => {
      const { slug } = await own("POST /configs", { name: unique(), config: { retry: { attempts: 1 } } });
      return own("POST /model-aliases", { name: unique(), target: { config: slug } });
    },
  },
  "/saved-views": { make: () => own("POST /saved-views", { name: unique(), page: "logs", question: {} }) },
  "/playground-runs": { make: () => own("POST /playground-runs", { name: unique(), contents: {} }) },
  "/alert-rules": {
    make: () => own("POST /alert-rules", { name: unique(), metric: "requests", threshold: 1, destinations: [] }),
  },
  "/example-sets": { make: () => own("POST /example-sets", { name: unique(), examples: [{ variables: {} }] }) },
  "/eval-runs": {
    make: async () => {
      const { id } = await own("POST /example-sets", { name: unique(), examples: [{ body: { model: "echo-1" } }] });
      return own("POST /eval-runs", { example_set: id, variants: [{ model: "@nobody/m" }], budget_usd: 1 });
    },
  },
  "/guardrails": { make: () => own("POST /guardrails", { name: unique(), checks, actions: {} }) },
  "/admin/v2/guardrails": {
    key: adminKey,
    make: () => ofAdmin("POST /admin/v2/guardrails", { name: unique(), checks, actions: {} }),
  },
  "/collections": { make: () => own("POST /collections", { name: unique() }) },
  "/labels": { make: () => own("POST /labels", { name: unique() }) },
  "/prompts/partials": { make: () => own("POST /prompts/partials", { name: unique(), string: "Hello" }) },
  "/prompts": {
    make: async () => {
      const body = { name: unique(), string: message, parameters: {}, virtual_key: "", model: "m" };
      return own("POST /prompts", { ...body, collection_id: await collection() });
    },
  },
  "/policies/usage-limits": {
    make: () => own("POST /policies/usage-limits", { ...policy, type: "cost", credit_limit: 5 }),
  },
  "/policies/rate-limits": {
    make: () => own("POST /policies/rate-limits", { ...policy, type: "requests", unit: "rpm", value: 5 }),
  },
  "/policies/labels": {
    make: () => {
      const conditions = [{ key: "api_key", value: "a" }];
      return own("POST /policies/labels", { conditions, require_labels: { region: "eu" } });
    },
  },
  "/api-keys": {
    make: () => own("POST /api-keys/workspace/service", { name: unique(), scopes: ["completions.write"] }),
  },
  "/secret-references": {
    key: adminKey,
    make: () => {
      const auth = {
        vault_addr: "https://vault.example.com",
        vault_token: "fake-token-000000",
        vault_auth_type: "token",
      };
      const body = { name: unique(), manager_type: "hashicorp_vault", auth_config: auth, secret_path: "secret/data/a" };
      return ofAdmin("POST /secret-references", body);
    },
  },
  "/integrations": { key: adminKey, make: integration },
  "/providers": { make: async () => own("POST /providers", await provider()) },
  "/virtual-keys": {
    make: () => own("POST /virtual-keys", { name: unique(), provider: "openai", key: "fake-key-000000" }),
  },
  "/mcp-integrations": { make: () => own("POST /mcp-integrations", mcp()) },
  "/mcp-servers": {
    make: async () => {
      const { id } = await own("POST /mcp-integrations", mcp());
      return own("POST /mcp-servers", { name: unique(), mcp_integration_id: id });
    },
  },
  "/mcp-oauth-clients": {
    make: () => own("POST /mcp-oauth-clients", { name: unique(), redirect_uris: ["https://client.example.com/back"] }),
  },
  "/admin/users": { key: adminKey, make: () => addPerson(gateway, `${unique()}@example.com`) },
  "/admin/users/invites": {
    key: adminKey,
    make: async () => {
      const { data } = await ofAdmin("GET /admin/workspaces");
      const workspaces = [{ id: (data as Row[])[0]?.id, role: "member" }];
      const scopes = ["completions.write"];
      const body = {
        email: `${unique()}@example.com`,
        role: "member",
        workspaces,
        workspace_api_key_details: { scopes },
      };
      return ofAdmin("POST /admin/users/invites", body);
    },
  },
  "/admin/workspaces": {
    key: adminKey,
    make: () => ofAdmin("POST /admin/workspaces", { name: unique() }),
    deletion: ({ name }) => ({ name }),
  },
  "/logs/exports": {
    make: () =>
      own("POST /logs/exports", { filters: { time_of_generation_min: "2026-01-01" }, requested_data: ["id"] }),
  },
};

/** Lists that have other tests, or whose records are no control plane records. */
const exempt = new Set([
  "/logs",
  "/admin/scim/tokens",
  "/scim/workspaces",
  "/deployments",
  "/scim/v2/Users",
  "/scim/v2/Groups",
]);

/** Lists with routes of one record: the path of the list, and the methods of one record. */
const lists = new Map<string, Set<string>>();
for (const { method, path } of adminEndpoints) {
  const [, list, parameter] = /^\/v1(.*)\/(:\w+)$/.exec(path) ?? [];
  const isListed = adminEndpoints.some((one) => one.method === "GET" && one.path === `/v1${list}`);
  if (list === undefined || parameter === undefined || list.includes(":") || !isListed) continue;
  lists.set(list, (lists.get(list) ?? new Set()).add(method));
}

before(async () => {
  gateway = await createTestGateway({ inFile: true });
});
after(() => gateway.close());

test("each list of the control plane with routes of one record is in the table", () => {
  requireListed(lists.keys(), [...exempt, ...Object.keys(makers)], "makers");
});

/** What names a record of a list. */
const namesOf = (row: Row): string[] =>
  ["id", "slug", "client_id"].flatMap((name) => (typeof row[name] === "string" ? [row[name]] : []));

for (const [list, methods] of lists) {
  const { key = workspaceKey, make, deletion } = makers[list] ?? {};
  if (exempt.has(list) || !make) continue;
  test(`whatever id or slug ${list} lists is taken by ${[...methods].join(", ")}`, async () => {
    const rowsOf = async () => {
      const { data } = await as(key)(`GET ${list}`);
      assert.ok(Array.isArray(data));
      return data as Row[];
    };
    await make();
    for (const name of (await rowsOf()).flatMap(namesOf)) {
      for (const method of methods) {
        if (method === "DELETE") continue;
        const { status, body } = await call(gateway, `${method} ${list}/${name}`, {
          key,
          ...(method === "PUT" && { body: {} }),
        });
        assert.notEqual(status, 404, `${method} ${list}/${name}: ${JSON.stringify(body)}`);
        if (method === "GET") assert.equal(status, 200, `${method} ${list}/${name}: ${JSON.stringify(body)}`);
      }
    }
    if (!methods.has("DELETE")) return;
    const known = new Set((await rowsOf()).map(idIn));
    await make();
    const [first] = (await rowsOf()).filter((row) => !known.has(idIn(row)));
    for (const index of namesOf(first ?? {}).keys()) {
      const before = new Set((await rowsOf()).map(idIn));
      await make();
      const [made] = (await rowsOf()).filter((row) => !before.has(idIn(row)));
      const name = namesOf(made ?? {})[index];
      const { status, body } = await call(gateway, `DELETE ${list}/${name}`, {
        key,
        ...(deletion && { body: deletion(made ?? {}) }),
      });
      assert.ok(status === 200 || status === 204, `DELETE ${list}/${name}: ${JSON.stringify(body)}`);
      assert.ok(
        !(await rowsOf()).some((row) => made && idIn(row) === idIn(made) && !isGone(row)),
        `${list}/${name} is gone`,
      );
    }
  });
}

test("a request names a saved config by what its list shows", async () => {
  const made = await own("POST /configs", { name: unique(), config: { provider: "echo" } });
  const { data } = await own("GET /configs");
  const [saved] = (data as Row[]).filter(({ id }) => id === made.id);
  assert.ok(saved);
  for (const name of namesOf(saved)) {
    const response = await gateway.fetch("/v1/chat/completions", {
      method: "POST",
      headers: { "x-gateway-api-key": workspaceKey, "x-gateway-config": name, "content-type": "application/json" },
      body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
    });
    assert.equal(response.status, 200, await response.text());
  }
  const unknown = await gateway.fetch("/v1/chat/completions", {
    method: "POST",
    headers: {
      "x-gateway-api-key": workspaceKey,
      "x-gateway-config": crypto.randomUUID(),
      "content-type": "application/json",
    },
    body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
  });
  assert.deepEqual([unknown.status, JSON.parse(await unknown.text()).error.code], [400, "invalid_config_id"]);
});
