import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, createOrganisation, done, refusal, untouchedUsage } from "../support/control.ts";
import { createTestClock, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
const clock = createTestClock();
before(async () => {
  gateway = await createTestGateway({ inFile: true, clock });
  const database = await gateway.openFile();
  const { rows } = await database.read("SELECT id FROM organisations");
  other = await createOrganisation(database, "other");
  for (const [slug, status] of [
    ["second", "active"],
    ["third", "active"],
    ["gone", "archived"],
  ] as const) {
    await database.write([
      {
        sql: "INSERT INTO workspaces (id, organisation_id, name, slug, status, created_at) VALUES (?,?,?,?,?,1)",
        args: [crypto.randomUUID(), String(rows[0]?.id), slug, slug, status],
      },
    ]);
  }
});
after(() => gateway.close());

interface Access {
  id: string;
  slug: string;
  enabled: boolean;
  usage_limits: Record<string, unknown>[] | null;
  rate_limits: unknown[] | null;
  last_reset_at: string | null;
}

const create = async () => {
  const body = { name: "Lent", ai_provider_id: "openai", key: "sk-test-0123456789abcdef" };
  return (await done<{ slug: string }>(call(gateway, "POST /integrations", { body }))).slug;
};
const put = (slug: string, body: object) => call(gateway, `PUT /integrations/${slug}/workspaces`, { body });
const list = async (slug: string) => {
  const answer = await done<{ total: number; workspaces: Access[] }>(
    call(gateway, `GET /integrations/${slug}/workspaces`),
  );
  assert.equal(answer.total, answer.workspaces.length);
  return new Map(answer.workspaces.map((workspace) => [workspace.slug, workspace]));
};
const providersIn = async (workspace: string, integration: string) => {
  const { data } = await done<{ data: { integration_id: string; slug: string; note: string }[] }>(
    call(gateway, `GET /providers?workspace_id=${workspace}&page_size=1000`),
  );
  return data.filter(({ integration_id }) => integration_id === integration);
};

const usage = { type: "cost", credit_limit: 10, alert_threshold: 5, periodic_reset: "weekly" };
const rate = { type: "requests", unit: "rpm", value: 0 };

test("PUT /integrations/{slug}/workspaces merges by workspace and distinguishes enabled, disabled and absent", async () => {
  const slug = await create();
  assert.equal((await list(slug)).size, 0);
  const given = { enabled: true, usage_limits: [usage], rate_limits: [rate] };
  assert.deepEqual(
    await done(
      put(slug, {
        workspaces: [
          { id: "default", ...given },
          { id: "second", enabled: false },
        ],
      }),
    ),
    {},
  );
  const first = (await list(slug)).get("default");
  // 15 January 2026 is a Thursday
  const stored = { ...usage, periodic_reset_days: null, next_usage_reset_at: "2026-01-19T00:00:00.000Z" };
  assert.deepEqual(
    [first?.enabled, first?.usage_limits, first?.rate_limits, first?.last_reset_at],
    [true, [{ ...stored, ...untouchedUsage(first?.usage_limits?.[0]) }], [rate], null],
  );
  assert.equal((await list(slug)).get("second")?.enabled, false);
  await done(put(slug, { workspaces: [{ id: first?.id, enabled: false, reset_usage: true }] }));
  const second = (await list(slug)).get("default");
  assert.deepEqual(second, { ...first, enabled: false, last_reset_at: new Date(clock.now()).toISOString() });
  await done(put(slug, { workspaces: [{ id: "default", enabled: true, usage_limits: null, rate_limits: [] }] }));
  const third = (await list(slug)).get("default");
  assert.deepEqual([third?.usage_limits, third?.rate_limits], [null, null]);
});

test("granting access creates a provider, once", async () => {
  const slug = await create();
  const body = { workspaces: [{ id: "default", enabled: true }], default_provider_slug: `granted-${slug}` };
  await done(put(slug, body));
  await done(put(slug, body));
  const [provider, ...more] = await providersIn("default", slug);
  assert.deepEqual([provider?.slug, provider?.note, more], [`granted-${slug}`, "Created when access was granted", []]);
  // removing access leaves the provider
  await done(put(slug, { workspaces: [{ id: "default", enabled: false }] }));
  await done(put(slug, { workspaces: [{ id: "default", enabled: true }] }));
  assert.equal((await providersIn("default", slug)).length, 1);
  await done(put(slug, { workspaces: [{ id: "second", enabled: true, create_default_provider: false }] }));
  await done(put(slug, { workspaces: [{ id: "third", enabled: false }] }));
  assert.deepEqual([...(await providersIn("second", slug)), ...(await providersIn("third", slug))], []);
  const next = await create();
  assert.equal(await refusal(put(next, body)), "400 AB01");
  assert.equal((await list(next)).size, 0);
  await done(
    put(next, {
      workspaces: [{ id: "default", enabled: true, default_provider_slug: `own-${next}` }],
      create_default_provider: false,
    }),
  );
  assert.equal((await providersIn("default", next)).length, 0);
});

test("global_workspace_access is stored, and reaches existing workspaces only on request", async () => {
  const slug = await create();
  const settings = async () =>
    (await done(call(gateway, `GET /integrations/${slug}`))).global_workspace_access_settings;
  const global_workspace_access = { enabled: true, rate_limits: [rate] };
  await done(put(slug, { global_workspace_access }));
  assert.deepEqual(await settings(), { enabled: true, usage_limits: null, rate_limits: [rate] });
  assert.equal((await list(slug)).size, 0);
  const own = { id: "second", enabled: false, rate_limits: null };
  await done(
    put(slug, { override_existing_workspace_access: true, workspaces: [own], create_default_provider: false }),
  );
  const shown = [...(await list(slug)).values()].map(({ slug: name, enabled, rate_limits }) => [
    name,
    enabled,
    rate_limits,
  ]);
  assert.deepEqual(shown.sort(), [
    ["default", true, [rate]],
    ["second", false, null],
    ["third", true, [rate]],
  ]);
  assert.equal((await done(call(gateway, `GET /integrations/${slug}`))).workspace_count, 2);
  await done(put(slug, { global_workspace_access: null }));
  assert.deepEqual(await settings(), { enabled: false, usage_limits: null, rate_limits: null });
  assert.equal(await refusal(put(slug, { override_existing_workspace_access: true })), "400 AB01");
});

for (const [name, body, wanted] of [
  ["a workspace without a switch", { workspaces: [{ id: "default" }] }, "400 AB01"],
  ["two usage limits", { workspaces: [{ id: "default", enabled: true, usage_limits: [usage, usage] }] }, "400 AB01"],
  ["two rate limits", { workspaces: [{ id: "default", enabled: true, rate_limits: [rate, rate] }] }, "400 AB01"],
  [
    "a workspace twice",
    {
      workspaces: [
        { id: "default", enabled: true },
        { id: "default", enabled: true },
      ],
    },
    "400 AB01",
  ],
  ["1001 workspaces", { workspaces: Array(1001).fill({ id: "default", enabled: true }) }, "400 AB01"],
  ["a slug with a dot", { default_provider_slug: "a.b" }, "400 AB01"],
  ["two global limits", { global_workspace_access: { enabled: true, rate_limits: [rate, rate] } }, "400 AB01"],
  ["global access without a switch", { global_workspace_access: {} }, "400 AB01"],
  ["an unknown workspace", { workspaces: [{ id: "nobody", enabled: true }] }, "403 AB03"],
  ["an archived workspace", { workspaces: [{ id: "gone", enabled: true }] }, "403 AB03"],
] as const) {
  test(`PUT /integrations/{slug}/workspaces refuses ${name}`, async () => {
    assert.equal(await refusal(put(await create(), body)), wanted);
  });
}

test("access is limited to the organisation's workspaces and integrations", async () => {
  const slug = await create();
  assert.equal(await refusal(put(slug, { workspaces: [{ id: other.workspaceId, enabled: true }] })), "403 AB03");
  const body = { name: "Own", ai_provider_id: "openai", key: "sk-test-0123456789abcdef" };
  const own = await done<{ slug: string }>(call(gateway, "POST /integrations", { key: workspaceKey, body }));
  assert.equal(await refusal(put(own.slug, { workspaces: [{ id: "second", enabled: true }] })), "400 AB01");
  assert.deepEqual([...(await list(own.slug)).keys()], ["default"]);
});
