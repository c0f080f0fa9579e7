import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import type { Database } from "../../src/db/client.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import {
  adminKey,
  createTestClock,
  createTestGateway,
  insertKey,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";
import { createScimClient, errorSchema, type ScimClient, sendScim } from "../support/scim.ts";

const clock = createTestClock();
let gateway: TestGateway;
let database: Database;
let scim: ScimClient;
let other: Awaited<ReturnType<typeof createOrganisation>>;
before(async () => {
  gateway = await createTestGateway({ inFile: true, clock });
  database = await gateway.openFile();
  other = await createOrganisation(database, "other-tokens");
  scim = await createScimClient(gateway);
});
after(() => gateway.close());

interface TokenRecord {
  id: string;
  token: string;
  name: string;
  organisation_id: string;
  expires_at: string | null;
  created_at: string;
  object: string;
}
const createToken = (body?: object) =>
  done<TokenRecord>(call<TokenRecord>(gateway, "POST /admin/scim/tokens", body ? { body } : {}));
const statusWith = async (token: string) =>
  (await sendScim(gateway, "GET /scim/v2/Users", { authorization: `Bearer ${token}` })).status;

test("a token is shown once and stored as a digest", async () => {
  const made = await createToken({ name: "Directory" });
  assert.match(made.token, /^scim_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
  assert.deepEqual([made.name, made.expires_at, made.object], ["Directory", null, "scim-token"]);
  const { data } = await done<{ data: TokenRecord[] }>(call(gateway, "GET /admin/scim/tokens"));
  const listed = data.find(({ id }) => id === made.id);
  assert.equal(listed?.token, `sc*****${made.token.slice(-3)}`);
  const { rows } = await database.read("SELECT * FROM scim_tokens");
  const { rows: audited } = await database.read("SELECT * FROM audit_logs");
  const secret = made.token.slice(made.token.lastIndexOf("_") + 1);
  assert.ok(!JSON.stringify([rows, audited, data]).includes(secret));
});

test("a removed token stops working", async () => {
  const { id, token } = await createToken();
  assert.equal(await statusWith(token), 200);
  assert.deepEqual(await done(call(gateway, `DELETE /admin/scim/tokens/${id}`)), {});
  assert.equal(await statusWith(token), 401);
  assert.equal(await refusal(call(gateway, `DELETE /admin/scim/tokens/${id}`)), "404 AB08");
});

test("a token expires", async () => {
  const expires = new Date(clock.now() + 60_000).toISOString();
  const { token, expires_at } = await createToken({ expires_at: expires });
  assert.equal(expires_at, expires);
  assert.equal(await statusWith(token), 200);
  clock.advance(60_000);
  assert.equal(await statusWith(token), 401);
});

for (const [name, body, param] of [
  ["an empty name", { name: "" }, "name"],
  ["a name of 256 characters", { name: "n".repeat(256) }, "name"],
  ["a time that is none", { expires_at: "soon" }, "expires_at"],
  ["a time that is past", { expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
] as const) {
  test(`POST /admin/scim/tokens refuses ${name}`, async () => {
    const answer = await call<{ error: { code: string; param: string } }>(gateway, "POST /admin/scim/tokens", { body });
    assert.deepEqual([answer.status, answer.body.error.code, answer.body.error.param], [400, "AB01", param]);
  });
}

test("GET /admin/scim/tokens pages", async () => {
  const all = await done<{ total: number; data: TokenRecord[] }>(call(gateway, "GET /admin/scim/tokens"));
  const query = "current_page=1&page_size=1";
  const page = await done<{ total: number; data: TokenRecord[] }>(call(gateway, `GET /admin/scim/tokens?${query}`));
  assert.deepEqual([page.total, page.data.map(({ id }) => id)], [all.total, [all.data[1]?.id]]);
  assert.equal(await refusal(call(gateway, "GET /admin/scim/tokens?page_size=101")), "400 AB01");
});

test("tokens of another organisation are not found", async () => {
  const key = other.adminKey;
  assert.equal(await refusal(call(gateway, `DELETE /admin/scim/tokens/${scim.tokenId}`, { key })), "404 AB08");
  assert.deepEqual((await done(call(gateway, "GET /admin/scim/tokens", { key }))).data, []);
  const organisation_id = other.organisationId;
  assert.equal(await refusal(call(gateway, "POST /admin/scim/tokens", { body: { organisation_id } })), "403 AB03");
});

const missing = "00000000-0000-4000-8000-000000000000";
const adminRoutes = [
  ["POST /admin/scim/tokens", "create"],
  ["GET /admin/scim/tokens", "list"],
  [`DELETE /admin/scim/tokens/${missing}`, "delete"],
  ["GET /scim/workspaces", "list"],
  ["POST /scim/workspaces", "create"],
  [`DELETE /scim/workspaces/${missing}`, "delete"],
  ["GET /scim/groups", "list"],
] as const;

for (const [route, verb] of adminRoutes) {
  test(`${route} accepts only admin keys with the scope`, async () => {
    const others = ["create", "list", "delete", "read", "update"].filter((one) => one !== verb);
    const kind = "organisation-service";
    const scopesWithout = JSON.stringify(others.map((one) => `organisation_users.${one}`));
    const without = mintApiKey("gk").key;
    const body = route.startsWith("POST") ? {} : undefined;
    await insertKey(database, without, { kind, workspaceId: null, scopes: scopesWithout });
    assert.equal(await refusal(call(gateway, route, { key: without, body })), "403 AB03");
    assert.equal(await refusal(call(gateway, route, { key: workspaceKey, body })), "403 AB03");
    assert.equal(await refusal(call(gateway, route, { key: "nobody-knows-this-key", body })), "401 AB05");
    const within = mintApiKey("gk").key;
    await insertKey(database, within, {
      kind,
      workspaceId: null,
      scopes: JSON.stringify([`organisation_users.${verb}`]),
    });
    const { status } = await call(gateway, route, { key: within, body });
    assert.ok([200, 400, 404].includes(status), String(status));
  });
}

test("a token is accepted for mappings and groups, and on no other route", async () => {
  const authorization = `Bearer ${scim.token}`;
  const status = async (route: string, body?: object) =>
    (await sendScim(gateway, route, { authorization, "content-type": "application/json" }, body)).status;
  const mapping = { workspace_id: "default", role: "member", scim_group_name: "By token" };
  assert.equal(await status("POST /v1/scim/workspaces", mapping), 200);
  assert.equal(await status("GET /v1/scim/workspaces"), 200);
  assert.equal(await status("GET /v1/scim/groups"), 200);
  assert.equal(await status(`DELETE /v1/scim/workspaces/${missing}`), 404);
  for (const route of ["GET /v1/admin/scim/tokens", "GET /v1/configs", "GET /v1/models", "GET /v1/logs"]) {
    assert.equal(await status(route), 401, route);
  }
  assert.equal(await status("POST /v1/chat/completions", { model: "m", messages: [] }), 401);
  const asKey = await sendScim(gateway, "GET /v1/scim/groups", { "x-gateway-api-key": scim.token });
  assert.equal(asKey.status, 401);
  const both = { authorization, "x-gateway-api-key": "nobody-knows-this-key" };
  assert.equal((await sendScim(gateway, "GET /v1/scim/groups", both)).status, 401);
});

for (const [name, headers] of [
  ["nothing", {}],
  ["an admin key", { "x-gateway-api-key": adminKey }],
  ["an admin key as a bearer", { authorization: `Bearer ${adminKey}` }],
  ["a workspace key", { authorization: `Bearer ${workspaceKey}` }],
  ["a token without Bearer", { authorization: "%" }],
  ["a token as Basic", { authorization: "Basic %" }],
  ["a token with another letter", { authorization: "Bearer %x" }],
  ["two tokens", { authorization: "Bearer %, Bearer %" }],
  ["a token in the key header", { "x-gateway-api-key": "%" }],
] as const) {
  test(`SCIM refuses ${name}`, async () => {
    const sent = Object.entries(headers).map(([header, value]) => [header, value.replaceAll("%", scim.token)]);
    for (const path of ["/scim/v2/Users", "/v1/scim/v2/Groups", "/scim/v2/Schemas"]) {
      const answer = await sendScim<{ schemas: string[]; status: string }>(
        gateway,
        `GET ${path}`,
        Object.fromEntries(sent),
      );
      assert.deepEqual([answer.status, answer.type], [401, "application/scim+json"]);
      assert.deepEqual([answer.body.schemas, answer.body.status], [[errorSchema], "401"]);
    }
  });
}

test("a token whose secret is wrong is refused", async () => {
  const { token } = await createToken();
  const { rows } = await database.read("SELECT id, digest FROM scim_tokens ORDER BY rowid DESC LIMIT 1");
  await database.write([
    { sql: "UPDATE scim_tokens SET digest = ? WHERE id = ?", args: ["A".repeat(43), String(rows[0]?.id)] },
  ]);
  assert.equal(await statusWith(token), 401);
});

test("wrong tokens count as wrong keys", async () => {
  const strict = await createTestGateway({ authFailuresPerMinute: 2 });
  const wrong = { authorization: "Bearer scim_wrong" };
  const statuses: number[] = [];
  for (let index = 0; index < 3; index++) {
    statuses.push((await sendScim(strict, "GET /scim/v2/Users", wrong)).status);
  }
  assert.deepEqual(statuses, [401, 401, 429]);
  assert.equal((await call(strict, "GET /configs", { key: "nobody-knows-this-key" })).status, 429);
  const good = await createScimClient(strict);
  assert.equal((await good.send("GET /Users")).status, 200);
  await strict.close();
});

test("GET /ServiceProviderConfig, /ResourceTypes and /Schemas describe the service", async () => {
  const config = await scim.done<Record<string, { supported: boolean }>>("GET /ServiceProviderConfig");
  const supported = ["patch", "bulk", "filter", "changePassword", "sort", "etag"].map(
    (name) => config[name]?.supported,
  );
  assert.deepEqual(supported, [true, false, true, false, false, false]);
  const types = await scim.done<{ Resources: { id: string; endpoint: string; schema: string }[] }>(
    "GET /ResourceTypes",
  );
  assert.deepEqual(
    types.Resources.map(({ endpoint }) => endpoint),
    ["/Users", "/Groups"],
  );
  interface Described {
    id: string;
    attributes: { name: string; type: string; subAttributes?: { name: string }[] }[];
  }
  const { Resources } = await scim.done<{ Resources: Described[] }>("GET /Schemas");
  assert.deepEqual(
    Resources.map(({ id }) => id),
    types.Resources.map(({ schema }) => schema),
  );
  const [user, group] = Resources.map(({ attributes }) =>
    attributes.map(({ name, subAttributes = [] }) => [name, ...subAttributes.map((part) => part.name)].join(" ")),
  );
  assert.deepEqual(user, [
    "userName",
    "externalId",
    "name givenName familyName",
    "emails value type primary",
    "active",
  ]);
  assert.deepEqual(group, ["displayName", "externalId", "members value type $ref"]);
});

for (const [method, path, status] of [
  ["PATCH", "/v1/chat/completions", 405],
  ["PATCH", "/v1/configs/x", 405],
  ["PATCH", "/v1/some/provider/path", 405],
  ["PATCH", "/v1/scim/workspaces", 405],
  ["PATCH", "/scim/v2/Users", 405],
  ["DELETE", "/scim/v2/Groups", 405],
  ["PUT", "/v1/scim/v2/Users", 405],
  ["GET", "/scim/v2/Nothing", 404],
  ["GET", "/v1/scim/v2/Nothing", 404],
] as const) {
  test(`${method} ${path} returns ${status}`, async () => {
    const headers = { authorization: `Bearer ${path.includes("scim") ? scim.token : workspaceKey}` };
    const answer = await sendScim<{ schemas?: string[]; error?: object }>(gateway, `${method} ${path}`, headers);
    assert.equal(answer.status, status);
    assert.equal(answer.body.schemas?.[0] === errorSchema, path.includes("/scim/v2"));
  });
}

test("OPTIONS names PATCH where it is supported", async () => {
  const response = await gateway.fetch(`/scim/v2/Users/${missing}`, { method: "OPTIONS" });
  assert.deepEqual([response.status, response.headers.get("allow")], [204, "GET, PUT, PATCH, DELETE, HEAD, OPTIONS"]);
});

test("a slash inside an id is refused", async () => {
  assert.equal(await scim.refusal("GET /Users/a%2Fb"), "400 invalidValue");
});

test("bodies must be JSON of at most 1 MiB", async () => {
  const body = JSON.stringify({ userName: "x".repeat(2 ** 20) });
  const authorization = `Bearer ${scim.token}`;
  assert.equal((await sendScim(gateway, "POST /scim/v2/Users", { authorization }, body)).status, 413);
  const headers = { authorization, "content-type": "text/plain" };
  assert.equal((await sendScim(gateway, "POST /scim/v2/Users", headers, "{}")).status, 400);
});
