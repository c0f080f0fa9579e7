import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway();
});
after(() => gateway.close());

const key = workspaceKey;
const routing = { strategy: { mode: "single" }, targets: [{ provider: "@main" }] };

interface Receipt {
  id: string;
  slug: string;
  version_id: string;
}

const create = (body: object) => done<Receipt>(call<Receipt>(gateway, "POST /configs", { key, body }));

test("POST /configs returns a receipt whose slug contains the name", async () => {
  const receipt = await create({ name: "My Config", config: routing });
  assert.match(receipt.slug, /^pc-my-con-[0-9a-f]{6}$/);
  const record = await done(call(gateway, `GET /configs/${receipt.slug}`, { key }));
  assert.equal(record.id, receipt.id);
  assert.deepEqual(JSON.parse(String(record.config)), routing);
  assert.deepEqual(await done(call(gateway, `GET /configs/${receipt.id}`, { key })), record);
});

test("PUT /configs creates a version for new content only", async () => {
  const { slug, version_id } = await create({ name: "Versions", config: JSON.stringify(routing) });
  const versionOf = async (body: object) => {
    const { data } = await done<{ data: Receipt }>(call(gateway, `PUT /configs/${slug}`, { key, body }));
    return data.version_id;
  };
  assert.equal(await versionOf({ name: "Other name" }), version_id);
  assert.equal(await versionOf({ config: routing }), version_id);
  assert.notEqual(await versionOf({ config: { provider: "echo" } }), version_id);
  const versions = await done<{ total: number; data: { config: string; name: string }[] }>(
    call(gateway, `GET /configs/${slug}/versions`, { key }),
  );
  assert.equal(versions.total, 2);
  assert.equal(versions.data[0]?.name, "Other name");
});

test("one config of a workspace is its default", async () => {
  const first = await create({ name: "First", config: { provider: "echo" }, isDefault: 1 });
  const second = await create({ name: "Second", config: { provider: "echo" }, isDefault: 1 });
  const isDefault = async ({ slug }: Receipt) =>
    (await done(call(gateway, `GET /configs/${slug}`, { key }))).is_default;
  assert.deepEqual([await isDefault(first), await isDefault(second)], [0, 1]);
});

test("an archived config is listed only on request", async () => {
  const { slug } = await create({ name: "Old", config: { provider: "echo" } });
  await done(call(gateway, `PUT /configs/${slug}`, { key, body: { status: "archived" } }));
  assert.equal(await refusal(call(gateway, `GET /configs/${slug}`, { key })), "404 AB08");
  assert.equal((await done(call(gateway, `GET /configs/${slug}?status=archived`, { key }))).status, "archived");
  await done(call(gateway, `PUT /configs/${slug}`, { key, body: { status: "active" } }));
  assert.equal((await done(call(gateway, `GET /configs/${slug}`, { key }))).status, "active");
});

test("DELETE /configs removes it", async () => {
  const { slug } = await create({ name: "Gone", config: { provider: "echo" } });
  assert.deepEqual(await done(call(gateway, `DELETE /configs/${slug}`, { key })), {});
  assert.equal(await refusal(call(gateway, `GET /configs/${slug}`, { key })), "404 AB08");
  assert.equal(await refusal(call(gateway, `DELETE /configs/${slug}`, { key })), "404 AB08");
});

const target = { provider: "@main" };
const strategy = { mode: "fallback" };
/** A conditional config with one condition. */
const conditional = (query: object, then: string | null = "a") => ({
  strategy: { mode: "conditional", conditions: [{ query, ...(then !== null && { then }) }] },
  targets: [{ ...target, name: "a" }],
});

for (const [name, body, param] of [
  ["no name", { config: { provider: "echo" } }, "name"],
  ["an empty name", { name: "", config: { provider: "echo" } }, "name"],
  ["a name of 256 characters", { name: "n".repeat(256), config: { provider: "echo" } }, "name"],
  ["NUL in the name", { name: "a\0b", config: { provider: "echo" } }, "name"],
  ["no config", { name: "n" }, "config"],
  ["a config that is a number", { name: "n", config: 1 }, "config"],
  ["a config that is no JSON", { name: "n", config: "{" }, "config"],
  ["a config that is a JSON list", { name: "n", config: "[]" }, "config"],
  ["targets that are no list", { name: "n", config: { targets: {} } }, "config.targets"],
  ["101 targets", { name: "n", config: { strategy, targets: Array(101).fill(target) } }, "config.targets"],
  [
    "51 nested targets",
    { name: "n", config: { strategy, targets: [{ strategy, targets: Array(51).fill(target) }] } },
    "config.targets[0].targets",
  ],
  [
    "a bad pattern",
    { name: "n", config: conditional({ "params.model": { $regex: "(" } }) },
    "config.strategy.conditions[0].query.params.model.$regex",
  ],
  [
    "a condition without then",
    { name: "n", config: conditional({ "params.model": "m" }, null) },
    "config.strategy.conditions[0].then",
  ],
  ["a member nobody knows", { name: "n", config: { provider: "@main", colour: "red" } }, "config.colour"],
  [
    "no weight at all",
    { name: "n", config: { strategy: { mode: "loadbalance" }, targets: [{ ...target, weight: 0 }] } },
    "config.targets",
  ],
  [
    "a circuit breaker that no strategy uses",
    {
      name: "n",
      config: { strategy: { mode: "fallback" }, targets: [{ ...target, cb_config: { failure_threshold: 3 } }] },
    },
    "config.targets[0].cb_config",
  ],
  ["six retries", { name: "n", config: { retry: { attempts: 6 } } }, "config.retry.attempts"],
] as const) {
  test(`POST /configs refuses ${name}`, async () => {
    const { status, body: answer } = await call<{ error: { code: string; param: string } }>(gateway, "POST /configs", {
      key,
      body,
    });
    assert.deepEqual([status, answer.error.code, answer.error.param], [400, "AB01", param]);
  });
}

test("an admin key names the workspace of a new config", async () => {
  const body = { name: "By the admin", config: { provider: "echo" } };
  assert.equal(await refusal(call(gateway, "POST /configs", { body })), "400 AB01");
  assert.equal(await refusal(call(gateway, "POST /configs", { body: { ...body, workspace_id: "other" } })), "403 AB03");
  const { slug } = await done(call(gateway, "POST /configs", { body: { ...body, workspace_id: "default" } }));
  assert.equal((await done(call(gateway, `GET /configs/${slug}`))).name, "By the admin");
});
