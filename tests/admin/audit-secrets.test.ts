import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { callerKeyHeaders } from "../../src/lib/secret-names.ts";
import { call, done } from "../support/control.ts";
import { adminKey, createTestClock, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { tokenOf } from "../support/people.ts";

const clock = createTestClock();
let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ inFile: true, clock, trustedProxies: ["192.0.2.1"] });
});
after(() => gateway.close());

type Row = Record<string, unknown>;

/** Every audit row as it is stored, oldest first. */
async function storedRows(): Promise<Row[]> {
  const { rows } = await (await gateway.openFile()).read("SELECT * FROM audit_logs ORDER BY seq");
  return rows as unknown as Row[]; // the driver's rows are records
}

const lastRow = async (): Promise<Row> => (await storedRows()).at(-1) ?? {};
const secret = "of-no-known-form-1";

const bodies: readonly [string, unknown][] = [
  ["a config as JSON text", { name: "a", config: JSON.stringify({ provider: "openai", api_key: secret }) }],
  [
    "a config as JSON text with space",
    { name: "b", config: ` \n${JSON.stringify({ targets: [{ apiKey: secret }] })}` },
  ],
  ["JSON in JSON in JSON", { name: "c", config: JSON.stringify(JSON.stringify(JSON.stringify({ api_key: secret }))) }],
  [
    "deeper JSON",
    {
      name: "d",
      config: JSON.stringify(
        JSON.stringify(JSON.stringify(JSON.stringify({ a: JSON.stringify({ b: secret, password: secret }) }))),
      ),
    },
  ],
  [
    "headers as JSON text",
    { name: "e", checks: [{ parameters: { headers: JSON.stringify({ "X-Anything": secret }) } }] },
  ],
  ["headers of any name", { name: "f", checks: [{ parameters: { headers: { "X-Anything": secret } } }] }],
  ["a query of an address", { name: "g", webhookURL: `https://hooks.example/in?code=${secret}` }],
  ["a user of an address", { name: "h", webhookURL: `https://me:${secret}@hooks.example/in` }],
  ["a fragment of an address", { name: "i", webhookURL: `https://hooks.example/in#${secret}` }],
  ["an address in JSON text", { name: "j", config: JSON.stringify({ url: `HTTPS://x@hooks.example/?a=${secret}` }) }],
  ["JSON text that is cut", { name: "k", config: `{"api_key":"${secret}","a":` }],
];
for (const route of ["POST /configs", "POST /guardrails"]) {
  for (const [name, body] of bodies) {
    test(`the audit row of ${route} hides ${name}`, async () => {
      await call(gateway, route, { key: workspaceKey, body });
      const row = await lastRow();
      assert.ok(String(row.request_body).includes(`"name"`), String(row.request_body));
      assert.ok(!JSON.stringify(row).includes(secret), String(row.request_body));
    });
  }
}

test("the audit row of a policy shows what it looks at, and hides a key that is a secret", async () => {
  const policy = {
    workspace_id: "default",
    conditions: [
      { key: "virtual_key", value: "main" },
      { key: "metadata.team", value: ["blue"], excludes: "red" },
    ],
    group_by: [{ key: "api_key" }],
    type: "requests",
    unit: "rpm",
    value: 1,
  };
  await done(call(gateway, "POST /policies/rate-limits", { body: policy }));
  assert.deepEqual(JSON.parse(String((await lastRow()).request_body)), policy);
  const text = JSON.stringify({ group_by: policy.group_by, key: secret });
  const withSecrets = {
    ...policy,
    key: secret,
    conditions: [
      { key: secret, value: "main", token: secret },
      { key: "model", value: "m", conditions: [{ key: secret }] },
    ],
    name: text,
  };
  const { status } = await call(gateway, "POST /policies/rate-limits", { body: withSecrets });
  assert.equal(status, 400);
  const row = await lastRow();
  assert.ok(!JSON.stringify(row).includes(secret), String(row.request_body));
  const { conditions, group_by, name } = JSON.parse(String(row.request_body));
  assert.deepEqual([conditions[1].key, group_by], ["model", policy.group_by]);
  assert.deepEqual(JSON.parse(name).group_by, policy.group_by);
});

test("an audit row holds the listed headers only, each cut, and no credential of the query", async () => {
  const headers = {
    "x-anything": "a".repeat(12_000),
    "user-agent": "b".repeat(1_000),
    "x-gateway-config": JSON.stringify({ api_key: secret }),
    referer: `https://pages.example/?token=${secret}`,
    authorization: `Bearer ${secret}`,
  };
  await call(gateway, `POST /configs?note=${encodeURIComponent(`https://a:${secret}@b/`)}`, {
    key: workspaceKey,
    headers,
    body: {},
  });
  const row = await lastRow();
  const stored = JSON.parse(String(row.request_headers));
  assert.equal(stored["user-agent"], "b".repeat(200));
  assert.match(stored.authorization, /^hmac:/);
  assert.deepEqual(
    Object.keys(stored).filter(
      (name) => !/^(?:user-agent|authorization|referer|content-type|content-length|host|x-gateway-api-key)$/.test(name),
    ),
    [],
  );
  assert.ok(!JSON.stringify(row).includes(secret));
  assert.ok(JSON.stringify(row).length < 3_000);
});

test("an audit row names the caller by a digest of its key, whichever header holds it", async () => {
  for (const name of callerKeyHeaders) {
    const headers = { "content-type": "application/json", [name]: workspaceKey };
    const path = "http://gateway.test/v1/configs";
    const { status } = await gateway.gateway.fetch(new Request(path, { method: "POST", headers, body: "{}" }));
    assert.equal(status, 400, name);
    const { request_headers } = await lastRow();
    assert.match(JSON.parse(String(request_headers))[name] ?? "", /^hmac:[0-9a-f]{12}$/, name);
  }
});

test("a body of a megabyte that repeats the beginning of a token is audited quickly", async () => {
  const text = "-eyJaaaaaaaa".repeat(75_000);
  const { status } = await call(gateway, "POST /configs", { key: workspaceKey, body: { name: "long", note: text } });
  assert.equal(status, 400);
  const row = await lastRow();
  assert.equal(String(row.request_body).length, 16_384);
});

test("the audit row of an admin key names the workspace it acted in", async () => {
  const workspace = await done<{ id: string }>(call(gateway, "POST /admin/workspaces", { body: { name: "Other" } }));
  assert.equal((await lastRow()).workspace_id, workspace.id);
  const named = { workspace_id: workspace.id, name: "One" };
  const made = await done<{ id: string }>(
    call(gateway, "POST /api-keys/workspace/service", { body: { ...named, scopes: ["completions.write"] } }),
  );
  assert.equal((await lastRow()).workspace_id, workspace.id);
  const label = { workspace_id: workspace.id, name: "Label" };
  const { id: labelId } = await done<{ id: string }>(call(gateway, "POST /labels", { body: label }));
  for (const [route, body] of [
    [`PUT /labels/${labelId}`, { name: "Other" }],
    [`PUT /labels/${labelId}`, { name: "" }],
    [`DELETE /labels/${labelId}`, undefined],
    [`PUT /admin/workspaces/${workspace.id}`, { name: "" }],
  ] as const) {
    await call(gateway, route, { body });
    assert.equal((await lastRow()).workspace_id, workspace.id, route);
  }
  const calls: [string, unknown][] = [
    [`PUT /api-keys/${made.id}`, { name: "Two" }],
    [`PUT /api-keys/${made.id}`, { name: "" }],
    [`PUT /admin/workspaces/${workspace.id}`, { name: "Else" }],
    [`DELETE /api-keys/${made.id}`, undefined],
    [`DELETE /admin/workspaces/${workspace.id}`, { name: "Else" }],
  ];
  for (const [route, body] of calls) {
    await call(gateway, route, { key: adminKey, body });
    assert.equal((await lastRow()).workspace_id, workspace.id, route);
  }
  await call(gateway, "PUT /admin/workspaces/none-such", { body: { name: "Else" } });
  assert.equal((await lastRow()).workspace_id, null);
});

test("a link to an invite that is over cannot fill the audit log", async () => {
  const person = { email: "late@example.com", role: "member", workspaces: [] };
  const invite = await done<{ id: string; invite_link: string }>(
    call(gateway, "POST /admin/users/invites", { body: person }),
  );
  await done(call(gateway, `DELETE /admin/users/invites/${invite.id}`));
  const before = (await storedRows()).length;
  const body = { token: tokenOf(invite.invite_link) };
  for (let count = 0; count < 70; count++) {
    const { status } = await call(gateway, `POST /admin/users/invites/${invite.id}/accept`, { key: "", body });
    assert.equal(status, 409);
  }
  assert.equal((await storedRows()).length - before, 60);
});

test("a key that is refused again and again leaves 60 rows a minute and one that counts the rest", async () => {
  const made = await done<{ id: string; key: string }>(
    call(gateway, "POST /api-keys/workspace/service", {
      body: { name: "Weak", workspace_id: "default", scopes: ["completions.write"] },
    }),
  );
  clock.advance(60_000);
  const ofKey = async () => (await storedRows()).filter(({ user_id: userId }) => userId === made.id);
  const ofOthers = async () =>
    (await storedRows()).filter((row) => row.user_id !== made.id && Number(row.response_status_code) === 400).length;
  const headers = { "x-forwarded-for": "203.0.113.7" };
  const asked = { key: made.key, body: {}, headers };
  for (let count = 0; count < 100; count++) await call(gateway, "POST /configs", asked);
  assert.equal((await ofKey()).length, 60);
  const before = await ofOthers();
  const other = await call(gateway, "POST /configs", { key: workspaceKey, body: {} });
  assert.equal(other.status, 400);
  assert.equal((await ofOthers()) - before, 1, "another key has rows of its own");
  clock.advance(60_000);
  await call(gateway, "POST /configs", asked);
  await gateway.gateway.close();
  const rows = (await ofKey()).slice(60);
  const counted = rows
    .filter(({ action }) => action === "refuse")
    .map(({ request_body: body }) => JSON.parse(String(body)).refused);
  assert.deepEqual(counted, [40]);
  assert.deepEqual(
    rows.map(({ user_id, response_status_code: status, client_ip }) => [user_id, Number(status), client_ip]),
    // the count, and the refusal of the next minute
    Array.from({ length: 2 }, () => [made.id, 403, "203.0.113.7"]),
  );
});
