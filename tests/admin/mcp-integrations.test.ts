import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { problem } from "../support/people.ts";

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
});
after(() => gateway.close());

const key = workspaceKey;
const secret = "Bearer stored-secret-0123456789";

interface Receipt {
  id: string;
  slug: string;
}
interface Row extends Record<string, unknown> {
  configurations: Record<string, unknown>;
}

const upstream = { name: "CRM tools", url: "https://crm.example.com/mcp", auth_type: "headers", transport: "http" };
const post = (body: object, by: string | undefined = key) =>
  call<Receipt>(gateway, "POST /mcp-integrations", { ...(by !== "admin" && { key: by }), body });
const create = (body: object = {}, by?: string) => done<Receipt>(post({ ...upstream, ...body }, by));
const read = (slug: string, by = key) =>
  done<Row>(call<Row>(gateway, `GET /mcp-integrations/${slug}`, by === "admin" ? {} : { key: by }));
const update = (slug: string, body: object) => problem(gateway, `PUT /mcp-integrations/${slug}`, { key, body });
const fine = "200 undefined undefined";

test("POST /mcp-integrations creates one whose credentials are sealed and masked", async () => {
  const configurations = {
    custom_headers: { Authorization: secret, "x-team": "blue" },
    oauth_metadata: { client_id: "me", client_secret: "client-secret-000" },
    jwt_validation: { introspectClientSecret: "introspect-secret-0", algorithms: ["ES256"] },
    forward_headers: ["x-request-id", { from: "x-user", to: "x-acting-user" }],
  };
  // keys of a workspace cannot say who callers are
  const { id: workspace_id } = await done(call<{ id: string }>(gateway, "GET /admin/workspaces/default"));
  const { id, slug } = await create({ configurations, description: "About it", workspace_id }, "admin");
  assert.match(slug, /^crm-tools-[0-9a-f]{6}$/);
  const row = await read(slug);
  assert.deepEqual(row.configurations, {
    custom_headers: { "x-team": "blue", masked_authorization: "Be*****789" },
    oauth_metadata: { client_id: "me", masked_client_secret: "cl*****000" },
    jwt_validation: { algorithms: ["ES256"], masked_introspectClientSecret: "in*****t-0" },
    forward_headers: configurations.forward_headers,
  });
  const { type, status, url, auth_type, transport, description, last_updated_at, global_workspace_access } = row;
  assert.deepEqual(
    { type, status, url, auth_type, transport, description, last_updated_at, global_workspace_access },
    {
      type: "workspace",
      status: "active",
      url: upstream.url,
      auth_type: "headers",
      transport: "http",
      description: "About it",
      last_updated_at: null,
      global_workspace_access: null,
    },
  );
  assert.deepEqual(await read(id), row);
  const database = await gateway.openFile();
  const { rows } = await database.read("SELECT * FROM mcp_integrations");
  assert.ok(!/stored-secret|client-secret|introspect-secret/.test(JSON.stringify(rows)));
  const sealed = await database.read("SELECT field FROM secrets WHERE kind = 'mcp_integrations' ORDER BY field");
  assert.deepEqual(
    sealed.rows.map(({ field }) => field),
    [
      "configurations.custom_headers.authorization",
      "configurations.jwt_validation.introspectClientSecret",
      "configurations.oauth_metadata.client_secret",
    ],
  );
});

test("lists show configurations as text, and whom they are shared with", async () => {
  await create({ slug: "listed-one", configurations: { custom_headers: { "x-team": "blue" } } });
  await create({ slug: "of-all", name: "Of all" }, "admin");
  const list = (query = "", by: object = { key }) =>
    done<{ data: Row[]; total: number; has_more: boolean }>(call(gateway, `GET /mcp-integrations${query}`, by));
  const { data } = await list("?search=listed-o");
  assert.equal(data.length, 1);
  assert.equal(data[0]?.configurations, '{"custom_headers":{"x-team":"blue"}}');
  assert.equal(data[0]?.workspaces_count, 1);
  const ofAll = await list("?type=organisation", {});
  assert.deepEqual([ofAll.data.map(({ slug }) => slug), ofAll.has_more], [["of-all"], false]);
  assert.equal(ofAll.data[0]?.workspaces_count, 0);
  const own = await list("?type=workspace&page_size=1", {});
  assert.deepEqual([own.data.length, own.has_more], [1, true]);
  assert.deepEqual((await list("?type=organisation")).data, []);
  assert.equal(await refusal(call(gateway, "GET /mcp-integrations/of-all", { key })), "404 AB08");
});

for (const [name, body, wanted] of [
  ["an address of the machine", { url: "http://169.254.169.254/mcp" }, "400 AB01 url"],
  ["a private address", { url: "https://10.0.0.1/mcp" }, "400 AB01 url"],
  ["another scheme", { url: "ftp://crm.example.com" }, "400 AB01 url"],
  ["a user in the address", { url: "https://me:pass@crm.example.com" }, "400 AB01 url"],
  ["a secret in the address", { url: "https://crm.example.com/mcp?api_key=abc" }, "400 AB01 url"],
  ["an unknown transport", { transport: "stdio" }, "400 AB01 transport"],
  ["an unknown auth_type", { auth_type: "magic" }, "400 AB01 auth_type"],
  ["an unknown field", { colour: "red" }, "400 AB01 colour"],
  ["an unknown setting", { configurations: { colour: "red" } }, "400 AB01 configurations.colour"],
  [
    "a provider's setting",
    { configurations: { custom_host: "https://a.example.com" } },
    "400 AB01 configurations.custom_host",
  ],
  [
    "a header of the protocol",
    { configurations: { custom_headers: { "Mcp-Session-Id": "x" } } },
    "400 AB01 configurations.custom_headers.mcp-session-id",
  ],
  [
    "a header with a line break",
    { configurations: { custom_headers: { "x-a": "b\r\nc: d" } } },
    "400 AB01 configurations.custom_headers.x-a",
  ],
  [
    "a header of the gateway",
    { configurations: { passthrough_headers: { "x-gateway-api-key": "x" } } },
    "400 AB01 configurations.passthrough_headers.x-gateway-api-key",
  ],
  [
    "a token endpoint on a private address",
    { configurations: { oauth_metadata: { token_endpoint: "https://192.168.0.1/token" } } },
    "400 AB01 configurations.oauth_metadata.token_endpoint",
  ],
  [
    "a symmetric algorithm",
    { configurations: { jwt_validation: { algorithms: ["HS256"] } } },
    "400 AB01 configurations.jwt_validation.algorithms.0",
  ],
  [
    "a mapping to an unknown field",
    { secret_mappings: [{ target_field: "configurations.url", secret_reference_id: "r" }] },
    "404 AB02 secret_mappings.0.secret_reference_id",
  ],
] as const) {
  test(`an MCP integration with ${name} is refused`, async () => {
    const whole = { ...upstream, ...body };
    assert.equal(await problem(gateway, "POST /mcp-integrations", { key, body: whole }), wanted);
  });
}

test("the address changes only together with the secrets sent there", async () => {
  const custom_headers = { authorization: secret };
  const { slug } = await create({ configurations: { custom_headers } });
  const url = "https://other.example.com/mcp";
  assert.equal(await update(slug, { url }), "400 AB01 url");
  assert.equal(await update(slug, { url, configurations: { custom_headers: { "x-other": "y" } } }), "400 AB01 url");
  assert.equal(await update(slug, { url: upstream.url, name: "Same address" }), fine);
  assert.equal(await update(slug, { url, configurations: { custom_headers } }), fine);
  assert.equal(await update(slug, { url: upstream.url, configurations: { custom_headers: null } }), fine);
  assert.equal((await read(slug)).url, upstream.url);
});

for (const group of ["oauth_metadata", "external_auth_config"]) {
  test(`an address of ${group} changes only together with the secret sent there`, async () => {
    const first = { token_endpoint: "https://login.example.com/token", client_secret: "client-secret-000" };
    const { slug } = await create({ configurations: { [group]: first, custom_headers: { authorization: secret } } });
    const moved = { token_endpoint: "https://other.example.com/token" };
    const field = `400 AB01 configurations.${group}.token_endpoint`;
    assert.equal(await update(slug, { configurations: { [group]: moved } }), field);
    assert.equal(await update(slug, { configurations: { [group]: { token_endpoint: null } } }), field);
    assert.equal(
      await update(slug, { configurations: { [group]: { ...moved, client_secret: "another-one-00" } } }),
      fine,
    );
  });
}

test("masks that are sent back change nothing, and null removes a secret", async () => {
  const { slug } = await create({ configurations: { custom_headers: { authorization: secret } } });
  const { configurations } = await read(slug);
  assert.equal(await update(slug, { configurations }), fine);
  assert.deepEqual((await read(slug)).configurations, configurations);
  assert.equal(await update(slug, { configurations: { custom_headers: { authorization: null } } }), fine);
  assert.deepEqual((await read(slug)).configurations, {});
});

test("an update must change something", async () => {
  const { slug } = await create();
  assert.equal(await refusal(call(gateway, `PUT /mcp-integrations/${slug}`, { key, body: {} })), "400 AB01");
});

test("one that servers use cannot be deleted", async () => {
  const { id, slug } = await create();
  const body = { name: "S", mcp_integration_id: slug };
  const server = await done<Receipt>(call<Receipt>(gateway, "POST /mcp-servers", { key, body }));
  assert.equal(await refusal(call(gateway, `DELETE /mcp-integrations/${slug}`, { key })), "409 AB07");
  await done(call(gateway, `DELETE /mcp-servers/${server.slug}`, { key }));
  await done(call(gateway, `DELETE /mcp-integrations/${slug}`, { key }));
  assert.equal(await refusal(call(gateway, `GET /mcp-integrations/${id}`, { key })), "404 AB08");
  const database = await gateway.openFile();
  const { rows } = await database.read(`SELECT 1 FROM secrets WHERE record_id = '${id}'`);
  assert.equal(rows.length, 0);
});

test("readers do not see the parts of an address that are its credential, and may send back what they saw", async () => {
  const planted = "NmY3ZGE5Zi0xYjJjLTRkM2UtYjRhNS";
  const url = `https://hosted.example.com/api/mcp/s/${planted}/mcp`;
  const { slug } = await create({ url, slug: "hosted" });
  const shown = await read(slug);
  assert.equal(shown.url, "https://hosted.example.com/api/mcp/s/*****/mcp");
  const { data } = await done(call<{ data: Row[] }>(gateway, "GET /mcp-integrations?search=hosted", { key }));
  assert.ok(!JSON.stringify(data).includes(planted));
  assert.equal(await update(slug, { name: "Renamed", url: shown.url }), fine);
  const database = await gateway.openFile();
  const { rows } = await database.read("SELECT url FROM mcp_integrations WHERE slug = 'hosted'");
  assert.equal(rows[0]?.url, shown.url);
  const audited = await database.read("SELECT request_body FROM audit_logs WHERE resource_type = 'mcp_integrations'");
  assert.ok(!JSON.stringify(audited.rows).includes(planted));
  assert.equal(await update(slug, { url: "https://hosted.example.com/s/*****/other" }), "400 AB01 url");
});

test("a header of an integration whose value looks random is a credential under any name", async () => {
  const value = "q8Zr3Lw7Xn2Vt5Kd9Mb4";
  const { slug } = await create({ configurations: { custom_headers: { "x-thing": value, "x-team": "blue" } } });
  const { configurations } = await read(slug);
  assert.deepEqual(configurations.custom_headers, { "x-team": "blue", "masked_x-thing": "q8*****Mb4" });
});
