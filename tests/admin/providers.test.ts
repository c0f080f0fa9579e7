import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { call, createOrganisation, done, refusal, untouchedUsage } from "../support/control.ts";
import {
  createTestClock,
  createTestGateway,
  insertKey,
  workspaceKey as key,
  type TestGateway,
} from "../support/gateway.ts";

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let integration: string;
const clock = createTestClock();
before(async () => {
  gateway = await createTestGateway({ inFile: true, clock });
  other = await createOrganisation(await gateway.openFile(), "other");
  integration = await createIntegration({ create_default_provider: false });
});
after(() => gateway.close());

interface Receipt {
  id: string;
  slug: string;
}
interface Refused {
  error: { code: string; param: string };
}
interface List {
  total: number;
  data: Record<string, unknown>[];
}

async function createIntegration(members: object, by: { key?: string } = { key }): Promise<string> {
  const body = { name: "Main", ai_provider_id: "openai", key: "sk-test-0123456789abcdef", ...members };
  return (await done<Receipt>(call<Receipt>(gateway, "POST /integrations", { ...by, body }))).slug;
}
const create = (members: object = {}) =>
  done<Receipt>(
    call<Receipt>(gateway, "POST /providers", {
      key,
      body: { name: "My Provider", integration_id: integration, ...members },
    }),
  );
const read = (slug: string) => done(call(gateway, `GET /providers/${slug}`, { key }));

const usage_limits = { credit_limit: 10.5, alert_threshold: 5, periodic_reset: "monthly" };
const rate = { type: "tokens", unit: "rpd", value: 100 };

test("POST /providers creates one, shown with its integration", async () => {
  const receipt = await create({ note: "n", usage_limits, rate_limits: rate, expires_at: "2026-02-01T00:00:00Z" });
  assert.match(receipt.slug, /^my-provider-[0-9a-f]{6}$/);
  const row = await read(receipt.slug);
  assert.deepEqual(await read(receipt.id), row);
  const { id, workspace_id, organisation_id, ...shown } = row;
  assert.equal(id, receipt.id);
  assert.ok(workspace_id && organisation_id);
  const created = new Date(clock.now()).toISOString();
  assert.deepEqual(shown, {
    name: "My Provider",
    slug: receipt.slug,
    integration_id: integration,
    integration_name: "Main",
    ai_provider_name: "openai",
    model_config: {},
    masked_api_key: "sk*****def",
    key: "",
    secret_mappings: null,
    note: "n",
    status: "active",
    usage_limits: {
      ...usage_limits,
      type: "cost",
      periodic_reset_days: null,
      next_usage_reset_at: "2026-02-01T00:00:00.000Z",
      ...untouchedUsage(shown.usage_limits),
    },
    rate_limits: [rate],
    reset_usage: null,
    last_reset_at: null,
    expires_at: "2026-02-01T00:00:00.000Z",
    created_at: created,
    last_updated_at: created,
    object: "provider",
  });
  assert.deepEqual(await done(call(gateway, `GET /virtual-keys/${receipt.slug}`, { key })), {
    ...row,
    object: "virtual-key",
  });
});

for (const [limits, wanted] of [
  [{ periodic_reset: "weekly" }, "2026-01-19T00:00:00.000Z"],
  [{ periodic_reset_days: 30 }, "2026-02-14T00:00:00.000Z"],
  [{ next_usage_reset_at: "2026-03-04T05:06:07Z" }, "2026-03-04T00:00:00.000Z"],
  [{}, null],
] as const) {
  test(`a budget with ${JSON.stringify(limits)} resets at ${wanted}`, async () => {
    const { slug } = await create({ usage_limits: { credit_limit: 1, ...limits } });
    const { usage_limits: shown } = await read(slug);
    assert.equal((shown as { next_usage_reset_at: string | null }).next_usage_reset_at, wanted);
  });
}

test("PUT /providers preserves absent fields, clears null and replaces given values", async () => {
  const { id, slug } = await create({ note: "n", usage_limits, rate_limits: [rate], expires_at: "2026-02-01" });
  const update = async (body: object) => {
    assert.deepEqual(await done(call(gateway, `PUT /providers/${slug}`, { key, body })), { id, slug });
    const { last_updated_at: _, ...row } = await read(slug);
    return row;
  };
  const { last_updated_at: _, ...before } = await read(slug);
  assert.deepEqual(await update({ name: "Other" }), { ...before, name: "Other" });
  const cleared = await update({ note: null, usage_limits: null, rate_limits: null, expires_at: null });
  const none = { note: null, usage_limits: null, rate_limits: null, expires_at: null };
  assert.deepEqual(cleared, { ...before, name: "Other", ...none });
  assert.deepEqual((await update({ rate_limits: [rate] })).rate_limits, [rate]);
  assert.equal((await update({ rate_limits: [] })).rate_limits, null);
});

test("the status of a provider follows its expiry, and reset_usage is noted with its time", async () => {
  const { slug } = await create({ expires_at: "2026-01-15T12:00:01Z" });
  const status = async () => (await read(slug)).status;
  assert.equal(await status(), "active");
  clock.advance(1_000);
  assert.equal(await status(), "expired");
  await done(call(gateway, `PUT /providers/${slug}`, { key, body: { expires_at: null } }));
  assert.equal(await status(), "active");
  await done(call(gateway, `PUT /providers/${slug}`, { key, body: { reset_usage: true } }));
  assert.equal((await read(slug)).last_reset_at, new Date(clock.now()).toISOString());
});

test("a slug is unique in the workspace", async () => {
  await create({ slug: "Chosen_1" });
  const body = { name: "n", integration_id: integration, slug: "Chosen_1" };
  assert.equal(await refusal(call(gateway, "POST /providers", { key, body })), "409 AB07");
});

test("DELETE /providers leaves the integration", async () => {
  const { slug } = await create();
  assert.deepEqual(await done(call(gateway, `DELETE /providers/${slug}`, { key })), {});
  assert.equal(await refusal(call(gateway, `GET /providers/${slug}`, { key })), "404 AB08");
  assert.equal((await done(call(gateway, `GET /integrations/${integration}`, { key }))).slug, integration);
});

const plain = () => ({ name: "n", integration_id: integration });
for (const [name, members, param] of [
  ["no name", { name: undefined }, "name"],
  ["a name of 256 characters", { name: "n".repeat(256) }, "name"],
  ["no integration", { integration_id: undefined }, "integration_id"],
  ["a slug with a space", { slug: "a b" }, "slug"],
  ["a note of 1025 characters", { note: "n".repeat(1025) }, "note"],
  ["a credit limit below 1", { usage_limits: { credit_limit: 0 } }, "usage_limits.credit_limit"],
  [
    "a threshold at the limit",
    { usage_limits: { credit_limit: 5, alert_threshold: 5 } },
    "usage_limits.alert_threshold",
  ],
  [
    "both resets",
    { usage_limits: { periodic_reset: "weekly", periodic_reset_days: 3 } },
    "usage_limits.periodic_reset_days",
  ],
  ["366 days", { usage_limits: { periodic_reset_days: 366 } }, "usage_limits.periodic_reset_days"],
  ["two rate limits", { rate_limits: [rate, { ...rate, unit: "rpm" }] }, "rate_limits"],
  ["an unknown unit", { rate_limits: { ...rate, unit: "rpy" } }, "rate_limits"],
  ["a negative rate", { rate_limits: [{ ...rate, value: -1 }] }, "rate_limits"],
  ["no time", { expires_at: "tomorrow" }, "expires_at"],
] as const) {
  test(`POST /providers refuses ${name}`, async () => {
    const body = { ...plain(), ...members };
    const { status, body: answer } = await call<Refused>(gateway, "POST /providers", { key, body });
    assert.deepEqual([status, answer.error.code], [400, "AB01"]);
    assert.ok(answer.error.param.startsWith(param), answer.error.param);
  });
}

test("a provider uses an integration its workspace owns or shares", async () => {
  const shared = await createIntegration({ configurations: { openai_project: "not for all" } }, {});
  const use = (integration_id: string) =>
    call(gateway, "POST /providers", { key, body: { ...plain(), integration_id } });
  const grant = (enabled: boolean) => {
    const body = { workspaces: [{ id: "default", enabled, create_default_provider: false }] };
    return done(call(gateway, `PUT /integrations/${shared}/workspaces`, { body }));
  };
  assert.equal(await refusal(use(shared)), "404 AB02");
  assert.equal(await refusal(use("nobody")), "404 AB02");
  await grant(true);
  const { slug } = await done(use(shared));
  assert.ok(typeof slug === "string");
  // workspaces do not see settings of the organisation
  assert.deepEqual((await read(slug)).model_config, {});
  await grant(false);
  assert.equal(await refusal(use(shared)), "404 AB02");
  assert.equal((await read(slug)).integration_id, shared);
  assert.equal(await refusal(call(gateway, `DELETE /integrations/${shared}`)), "409 AB07");
});

test("an admin key names the workspace, in query or body", async () => {
  const body = { name: "By the admin", integration_id: integration };
  assert.equal(await refusal(call(gateway, "POST /providers", { body })), "400 AB01");
  assert.equal(await refusal(call(gateway, "GET /providers")), "400 AB01");
  const { slug } = await done<Receipt>(
    call<Receipt>(gateway, "POST /providers", { body: { ...body, workspace_id: "default" } }),
  );
  assert.equal(await refusal(call(gateway, `GET /providers/${slug}`)), "400 AB01");
  assert.equal((await done(call(gateway, `GET /providers/${slug}?workspace_id=default`))).slug, slug);
  await done(call(gateway, `PUT /providers/${slug}?workspace_id=default`, { body: { note: "query" } }));
  assert.equal((await read(slug)).note, "query");
  await done(call(gateway, `PUT /providers/${slug}`, { body: { note: "body", workspace_id: "default" } }));
  assert.equal((await read(slug)).note, "body");
  for (const workspace of [other.workspaceId, "nobody"]) {
    assert.equal(await refusal(call(gateway, `GET /providers?workspace_id=${workspace}`)), "403 AB03");
    assert.equal(await refusal(call(gateway, `GET /providers?workspace_id=${workspace}`, { key })), "403 AB03");
    const foreign = { ...body, workspace_id: workspace };
    assert.equal(await refusal(call(gateway, "POST /providers", { key, body: foreign })), "403 AB03");
  }
  assert.deepEqual(await done(call(gateway, `DELETE /providers/${slug}?workspace_id=default`)), {});
});

test("GET /providers has pages, newest first", async () => {
  clock.advance(1_000);
  const { slug } = await create();
  const first = await done<List>(call<List>(gateway, "GET /providers?page_size=1", { key }));
  assert.deepEqual(
    first.data.map((row) => row.slug),
    [slug],
  );
  assert.ok(first.total > 1);
  assert.deepEqual((await done<List>(call<List>(gateway, "GET /providers?current_page=99999", { key }))).data, []);
  for (const query of ["page_size=0", "page_size=1001", "current_page=x"]) {
    for (const path of ["providers", "virtual-keys"]) {
      assert.equal(await refusal(call(gateway, `GET /${path}?${query}`, { key })), "400 AB01", query);
    }
  }
});

test("either family of scopes opens both paths, others none", async () => {
  const database = await gateway.openFile();
  const { slug } = await create();
  for (const [scope, status] of [
    ["providers.read", 200],
    ["virtual_keys.read", 200],
    ["providers.list", 403],
  ] as const) {
    const { key: scoped } = mintApiKey("gk");
    await insertKey(database, scoped, { scopes: JSON.stringify([scope]) });
    for (const path of ["providers", "virtual-keys"]) {
      const answer = await call(gateway, `GET /${path}/${slug}`, { key: scoped });
      assert.equal(answer.status, status, `${scope} ${path}`);
    }
  }
});

test("another organisation cannot see a provider", async () => {
  const { id, slug } = await create();
  for (const path of ["providers", "virtual-keys"]) {
    for (const name of [id, slug, "nobody"]) {
      for (const [route, given] of [
        [`GET /${path}/${name}`, {}],
        [`PUT /${path}/${name}`, { body: { name: "Theirs" } }],
        [`DELETE /${path}/${name}`, {}],
      ] as const) {
        assert.equal(await refusal(call(gateway, route, { key: other.workspaceKey, ...given })), "404 AB08", route);
      }
    }
    assert.equal((await done<List>(call<List>(gateway, `GET /${path}`, { key: other.workspaceKey }))).total, 0);
  }
  const foreign = { name: "n", integration_id: integration };
  assert.equal(await refusal(call(gateway, "POST /providers", { key: other.workspaceKey, body: foreign })), "404 AB02");
});
