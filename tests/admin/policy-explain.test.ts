import assert from "node:assert/strict";
import { test } from "node:test";
import { scopesOfKind } from "../../src/auth/scopes.ts";
import type { PolicyPlan } from "../../src/schemas/policies.ts";
import { type CallOptions, call, createOrganisation, done, refusal } from "../support/control.ts";
import { chat, dollarsOfCall, holdCall, type LimitParts, makePolicy, withGateway } from "../support/limited.ts";
import { addPerson, problem } from "../support/people.ts";

interface Key {
  id: string;
  key: string;
}

async function makeKey({ gateway, workspaceId }: LimitParts, members: object = {}): Promise<Key> {
  const body = { name: "explained", workspace_id: workspaceId, scopes: scopesOfKind("workspace-service"), ...members };
  return done(call<Key>(gateway, "POST /api-keys/workspace/service", { body }));
}

const route = (query: Readonly<Record<string, string>>) => `GET /policies/explain?${new URLSearchParams(query)}`;
const explain = async (parts: LimitParts, query: Record<string, string>, options: CallOptions = {}) => {
  const { object, policies, total } = await done(call<PolicyPlan>(parts.gateway, route(query), options));
  assert.equal(object, "policy_plan");
  return { policies, total };
};

const all = [{ key: "provider", value: "*" }];
/** Thursday noon, by the clock of the tests. */
const monday = "2026-01-19T00:00:00.000Z";

test("GET /policies/explain shows what the next request of a key meets, and what is left", () =>
  withGateway(async (parts) => {
    const { id: keyId, key } = await makeKey(parts, {
      rate_limits: [{ type: "requests", unit: "rpm", value: 10 }],
      usage_limits: { type: "tokens", credit_limit: 5_000 },
      defaults: { metadata: { team: "red" } },
    });
    await done(
      call(parts.gateway, "PUT /admin/workspaces/default", {
        body: { rate_limits: [{ type: "requests", unit: "rpd", value: 100 }] },
      }),
    );
    const members = { conditions: all, type: "cost", credit_limit: 100, periodic_reset: "weekly" };
    const budget = await makePolicy(parts, "usage", { ...members, group_by: [{ key: "metadata.team" }] });
    const rate = await makePolicy(parts, "rate", { conditions: all, type: "tokens", unit: "rph", value: 9_000 });
    const gpt = await makePolicy(parts, "rate", {
      conditions: [{ key: "model", value: "*", excludes: "gpt-4o" }],
      type: "requests",
      unit: "rpm",
      value: 1,
    });
    const tools = await makePolicy(parts, "rate", {
      conditions: [{ key: "mcp_tool", value: "*" }],
      type: "requests",
      unit: "rpm",
      value: 1,
      target: "mcp_tools",
    });
    const archived = await makePolicy(parts, "rate", { conditions: all, type: "requests", unit: "rpm", value: 1 });
    await done(call(parts.gateway, `DELETE /policies/rate-limits/${archived}`));
    assert.equal((await chat(parts, key)).status, 200);
    const { policies, total } = await explain(parts, { api_key_id: keyId, model: "gpt-4o", provider: "openai" });
    assert.equal(total, 4);
    const ofKey = `api_key:${keyId}`;
    const none = { bucket: null, used: null, reserved: null, left: null, resets_at: null };
    const every = { holder: "policy", applies: true, why: "All conditions hold", reserved: 0 };
    const of = (holder: string) => ({ applies: true, why: `It is a limit of the ${holder}`, reserved: 0 });
    const requests = { kind: "rate", type: "requests" };
    const wanted = [
      {
        id: keyId,
        holder: "api_key",
        kind: "usage",
        type: "tokens",
        ...of("API Key"),
        bucket: ofKey,
        limit: 5_000,
        used: 1_500,
        left: 3_500,
        resets_at: null,
      },
      {
        id: keyId,
        holder: "api_key",
        ...requests,
        ...of("API Key"),
        bucket: ofKey,
        limit: 10,
        used: 1,
        left: 9,
        resets_at: "2026-01-15T12:01:00.000Z",
      },
      {
        id: parts.workspaceId,
        holder: "workspace",
        ...requests,
        ...of("workspace default"),
        bucket: `workspace_id:${parts.workspaceId}`,
        limit: 100,
        used: 1,
        left: 99,
        resets_at: "2026-01-16T00:00:00.000Z",
      },
      {
        id: budget,
        ...every,
        kind: "usage",
        type: "cost",
        bucket: "metadata.team:red",
        limit: 100,
        used: dollarsOfCall,
        left: 100 - dollarsOfCall,
        resets_at: monday,
      },
      {
        id: rate,
        ...every,
        kind: "rate",
        type: "tokens",
        bucket: ofKey,
        limit: 9_000,
        used: 1_500,
        left: 7_500,
        resets_at: "2026-01-15T13:00:00.000Z",
      },
      { id: gpt, holder: "policy", ...requests, ...none, limit: 1, applies: false },
      { id: tools, holder: "policy", ...requests, ...none, limit: 1, applies: false },
    ];
    const reasons = new Map([
      [gpt, "The condition model excludes gpt-4o"],
      [tools, "It limits calls of MCP tools"],
    ]);
    const order = (entries: readonly { id: string; kind: string }[]) =>
      entries.toSorted((one, other) => (one.id + one.kind < other.id + other.kind ? -1 : 1));
    assert.deepEqual(
      order(policies),
      order(wanted).map((entry) => ({ why: reasons.get(entry.id), queue: null, ...entry })),
    );
    assert.deepEqual(
      policies.map(({ holder }) => holder),
      ["api_key", "api_key", "workspace", "policy", "policy", "policy", "policy"],
    );
    // what a request with the caller's own key meets
    const own = await explain(parts, { model: "gpt-4o", provider: "openai" }, { key });
    assert.deepEqual(own.policies, policies);
  }));

test("GET /policies/explain shows what a running request reserved", () => {
  const { transport, started, finish } = holdCall(1);
  return withGateway(
    async (parts) => {
      const { key } = await makeKey(parts, { rate_limits: [{ type: "requests", unit: "rpm", value: 3 }] });
      const answer = chat(parts, key);
      await started;
      const { policies } = await explain(parts, {}, { key });
      const [limit] = policies;
      assert.deepEqual([limit?.used, limit?.reserved, limit?.left], [0, 1, 2]);
      finish();
      await answer;
    },
    { transport },
  );
});

test("GET /policies/explain resolves stored providers, with their limits", () =>
  withGateway(async (parts) => {
    const { gateway } = parts;
    const integration = { name: "main", slug: "main", ai_provider_id: "openai", key: "sk-obviously-fake" };
    await done(call(gateway, "POST /integrations", { body: { ...integration, workspace_id: "default" } }));
    const limits = { rate_limits: [{ type: "requests", unit: "rpm", value: 7 }], workspace_id: "default" };
    const { id } = await done(call<{ id: string }>(gateway, "PUT /providers/main", { body: limits }));
    const conditions = [
      { key: "virtual_key", value: "main" },
      { key: "provider", value: "openai" },
      { key: "model", value: "@main/gpt-4o" },
    ];
    const policy = await makePolicy(parts, "rate", { conditions, type: "requests", unit: "rpm", value: 1 });
    const { id: keyId } = await makeKey(parts);
    for (const query of [
      { provider: "@main", model: "gpt-4o" },
      { provider: "main", model: "gpt-4o" },
      { provider: "@main", model: "@main/gpt-4o" },
      { model: "@main/gpt-4o" },
    ]) {
      const { policies } = await explain(parts, { api_key_id: keyId, ...query });
      assert.deepEqual(
        policies.map((entry) => [entry.id, entry.holder, entry.applies, entry.left]),
        [
          [id, "provider", true, 7],
          [policy, "policy", true, 1],
        ],
        JSON.stringify(query),
      );
    }
    const { policies } = await explain(parts, { api_key_id: keyId, provider: "openai", model: "gpt-4o" });
    assert.deepEqual(
      policies.map(({ why }) => why),
      ["The request has no value for the condition virtual_key"],
    );
    for (const [query, param] of [
      [{ provider: "@other" }, "provider"],
      [{ provider: "no-such-provider" }, "provider"],
      [{ model: "@other/gpt-4o" }, "model"],
    ] as const) {
      const found = await problem(gateway, route({ api_key_id: keyId, ...query }), {});
      assert.equal(found, `404 AB02 ${param}`);
    }
  }));

test("GET /policies/explain compares metadata, config, prompt and type of the query", () =>
  withGateway(async (parts) => {
    const { id: keyId } = await makeKey(parts, { defaults: { metadata: { team: "red" } } });
    const conditions = [
      { key: "metadata.team", value: "red" },
      { key: "metadata.user", value: "alice" },
      { key: "config", value: "pc-a" },
      { key: "prompt", value: "pp-a" },
      { key: "endpoint_type", value: "embed" },
    ];
    const group_by = [{ key: "metadata.user" }, { key: "config" }];
    await makePolicy(parts, "rate", { conditions, group_by, type: "requests", unit: "rpm", value: 1 });
    const query = { api_key_id: keyId, config: "pc-a", prompt: "pp-a", endpoint_type: "embed" };
    const bucketOf = async (metadata: object, changes: Record<string, string> = {}) => {
      const { policies } = await explain(parts, { ...query, metadata: JSON.stringify(metadata), ...changes });
      return policies[0]?.bucket;
    };
    // metadata of the key wins over that of the request
    assert.equal(await bucketOf({ user: "alice", team: "blue" }), "metadata.user:alice-config:pc-a");
    assert.equal(await bucketOf({ user: "bob" }), null);
    for (const name of ["config", "prompt", "endpoint_type"]) {
      assert.equal(await bucketOf({ user: "alice" }, { [name]: "other" }), null, name);
    }
  }));

test("GET /policies/explain has pages over the policies; the first one begins with the limits of records", () =>
  withGateway(async (parts) => {
    const { id: keyId } = await makeKey(parts, { rate_limits: [{ type: "requests", unit: "rpm", value: 1 }] });
    const made: string[] = [];
    for (const kind of ["usage", "usage", "usage", "rate", "rate"] as const) {
      const members = { conditions: all, type: "requests" };
      const limit = kind === "usage" ? { credit_limit: 1 } : { unit: "rpm", value: 1 };
      made.push(await makePolicy(parts, kind, { ...members, ...limit }));
    }
    const found: (string | undefined)[] = [];
    for (let page = 0; page < 4; page++) {
      const query = { api_key_id: keyId, page_size: "2", current_page: String(page) };
      const { policies, total } = await explain(parts, query);
      assert.equal(total, 5);
      const own = policies.filter(({ holder }) => holder !== "policy");
      assert.equal(own.length, page === 0 ? 1 : 0);
      assert.equal(policies.length - own.length, [2, 2, 1, 0][page]);
      found.push(...policies.filter(({ holder }) => holder === "policy").map(({ id }) => id));
    }
    assert.deepEqual(found.toSorted(), made.toSorted());
  }));

test("GET /policies/explain refuses bad input by name, and knows no keys and policies of others", () =>
  withGateway(
    async (parts) => {
      const { gateway } = parts;
      const database = await gateway.openFile();
      const other = await createOrganisation(database, "other");
      const second = await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name: "Two" } }));
      const { id: keyId, key } = await makeKey(parts);
      const { key: secondKey } = await makeKey({ ...parts, workspaceId: second.id });
      await makePolicy(parts, "rate", { conditions: all, type: "requests", unit: "rpm", value: 1 });
      const admins = await done(
        call<{ data: { id: string; type: string }[] }>(gateway, "GET /api-keys?type=organisation-service"),
      );
      for (const [query, wanted] of [
        [{}, "400 AB01 workspace_id"],
        [{ api_key_id: admins.data[0]?.id ?? "" }, "400 AB01 api_key_id"],
        [{ api_key_id: keyId, metadata: "{" }, "400 AB01 metadata"],
        [{ api_key_id: keyId, metadata: "[]" }, "400 AB01 metadata"],
        [{ api_key_id: keyId, metadata: '{"a":{}}' }, "400 AB01 metadata"],
        [{ api_key_id: keyId, model: "x".repeat(1_025) }, "400 AB01 model"],
        [{ api_key_id: keyId, user: "alice" }, "400 AB01 user"],
        [{ api_key_id: keyId, page_size: "101" }, "400 AB01 page_size"],
        [{ workspace_id: "no-workspace" }, "403 AB03 workspace_id"],
      ] as const) {
        assert.equal(await problem(gateway, route(query), {}), wanted, JSON.stringify(query).slice(0, 80));
      }
      for (const [query, caller] of [
        [{ api_key_id: keyId }, other.adminKey],
        [{ api_key_id: keyId }, other.workspaceKey],
        [{ api_key_id: keyId }, secondKey],
        [{ api_key_id: keyId, workspace_id: second.id }, undefined],
        [{ api_key_id: crypto.randomUUID() }, key],
        [{ api_key_id: "not-an-id" }, key],
      ] as const) {
        const options = caller === undefined ? {} : { key: caller };
        assert.equal(await refusal(call(gateway, route(query), options)), "404 AB08");
      }
      assert.equal((await explain(parts, {}, { key: other.workspaceKey })).total, 0);
      assert.equal((await explain(parts, {}, { key: secondKey })).total, 0);
      // without a key, limits of no key are shown
      assert.equal((await explain(parts, { workspace_id: "default" })).total, 1);
      await done(call(gateway, `DELETE /api-keys/${keyId}`));
      assert.equal(await refusal(call(gateway, route({ api_key_id: keyId }))), "404 AB08");
    },
    { inFile: true },
  ));

test("GET /policies/explain is open to members of a workspace whose key has a scope of policies", () =>
  withGateway(async (parts) => {
    const { gateway, workspaceId } = parts;
    for (const [role, scope, wanted] of [
      ["member", "policies.read", "200 "],
      ["manager", "policies.list", "200 "],
      ["manager", "policies.update", "403 AB03"],
    ] as const) {
      const email = `${role}-${scope}@example.test`;
      const { key } = await addPerson(gateway, email, { workspaces: [{ id: workspaceId, role }], scopes: [scope] });
      assert.equal(await refusal(call(gateway, route({}), { key })), wanted, `${role} with ${scope}`);
    }
  }));

test("the plan of a request that names an alias has the limits of the alias", () =>
  withGateway(async (parts) => {
    const { key } = await makeKey(parts);
    const integration = { name: "Echo", slug: "named", ai_provider_id: "echo", key: "fake-echo-key-000000" };
    await done(call(parts.gateway, "POST /integrations", { key, body: integration }));
    const rate_limits = [{ type: "requests", unit: "rpd", value: 3 }];
    const body = { name: "limited", target: { model: "@named/echo-1" }, rate_limits };
    const { id } = await done(call<Key>(parts.gateway, "POST /model-aliases", { key, body }));
    const seen = await makePolicy(parts, "rate", {
      conditions: [{ key: "model", value: "limited" }],
      type: "requests",
      unit: "rpm",
      value: 5,
    });
    const { policies } = await explain(parts, { model: "limited" }, { key });
    const met = policies.filter(({ applies }) => applies).map(({ id, holder, limit }) => [id, holder, limit]);
    assert.deepEqual(met, [
      [id, "model_alias", 3],
      [seen, "policy", 5],
    ]);
  }));
