import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Database } from "../../src/db/client.ts";
import { nodeMac } from "../../src/serve/environment.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestGateway, readPepper, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { startServer } from "../support/upstream.ts";

let gateway: TestGateway;
let database: Database;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let lists: typeof other;
let organisationId: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  other = await createOrganisation(database, "other");
  lists = await createOrganisation(database, "lists");
  const { rows } = await database.read("SELECT id FROM organisations WHERE slug = 'default'");
  organisationId = String(rows[0]?.id);
  for (const slug of ["second", "third"]) {
    await database.write([
      {
        sql: "INSERT INTO workspaces (id, organisation_id, name, slug, created_at) VALUES (?, ?, ?, ?, 0)",
        args: [crypto.randomUUID(), organisationId, slug, slug],
      },
    ]);
  }
});
after(() => gateway.close());

interface Receipt {
  id: string;
  slug: string;
  client_auth: string;
  credentials: { username: string; password: string };
}

interface Detail extends Receipt {
  auth_settings: Record<string, unknown>;
  workspaces: { id: string; slug: string }[];
  [name: string]: unknown;
}

const create = (body: object = {}) =>
  done<Receipt>(call<Receipt>(gateway, "POST /deployments", { body: { name: "Main", ...body } }));
const read = (id: string) => done<Detail>(call<Detail>(gateway, `GET /deployments/${id}`));
const update = (id: string, body: object) => call<Partial<Receipt>>(gateway, `PUT /deployments/${id}`, { body });

/** Lists of a deployment after a change. */
async function listsAfter(id: string, settings: object, body: object = {}) {
  await done(update(id, { ...body, auth_settings: settings }));
  return listsOf(id);
}

async function listsOf(id: string) {
  const { auth_settings } = await read(id);
  return {
    workspaces: auth_settings.workspaces_allowed,
    subs: auth_settings.jwt_subs_allowed,
    mapping: auth_settings.jwt_sub_workspace_mapping,
    all: auth_settings.allow_all_workspaces,
  };
}

test("POST /deployments shows its secrets once", async () => {
  const receipt = await create({ tags: ["a"], deployment_config: { size: 2 }, is_default: true });
  assert.match(receipt.client_auth, /^gd_[0-9A-Za-z]{48}$/);
  assert.match(receipt.credentials.password, /^[0-9A-Za-z]{32}$/);
  const { created_at, last_updated_at, created_by, ...detail } = await read(receipt.id);
  for (const text of [created_at, last_updated_at, created_by]) assert.equal(typeof text, "string");
  const mask = (text: string) => `${text.slice(0, 2)}*****${text.slice(-3)}`;
  assert.deepEqual(detail, {
    id: receipt.id,
    organisation_id: organisationId,
    name: "Main",
    slug: receipt.slug,
    type: "production",
    status: "active",
    is_default: 1,
    connection_status: "unknown",
    tags: ["a"],
    object: "deployment",
    last_synced_at: null,
    last_resynced_at: null,
    client_auth: mask(receipt.client_auth),
    workspaces: [],
    credentials: { username: receipt.credentials.username, password: mask(receipt.credentials.password) },
    deployment_config: { size: 2 },
    auth_settings: {
      workspaces_allowed: [],
      jwt_subs_allowed: [],
      jwt_sub_workspace_mapping: {},
      allow_all_workspaces: true,
    },
  });
});

test("secrets are stored as digests", async () => {
  const { id, client_auth, credentials } = await create();
  const { rows } = await database.read({ sql: "SELECT * FROM deployments WHERE id = ?", args: [id] });
  const mac = nodeMac(await readPepper(database));
  assert.equal(rows[0]?.client_auth_digest, await mac(client_auth));
  assert.equal(rows[0]?.password_digest, await mac(credentials.password));
  const { rows: audit } = await database.read("SELECT * FROM audit_logs");
  for (const text of [JSON.stringify(rows), JSON.stringify(audit)]) {
    assert.ok(!text.includes(client_auth) && !text.includes(credentials.password));
  }
});

test("PUT /deployments shows new secrets only when they are rotated", async () => {
  const first = await create();
  const plain = await done(update(first.id, { name: "Renamed" }));
  assert.deepEqual(Object.keys(plain).sort(), ["id", "object", "organisation_id", "slug"]);
  const second = await done(update(first.id, { rotate_auth: true }));
  assert.ok(second.client_auth && second.client_auth !== first.client_auth);
  assert.equal(second.credentials?.username, first.credentials.username);
  assert.notEqual(second.credentials?.password, first.credentials.password);
  assert.equal((await read(first.id)).client_auth, `gd*****${second.client_auth.slice(-3)}`);
});

test("PUT /deployments changes the given fields, clears with null and preserves the rest", async () => {
  const { id } = await create({
    tags: { a: "b" },
    deployment_config: { a: 1 },
    type: "non_production",
    auth_settings: {
      gateway_base_url: "https://a.example.com/v1",
      is_dataservice_hosted: 1,
      disable_mcp_gateway: true,
    },
  });
  const before = await read(id);
  assert.equal(before.auth_settings.is_dataservice_hosted, 1);
  assert.equal(before.auth_settings.disable_mcp_gateway, true);
  await done(update(id, { name: "New", auth_settings: { is_playground_proxy_allowed: false } }));
  assert.deepEqual(
    { ...(await read(id)), last_updated_at: before.last_updated_at },
    { ...before, name: "New", auth_settings: { ...before.auth_settings, is_playground_proxy_allowed: 0 } },
  );
  await done(update(id, { tags: null, deployment_config: null, auth_settings: { gateway_base_url: null } }));
  const { tags, deployment_config, auth_settings, type } = await read(id);
  assert.deepEqual([tags, deployment_config, type], [null, {}, "non_production"]);
  assert.ok(!Object.hasOwn(auth_settings, "gateway_base_url"));
});

test("one deployment of an organisation is its default", async () => {
  const first = await create({ is_default: true });
  const second = await create({ is_default: true });
  const flags = async () => [(await read(first.id)).is_default, (await read(second.id)).is_default];
  assert.deepEqual(await flags(), [0, 1]);
  await done(update(first.id, { is_default: true }));
  assert.deepEqual(await flags(), [1, 0]);
});

test("DELETE /deployments archives, the default one too", async () => {
  const { id } = await create({ is_default: true });
  assert.deepEqual(await done(call(gateway, `DELETE /deployments/${id}`)), {});
  assert.equal(await refusal(call(gateway, `GET /deployments/${id}`)), "404 AB08");
  assert.equal(await refusal(call(gateway, `DELETE /deployments/${id}`)), "404 AB08");
  assert.equal(await refusal(call(gateway, `GET /deployments/${id}/ping`)), "404 AB08");
  const archived = await done(call(gateway, `GET /deployments/${id}?status=archived`));
  assert.deepEqual([archived.status, archived.is_default], ["archived", 0]);
  await done(update(id, { status: "active" }));
  assert.equal((await read(id)).status, "active");
});

test("lists of workspaces and subjects grow, shrink and are replaced", async () => {
  const { id } = await create({ auth_settings: { workspaces_allowed: ["second"], jwt_subs_allowed: ["x"] } });
  const none = { mapping: {}, all: false };
  assert.deepEqual(await listsOf(id), { ...none, workspaces: ["second"], subs: ["x"] });
  assert.deepEqual(
    (await read(id)).workspaces.map(({ slug }) => slug),
    ["second"],
  );
  const [third] = (await done<{ data: Detail[] }>(call(gateway, "GET /deployments?workspace_slug=third"))).data;
  assert.ok(third?.id !== id);
  const { rows } = await database.read("SELECT id FROM workspaces WHERE slug = 'third'");
  const byId = String(rows[0]?.id);
  assert.deepEqual(await listsAfter(id, { workspaces_allowed: [byId], jwt_subs_allowed: ["y"] }), {
    ...none,
    workspaces: ["second", "third"],
    subs: ["x", "y"],
  });
  assert.deepEqual(await listsAfter(id, { remove_workspaces_allowed: ["second"], remove_subs_allowed: ["x"] }), {
    ...none,
    workspaces: ["third"],
    subs: ["y"],
  });
  const replacing = { workspaces_allowed: ["second"], jwt_subs_allowed: ["z"] };
  assert.deepEqual(await listsAfter(id, replacing, { override_existing: true }), {
    ...none,
    workspaces: ["second"],
    subs: ["z"],
  });
  assert.deepEqual(await listsAfter(id, { remove_workspaces_allowed: ["second"] }), {
    ...none,
    workspaces: [],
    subs: ["z"],
  });
  assert.deepEqual(await listsAfter(id, { allow_all_workspaces: true, jwt_subs_allowed: null }), {
    mapping: {},
    all: true,
    workspaces: [],
    subs: [],
  });
});

test("fields of the mapping are added to and removed from both lists", async () => {
  const { id } = await create({ auth_settings: { jwt_sub_workspace_mapping: { one: "second", two: "third" } } });
  assert.deepEqual(await listsOf(id), {
    workspaces: ["second", "third"],
    subs: ["one", "two"],
    all: false,
    mapping: { one: "second", two: "third" },
  });
  assert.deepEqual(await listsAfter(id, { remove_subs_allowed: ["one"] }), {
    workspaces: ["second", "third"],
    subs: ["two"],
    mapping: { two: "third" },
    all: false,
  });
  assert.deepEqual(await listsAfter(id, { remove_workspaces_allowed: ["third"] }), {
    workspaces: ["second"],
    subs: ["two"],
    mapping: {},
    all: false,
  });
  assert.deepEqual(await listsAfter(id, { remove_workspaces_allowed: ["second"] }), {
    workspaces: [],
    subs: ["two"],
    mapping: {},
    all: false,
  });
});

const long = (length: number) => "x".repeat(length);
for (const [name, body, param] of [
  ["no name", { name: undefined }, "name"],
  ["a name of 256 characters", { name: long(256) }, "name"],
  ["a slug of 51 characters", { slug: long(51) }, "slug"],
  ["a slug with a dot", { slug: "a.b" }, "slug"],
  ["an unknown type", { type: "test" }, "type"],
  ["is_default that is a text", { is_default: "yes" }, "is_default"],
  ["a config that is a list", { deployment_config: [] }, "deployment_config"],
  ["tags that are numbers", { tags: [1] }, "tags.0"],
  ["51 tags", { tags: Array.from({ length: 51 }, String) }, "tags"],
  ["an address that is none", { auth_settings: { gateway_base_url: "ftp://a" } }, "auth_settings.gateway_base_url"],
  [
    "an address with a query",
    { auth_settings: { mcp_gateway_base_url: "https://a.example.com/?b" } },
    "auth_settings.mcp_gateway_base_url",
  ],
  [
    "an address of 2049 characters",
    { auth_settings: { gateway_base_url: `https://a.example.com/${long(2027)}` } },
    "auth_settings.gateway_base_url",
  ],
  ["a subject that is empty", { auth_settings: { jwt_subs_allowed: [""] } }, "auth_settings.jwt_subs_allowed.0"],
  ["a flag that is 2", { auth_settings: { is_dataservice_hosted: 2 } }, "auth_settings.is_dataservice_hosted"],
  [
    "1001 subjects",
    { auth_settings: { jwt_subs_allowed: Array.from({ length: 1001 }, String) } },
    "auth_settings.jwt_subs_allowed",
  ],
  [
    "all workspaces and some",
    { auth_settings: { allow_all_workspaces: true, workspaces_allowed: ["default"] } },
    "auth_settings.workspaces_allowed",
  ],
] as const) {
  test(`POST /deployments refuses ${name}`, async () => {
    const { status, body: answer } = await call<{ error: { code: string; param: string } }>(
      gateway,
      "POST /deployments",
      { body: { name: "Main", ...body } },
    );
    assert.deepEqual([status, answer.error.code, answer.error.param], [400, "AB01", param]);
  });
}

test("workspaces of another organisation are 404", async () => {
  for (const name of ["none", other.workspaceId]) {
    const settings = [{ workspaces_allowed: [name] }, { jwt_sub_workspace_mapping: { one: name } }];
    for (const auth_settings of settings) {
      const body = { name: "Main", auth_settings };
      assert.equal(await refusal(call(gateway, "POST /deployments", { body })), "404 AB02");
    }
  }
});

test("a slug in use is 409", async () => {
  const { id } = await create({ slug: "Taken" });
  assert.equal((await read("Taken")).id, id);
  assert.equal(await refusal(call(gateway, "POST /deployments", { body: { name: "n", slug: "Taken" } })), "409 AB07");
  await done(call(gateway, "POST /deployments", { key: other.adminKey, body: { name: "n", slug: "Taken" } }));
});

test("GET /deployments filters and pages", async () => {
  const key = lists.adminKey;
  for (const body of [
    { slug: "a", name: "Prod one" },
    { slug: "b", name: "Test", type: "non_production", auth_settings: { workspaces_allowed: ["default"] } },
    { slug: "c", name: "Closed", auth_settings: { allow_all_workspaces: false } },
    { slug: "d", name: "Old" },
  ]) {
    await done(call(gateway, "POST /deployments", { key, body }));
  }
  await done(call(gateway, "DELETE /deployments/d", { key }));
  const list = (query: string) =>
    done<{ object: string; total: number; data: Receipt[] }>(call(gateway, `GET /deployments?${query}`, { key }));
  const slugs = async (query: string) => (await list(query)).data.map(({ slug }) => slug).sort();
  for (const [query, wanted] of [
    ["", ["a", "b", "c"]],
    ["status=archived", ["d"]],
    ["type=non_production", ["b"]],
    ["search=PROD", ["a"]],
    ["search=%25", []],
    ["workspace_slug=default", ["a", "b"]],
    ["workspace_slug[]=default", ["a", "b"]],
    [`organisation_id=${lists.organisationId}`, ["a", "b", "c"]],
  ] as const) {
    assert.deepEqual(await slugs(query), wanted, query);
  }
  const page = await list("page_size=2&current_page=1");
  assert.deepEqual([page.object, page.total, page.data.length], ["list", 3, 1]);
  assert.ok(!JSON.stringify(page).includes("client_auth"));
  for (const query of ["status=gone", "type=test", "page_size=101", "page_size=0", "current_page=-1"]) {
    assert.equal(await refusal(call(gateway, `GET /deployments?${query}`, { key })), "400 AB01", query);
  }
  assert.equal(await refusal(call(gateway, "GET /deployments?workspace_slug=second", { key })), "403 AB03");
});

interface Ping {
  status: string;
  gateway_base_url: string | null;
  outbound: { status: string; status_code: number | null; version: string | null; error: string | null };
  inbound: { status: string; error: string | null };
}

async function ping(gateway_base_url?: string): Promise<Ping> {
  const { id } = await create({ auth_settings: { gateway_base_url } });
  return done<Ping>(call<Ping>(gateway, `GET /deployments/${id}/ping`));
}

test("GET /deployments/:id/ping calls the deployment", async () => {
  const paths: string[] = [];
  const server = await startServer((request, response) => {
    paths.push(request.url ?? "");
    const isWell = request.url === "/v1/health";
    response.writeHead(isWell ? 200 : 503, { "content-type": "application/json" });
    response.end(JSON.stringify({ version: "3.1.4" }));
  });
  try {
    assert.deepEqual(await ping(`${server.url}/v1`), {
      status: "healthy",
      gateway_base_url: `${server.url}/v1`,
      object: "deployment",
      outbound: { status: "healthy", status_code: 200, version: "3.1.4", error: null },
      inbound: { status: "unknown", error: null },
    });
    const { status, outbound } = await ping(server.url);
    assert.deepEqual([status, outbound.status_code, outbound.error], ["unhealthy", 503, "It responded with 503"]);
    assert.deepEqual(paths, ["/v1/health", "/health"]);
  } finally {
    await server.close();
  }
});

test("GET /deployments/:id/ping waits five seconds", { timeout: 20_000 }, async () => {
  const server = await startServer(() => {});
  try {
    const startedAt = performance.now();
    const { status, outbound } = await ping(server.url);
    assert.deepEqual([status, outbound.error], ["unhealthy", "It did not respond within 5 seconds"]);
    assert.ok(performance.now() - startedAt < 8_000);
  } finally {
    await server.close();
  }
});

for (const [url, wanted] of [
  ["http://10.0.0.1", /Cannot call this address: the host is private/],
  ["http://169.254.169.254", /metadata/],
  ["http://127.0.0.1:1", /Cannot call this address/],
  [undefined, /no gateway_base_url/],
] as const) {
  test(`GET /deployments/:id/ping reports what is wrong with ${url}`, async () => {
    const { status, outbound } = await ping(url);
    assert.equal(status, url === undefined ? "unknown" : "unhealthy");
    assert.match(String(outbound.error), wanted);
    assert.equal(outbound.status_code, null);
  });
}

test("deployments belong to their organisation, and to admin keys", async () => {
  const { id } = await create();
  for (const [route, body] of [
    [`GET /deployments/${id}`],
    [`GET /deployments/${id}/ping`],
    [`PUT /deployments/${id}`, { rotate_auth: true }],
    [`DELETE /deployments/${id}`],
  ] as const) {
    const options = body ? { body } : {};
    assert.equal(await refusal(call(gateway, route, { ...options, key: other.adminKey })), "404 AB08", route);
    assert.equal(await refusal(call(gateway, route, { ...options, key: workspaceKey })), "403 AB03", route);
  }
  const body = { name: "Main", organisation_id: other.organisationId };
  assert.equal(await refusal(call(gateway, "POST /deployments", { body })), "403 AB03");
  assert.equal(await refusal(call(gateway, "GET /deployments", { key: workspaceKey })), "403 AB03");
});
