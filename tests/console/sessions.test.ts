import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, createOrganisation, done } from "../support/control.ts";
import {
  adminKey,
  createTestClock,
  createTestGateway,
  helloBody,
  readJson,
  type TestGateway,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { addPerson, type List } from "../support/people.ts";
import { asPage, cookieOf, problemOf, type ShownSession, sameOrigin, send, signIn } from "./support.ts";

let gateway: TestGateway;
const clock = createTestClock(Date.now());
before(async () => {
  gateway = await createTestGateway({ clock, trustedProxies: ["10.0.0.1"] });
});
after(() => gateway.close());

const workspaceOf = async () =>
  (await done(call<List<{ id: string; slug: string }>>(gateway, "GET /admin/workspaces"))).data[0]?.id ?? "";

/** Rows of the audit log about a kind of record, newest first. */
const auditRows = async (resource: string) => {
  const at = (time: number) => new Date(time).toISOString();
  const query = `start_time=${at(0)}&end_time=${at(clock.now() + 1_000)}&resource_type=${resource}&page_size=100`;
  return (await done(call<{ records: Record<string, unknown>[] }>(gateway, `GET /audit-logs?${query}`))).records;
};

const audited = async (action: string) => {
  return (await auditRows("console_sessions")).filter((row) => row.action === action);
};

test("a sign-in with an admin key shows the organisation, its workspaces and the scopes", async () => {
  const { shown, cookie } = await signIn(gateway, adminKey);
  const { principal } = shown;
  assert.equal(shown.object, "session");
  assert.match(shown.csrf_token, /^[0-9A-Za-z]{43}$/);
  assert.equal(Date.parse(shown.expires_at), clock.now() + 12 * 3_600_000);
  assert.deepEqual(
    [principal.type, principal.workspace_id, principal.user, principal.role],
    ["admin_key", null, null, null],
  );
  assert.ok(principal.scopes.includes("audit_logs.list") && !principal.scopes.includes("completions.write"));
  assert.deepEqual(
    principal.workspaces.map(({ slug, role }) => [slug, role]),
    [["default", null]],
  );
  assert.ok(!cookie.includes(principal.key?.id ?? "x") && !cookie.includes(adminKey));
});

test("a user's session shows the user, the role, and only scopes that the role allows", async () => {
  const workspaceId = await workspaceOf();
  const scopes = ["configs.create", "configs.read", "logs.view", "completions.write"];
  const member = await addPerson(gateway, "member@example.com", {
    workspaces: [{ id: workspaceId, role: "member" }],
    scopes,
  });
  const { principal } = (await signIn(gateway, member.key)).shown;
  assert.equal(principal.type, "user_key");
  assert.deepEqual([principal.user?.email, principal.user?.role, principal.role], [member.email, "member", "member"]);
  // members do not write configs by default
  assert.deepEqual(principal.scopes, ["completions.write", "configs.read", "logs.view"]);
  assert.deepEqual(
    principal.workspaces.map(({ id, role }) => [id, role]),
    [[workspaceId, "member"]],
  );
});

for (const [name, headers, remoteAddress, wanted] of [
  ["plain HTTP", {}, "192.0.2.7", /^gateway-console=[^;]+; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/],
  [
    "TLS at a trusted proxy",
    { "x-forwarded-proto": "https" },
    "10.0.0.1",
    /^__Host-gateway-console=[^;]+; Path=\/; Max-Age=43200; Secure; HttpOnly; SameSite=Strict$/,
  ],
  ["a header of someone else", { "x-forwarded-proto": "https" }, "192.0.2.7", /^gateway-console=(?!.*Secure)/],
] as const) {
  test(`the cookie of a sign-in over ${name}`, async () => {
    const options = { body: { key: adminKey }, headers: { ...sameOrigin, ...headers }, remoteAddress };
    const response = await send(gateway, "POST /console/session", options);
    assert.match(response.headers.get("set-cookie") ?? "", wanted);
    assert.equal(response.headers.get("cache-control"), "no-store");
  });
}

test("a session calls the same API as its key: the control plane, the log and models", async () => {
  const admin = await signIn(gateway, adminKey);
  assert.equal((await admin.call("GET /v1/admin/workspaces")).status, 200);
  assert.equal(await problemOf(admin.call("POST /v1/chat/completions", { body: helloBody })), "403 AB03");
  const workspace = await signIn(gateway, workspaceKey);
  const headers = { "x-gateway-provider": "echo", "x-gateway-trace-id": "console-call" };
  const answer = await workspace.call("POST /v1/chat/completions", { body: helloBody, headers });
  assert.equal(answer.status, 200);
  await answer.text();
  const [row] = await waitForLogs(gateway, "trace_id=console-call");
  const shown = await readJson<{ request: { headers: Record<string, string> } }>(
    await workspace.call(`GET /v1/logs/${row?.id}`),
  );
  assert.match(shown.request.headers.cookie ?? "", /^hmac:/);
  assert.match(shown.request.headers["x-gateway-csrf"] ?? "", /^hmac:/);
  assert.ok(!JSON.stringify(shown).includes(workspace.shown.csrf_token));
});

test("what a call with a session changes is audited as the key's", async () => {
  const { call: asAdmin, shown } = await signIn(gateway, adminKey);
  const made = await asAdmin("POST /v1/admin/workspaces", { body: { name: "By session" } });
  assert.equal(made.status, 200);
  await made.text();
  assert.equal((await auditRows("workspaces"))[0]?.user_id, shown.principal.key?.id);
});

for (const [name, changes, wanted] of [
  ["without the token", { "x-gateway-csrf": null }, "401 AB05"],
  ["with another token", { "x-gateway-csrf": "a".repeat(43) }, "401 session_ended"],
  ["with an empty token", { "x-gateway-csrf": "" }, "401 session_ended"],
  ["without the cookie", { cookie: null }, "401 session_ended"],
  ["with a changed cookie", { cookie: "gateway-console=AAAAAAAAAAAAAAAA.AAAA" }, "401 session_ended"],
  ["from another site", { "sec-fetch-site": "cross-site" }, "403 foreign_request"],
  ["from another host of the domain", { "sec-fetch-site": "same-site" }, "403 foreign_request"],
  ["typed into the address bar", { "sec-fetch-site": "none" }, "403 foreign_request"],
  ["from a page of another origin", { "sec-fetch-site": null, origin: "http://evil.test" }, "403 foreign_request"],
  ["from an opaque origin", { "sec-fetch-site": null, origin: "null" }, "403 foreign_request"],
] as const) {
  test(`a call ${name}: ${wanted}`, async () => {
    const { cookie, shown } = await signIn(gateway, adminKey);
    const headers: Record<string, string> = { ...sameOrigin, cookie, "x-gateway-csrf": shown.csrf_token };
    for (const [header, value] of Object.entries(changes)) {
      if (value === null) delete headers[header];
      else headers[header] = value;
    }
    for (const route of ["GET /v1/admin/workspaces", "DELETE /v1/admin/workspaces/none"]) {
      const answer = await problemOf(send(gateway, route, { headers }));
      assert.equal(answer, wanted, route);
    }
  });
}

test("a call of a browser without sec-fetch-site is one of the console's page, by its origin", async () => {
  const { call: asAdmin } = await signIn(gateway, adminKey);
  const headers = { "sec-fetch-site": "" };
  assert.equal(await problemOf(asAdmin("GET /v1/admin/workspaces", { headers })), "403 foreign_request");
  const { cookie, shown } = await signIn(gateway, adminKey);
  const old = { origin: sameOrigin.origin, cookie, "x-gateway-csrf": shown.csrf_token };
  assert.equal((await send(gateway, "GET /v1/admin/workspaces", { headers: old })).status, 200);
});

for (const header of ["x-gateway-api-key", "authorization", "x-api-key"]) {
  test(`a key in ${header} wins over a session`, async () => {
    const { call: asAdmin } = await signIn(gateway, adminKey);
    const value = (key: string) => (header === "authorization" ? `Bearer ${key}` : key);
    const other = await asAdmin("GET /v1/audit-logs", { headers: { [header]: value(workspaceKey) } });
    assert.equal(other.status, 403);
    const wrong = await asAdmin("GET /v1/audit-logs", { headers: { [header]: value("wrong-key-0000000000") } });
    assert.equal(wrong.status, 401);
  });
}

test("GET /console/session shows the session without its token being known, and changes nothing", async () => {
  const { cookie, shown } = await signIn(gateway, workspaceKey);
  const response = await send(gateway, "GET /console/session", { headers: { ...sameOrigin, cookie } });
  assert.equal(response.headers.get("set-cookie"), null);
  assert.deepEqual(await readJson<ShownSession>(response), shown);
  assert.equal(await problemOf(send(gateway, "GET /console/session")), "401 no_session");
  const foreign = { cookie, "sec-fetch-site": "cross-site" };
  assert.equal(await problemOf(send(gateway, "GET /console/session", { headers: foreign })), "403 foreign_request");
});

test("a sign-out ends the session everywhere it is known, and clears the cookie", async () => {
  const one = await signIn(gateway, adminKey);
  const other = await signIn(gateway, adminKey);
  const response = await one.call("DELETE /console/session");
  assert.equal(response.status, 200);
  assert.deepEqual(await readJson(response), { object: "session", deleted: true });
  assert.match(response.headers.get("set-cookie") ?? "", /^gateway-console=; Path=\/; Max-Age=0;/);
  assert.equal(await problemOf(one.call("GET /v1/admin/workspaces")), "401 session_ended");
  assert.equal(await problemOf(one.call("DELETE /console/session")), "401 session_ended");
  const again = send(gateway, "GET /console/session", { headers: { ...sameOrigin, cookie: one.cookie } });
  assert.equal(await problemOf(again), "401 session_ended");
  assert.equal((await other.call("GET /v1/admin/workspaces")).status, 200);
});

test("a sign-out needs the token", async () => {
  const { cookie, call: asAdmin } = await signIn(gateway, adminKey);
  const response = send(gateway, "DELETE /console/session", { headers: { ...sameOrigin, cookie } });
  assert.equal(await problemOf(response), "401 session_ended");
  assert.equal((await asAdmin("GET /v1/admin/workspaces")).status, 200);
});

test("a sign-in never adopts what the browser already had: a planted session stays another's", async () => {
  const planted = await signIn(gateway, workspaceKey);
  const response = await send(gateway, "POST /console/session", {
    body: { key: adminKey },
    headers: { ...sameOrigin, cookie: planted.cookie },
  });
  const shown = await readJson<ShownSession>(response);
  assert.notEqual(cookieOf(response), planted.cookie);
  assert.notEqual(shown.csrf_token, planted.shown.csrf_token);
  // the page with the former token does not act with the new cookie
  const mixed = asPage(gateway, cookieOf(response), planted.shown.csrf_token);
  assert.equal(await problemOf(mixed("GET /v1/admin/workspaces")), "401 session_ended");
  const twice = asPage(gateway, `${planted.cookie}; ${cookieOf(response)}`, shown.csrf_token);
  assert.equal(await problemOf(twice("GET /v1/admin/workspaces")), "401 session_ended");
});

test("the cookie of plain HTTP does not work over TLS, where others could set it", async () => {
  const { cookie, shown } = await signIn(gateway, adminKey);
  const headers = { ...sameOrigin, cookie, "x-gateway-csrf": shown.csrf_token, "x-forwarded-proto": "https" };
  const response = send(gateway, "GET /v1/admin/workspaces", { headers, remoteAddress: "10.0.0.1" });
  assert.equal(await problemOf(response), "401 session_ended");
});

interface MadeKey {
  id: string;
  key: string;
}

const makeKey = (more: object = {}) =>
  done(
    call<MadeKey>(gateway, "POST /api-keys/organisation/service", {
      body: { name: `Key ${crypto.randomUUID()}`, scopes: ["workspaces.list"], ...more },
    }),
  );

for (const [name, end] of [
  ["deleted", (id: string) => call(gateway, `DELETE /api-keys/${id}`)],
  ["expired", async () => clock.advance(3_700_000)],
] as const) {
  test(`a session ends at once when its key is ${name}`, async () => {
    const { id, key } = await makeKey({ expires_at: new Date(clock.now() + 3_600_000).toISOString() });
    const { call: asKey } = await signIn(gateway, key);
    assert.equal((await asKey("GET /v1/admin/workspaces")).status, 200);
    await end(id);
    assert.equal(await problemOf(asKey("GET /v1/admin/workspaces")), "401 session_ended");
  });
}

test("a session made with a former secret ends with that secret", async () => {
  const { id, key } = await makeKey();
  const { call: asKey } = await signIn(gateway, key);
  const rotated = await done(call<{ key: string }>(gateway, `POST /api-keys/${id}/rotate`, { body: {} }));
  const { call: asNew } = await signIn(gateway, rotated.key);
  assert.equal((await asKey("GET /v1/admin/workspaces")).status, 200, "the transition goes on");
  clock.advance(40 * 24 * 3_600_000);
  const later = await signIn(gateway, rotated.key);
  assert.equal(await problemOf(asKey("GET /v1/admin/workspaces")), "401 session_ended");
  assert.equal(await problemOf(asNew("GET /v1/admin/workspaces")), "401 session_ended", "it is too old");
  assert.equal((await later.call("GET /v1/admin/workspaces")).status, 200);
});

test("a session ends after 12 hours", async () => {
  const { call: asAdmin } = await signIn(gateway, adminKey);
  clock.advance(12 * 3_600_000 - 1_000);
  assert.equal((await asAdmin("GET /v1/admin/workspaces")).status, 200);
  clock.advance(1_000);
  assert.equal(await problemOf(asAdmin("GET /v1/admin/workspaces")), "401 session_ended");
});

test("a session ends after the time that the organisation allows", async () => {
  const { shown } = await signIn(gateway, adminKey);
  const set = (seconds: number | null) =>
    done(
      call(gateway, `PUT /organisations/${shown.principal.organisation_id}`, {
        body: { session_settings: { max_session_ttl: seconds } },
      }),
    );
  await set(900);
  const short = await signIn(gateway, adminKey);
  assert.equal(Date.parse(short.shown.expires_at), clock.now() + 900_000);
  clock.advance(899_000);
  assert.equal((await short.call("GET /v1/admin/workspaces")).status, 200);
  clock.advance(1_000);
  assert.equal(await problemOf(short.call("GET /v1/admin/workspaces")), "401 session_ended");
  await set(86_400);
  const long = await signIn(gateway, adminKey);
  assert.equal(Date.parse(long.shown.expires_at), clock.now() + 12 * 3_600_000, "no longer than the gateway allows");
  await set(null);
});

test("a session sees its own tenant alone", async () => {
  const shared = await createTestGateway({ inFile: true });
  try {
    const other = await createOrganisation(await shared.openFile(), "other");
    const { call: asOther, shown } = await signIn(shared, other.adminKey);
    assert.equal(shown.principal.organisation_id, other.organisationId);
    const listed = await readJson<List<{ id: string }>>(await asOther("GET /v1/admin/workspaces"));
    assert.deepEqual(
      listed.data.map(({ id }) => id),
      [other.workspaceId],
    );
    const own = await signIn(shared, adminKey);
    const organisation = `organisation_id=${own.shown.principal.organisation_id}`;
    assert.equal(await problemOf(asOther(`GET /v1/admin/workspaces?${organisation}`)), "403 AB03");
  } finally {
    await shared.close();
  }
});

test("sign-ins, sign-outs and failures are in the audit log, without any secret", async () => {
  const { call: asAdmin, cookie, shown } = await signIn(gateway, adminKey);
  await asAdmin("DELETE /console/session");
  const failed = send(gateway, "POST /console/session", { body: { key: "wrong-key-1234567890" }, headers: sameOrigin });
  assert.equal(await problemOf(failed), "401 invalid_api_key");
  const [signedIn, wrong] = [
    await audited("sign_in"),
    (await audited("sign_in")).filter((row) => row.response_status_code === 401),
  ];
  const [signedOut] = await audited("sign_out");
  assert.equal(signedOut?.user_id, shown.principal.key?.id);
  assert.ok(signedIn.some((row) => row.resource_id === signedOut?.resource_id && row.response_status_code === 200));
  assert.ok(wrong.length > 0);
  const text = JSON.stringify([signedIn, signedOut]);
  for (const secret of ["wrong-key-1234567890", adminKey, shown.csrf_token, cookie.split("=")[1] ?? ""]) {
    assert.ok(!text.includes(secret), secret);
  }
});

test("an address may sign in only so often", async () => {
  const attempt = (remoteAddress: string) =>
    problemOf(send(gateway, "POST /console/session", { body: { key: adminKey }, headers: sameOrigin, remoteAddress }));
  const answers = [];
  for (let index = 0; index < 31; index++) answers.push(await attempt("203.0.113.9"));
  assert.deepEqual([answers[29], answers[30]], ["200", "429 too_many_requests"]);
  assert.equal(await attempt("203.0.113.10"), "200");
});

for (const [name, body, wanted] of [
  ["no key", {}, "400 invalid_body"],
  ["an empty key", { key: " " }, "400 invalid_body"],
  ["a key that is not text", { key: 7 }, "400 invalid_body"],
  ["a field it does not know", { key: adminKey, organisation_id: "x" }, "400 invalid_body"],
  ["a key that is too long", { key: "k".repeat(600) }, "400 invalid_body"],
  ["two keys", { key: `${adminKey},${workspaceKey}` }, "401 invalid_api_key"],
] as const) {
  test(`a sign-in with ${name}: ${wanted}`, async () => {
    assert.equal(
      await problemOf(
        send(gateway, "POST /console/session", { body, headers: sameOrigin, remoteAddress: "203.0.113.77" }),
      ),
      wanted,
    );
  });
}

test("a proxy may change the host: pages of the public address are the gateway's own", async () => {
  const own = await createTestGateway({ mcp: { baseUrl: "http://console.example.com" } });
  try {
    const attempt = (origin: string) =>
      problemOf(
        send(own, "POST /console/session", { body: { key: adminKey }, headers: { origin, host: "inside.test" } }),
      );
    assert.equal(await attempt("http://console.example.com"), "200");
    assert.equal(await attempt("http://inside.test"), "200");
    assert.equal(await attempt("http://evil.test"), "403 foreign_request");
  } finally {
    await own.close();
  }
});

test("behind a proxy that hides host or protocol, the refusal names both origins and what the proxy must pass on", async () => {
  const headers = { "sec-fetch-site": "", origin: "https://gateway.example.com" };
  const response = await send(gateway, "POST /console/session", { body: { key: adminKey }, headers });
  assert.equal(response.status, 403);
  const { error } = await readJson<{ error: { message: string } }>(response);
  assert.match(error.message, /https:\/\/gateway\.example\.com.+ http:\/\/\S+.+x-forwarded-proto.+TRUSTED_PROXIES/);
});

test("a page of another site cannot sign a browser in", async () => {
  const headers = { "sec-fetch-site": "cross-site" };
  const response = send(gateway, "POST /console/session", { body: { key: adminKey }, headers });
  assert.equal(await problemOf(response), "403 foreign_request");
});
