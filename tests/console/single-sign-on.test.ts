import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, helloBody, readJson, type TestGateway } from "../support/gateway.ts";
import { startIdentityProvider } from "../support/identity-provider.ts";
import { addPerson, type List } from "../support/people.ts";
import { asPage, cookieOf, problemOf, type ShownSession, sameOrigin, send } from "./support.ts";

const origin = "http://127.0.0.1";

let gateway: TestGateway;
let workspaceId: string;
let member: string;
before(async () => {
  gateway = await createTestGateway({ mcp: { baseUrl: origin } });
  workspaceId = (await done(call<List<{ id: string }>>(gateway, "GET /admin/workspaces"))).data[0]?.id ?? "";
  const workspaces = [{ id: workspaceId, role: "manager" }];
  member = (await addPerson(gateway, "ada@example.com", { workspaces })).id;
  await addPerson(gateway, "owner@example.com", { role: "admin" });
});
after(() => gateway.close());

const organisation = async () =>
  (await done(call<{ data: { id: string } }>(gateway, "GET /organisations/self"))).data.id;

type Provider = Awaited<ReturnType<typeof startIdentityProvider>>;

/** Makes an identity provider that of the organisation. */
async function trust(provider: Provider) {
  const oidc = { issuer: provider.url, client_id: "gateway", client_secret: "aFakeSecret" };
  await done(call(gateway, `PUT /organisations/${await organisation()}/auth-settings`, { body: { oidc } }));
}

/** The gateway's answer to a page that a browser opens. */
const open = async (path: string, cookie = "") => {
  const headers = cookie === "" ? {} : { cookie };
  const remoteAddress = `198.51.100.${Math.floor(Math.random() * 250)}`;
  const response = await gateway.gateway.fetch(new Request(`${origin}${path}`, { headers }), { remoteAddress });
  return {
    status: response.status,
    location: response.headers.get("location") ?? "",
    cookie: cookieOf(response),
    response,
  };
};

/** Signs in at the identity provider: what the gateway answers to the browser that returns. */
async function signInThere(query = "", changes: { cookie?: string } = {}) {
  const begun = await open(`/console/sign-in/oidc${query}`);
  const back = await fetch(begun.location, { redirect: "manual" });
  await back.body?.cancel();
  const address = new URL(back.headers.get("location") ?? "");
  const path = address.pathname + address.search;
  return { begun, path, finished: await open(path, changes.cookie ?? begun.cookie) };
}

/** The session of a browser that signed in at an identity provider that says these claims. */
async function sessionOf(claims: object) {
  const provider = await startIdentityProvider({ claims });
  try {
    await trust(provider);
    const { finished } = await signInThere();
    const show = await send(gateway, "GET /console/session", { headers: { ...sameOrigin, cookie: finished.cookie } });
    const shown = await readJson<ShownSession>(show);
    return { finished, shown, call: asPage(gateway, finished.cookie, shown.csrf_token) };
  } finally {
    await provider.close();
  }
}

test("a member signs in at the identity provider, works in the workspace, and returns to the page", async () => {
  const provider = await startIdentityProvider({});
  try {
    await trust(provider);
    const { begun, finished, path } = await signInThere("?return_to=%2Fconsole%2Flogs%3Fstatus%3D500");
    const asked = new URL(begun.location).searchParams;
    assert.equal(asked.get("redirect_uri"), `${origin}/console/sign-in/callback`);
    assert.equal(asked.get("code_challenge_method"), "S256");
    assert.match(
      begun.response.headers.get("set-cookie") ?? "",
      /^gateway-console-sign-in=.*; HttpOnly; SameSite=Lax$/,
    );
    assert.deepEqual([finished.status, finished.location], [303, "/console/logs?status=500"]);
    assert.match(finished.response.headers.get("set-cookie") ?? "", /^gateway-console=.*; HttpOnly; SameSite=Strict$/);
    assert.equal((await open(path, begun.cookie)).location, "/console/sign-in?problem=stale", "an answer works once");
  } finally {
    await provider.close();
  }
  const { shown, call: asMember } = await sessionOf({});
  const { principal } = shown;
  assert.deepEqual(
    [principal.type, principal.user?.email, principal.role, principal.workspace_id, principal.key],
    ["user", "ada@example.com", "manager", workspaceId, null],
  );
  assert.ok(principal.scopes.includes("completions.write") && !principal.scopes.includes("audit_logs.list"));
  const headers = { "x-gateway-provider": "echo" };
  assert.equal(await problemOf(asMember("POST /v1/chat/completions", { body: helloBody, headers })), "200");
  assert.equal(await problemOf(asMember("GET /v1/admin/users")), "403 AB03");
});

test("an admin acts for the organisation, and in a workspace that a call names", async () => {
  const { shown, call: asAdmin } = await sessionOf({ email: "owner@example.com", sub: "subject-2" });
  const { principal } = shown;
  assert.deepEqual([principal.type, principal.role, principal.workspace_id], ["user", "admin", null]);
  assert.ok(principal.scopes.includes("audit_logs.list") && !principal.scopes.includes("completions.write"));
  assert.deepEqual(
    principal.workspaces.map(({ id, role }) => [id, role]),
    [[workspaceId, "admin"]],
  );
  assert.equal(await problemOf(asAdmin("GET /v1/admin/users")), "200");
  assert.equal(await problemOf(asAdmin("POST /v1/chat/completions", { body: helloBody })), "403 AB03");
  const headers = { "x-gateway-provider": "echo", "x-gateway-workspace": "default" };
  assert.equal(await problemOf(asAdmin("POST /v1/chat/completions", { body: helloBody, headers })), "200");
  const named = await readJson<ShownSession>(
    await asAdmin("GET /console/session", { headers: { "x-gateway-workspace": workspaceId } }),
  );
  assert.deepEqual([named.principal.workspace_id, named.principal.role], [workspaceId, "admin"]);
  const other = { "x-gateway-workspace": "none" };
  assert.equal(await problemOf(asAdmin("GET /v1/configs", { headers: other })), "403 AB03");
});

test("logs that the organisation hides from its admins stay hidden from their sessions", async () => {
  const { call: asAdmin } = await sessionOf({ email: "owner@example.com", sub: "subject-2" });
  const query = "GET /v1/logs";
  assert.equal(await problemOf(asAdmin(query)), "200");
  const path = `PUT /organisations/${await organisation()}`;
  const change = (isOn: boolean) =>
    done(call(gateway, path, { body: { settings: { security_settings: { organisationAdminsViewLogs: isOn } } } }));
  await change(false);
  try {
    assert.equal((await problemOf(asAdmin(query))).slice(0, 3), "403");
  } finally {
    await change(true);
  }
});

test("a member names only workspaces of which the user is a member", async () => {
  const made = await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name: "Other" } }));
  const { call: asMember } = await sessionOf({});
  const headers = { "x-gateway-workspace": made.id };
  assert.equal(await problemOf(asMember("GET /v1/configs", { headers })), "403 AB03");
});

test("an invite for the verified address makes the user", async () => {
  const body = { email: "new@example.com", role: "member", workspaces: [{ id: workspaceId, role: "member" }] };
  await done(call(gateway, "POST /admin/users/invites", { body }));
  const { shown } = await sessionOf({ email: "new@example.com", sub: "subject-3" });
  assert.deepEqual([shown.principal.user?.email, shown.principal.role], ["new@example.com", "member"]);
});

for (const [name, changes, problem] of [
  ["an unknown address", { claims: { email: "nobody@example.com", sub: "nobody" } }, "no_user"],
  ["an address that is not verified", { claims: { email_verified: false, sub: "nobody" } }, "no_user"],
  ["a token for another client", { claims: { aud: "another" } }, "not_confirmed"],
  ["the nonce of another sign-in", { nonce: "another" }, "not_confirmed"],
] as const) {
  test(`${name} signs nobody in: ${problem}`, async () => {
    const provider = await startIdentityProvider(changes);
    try {
      await trust(provider);
      const { finished } = await signInThere("?return_to=/console/keys");
      const returned = `/console/sign-in?problem=${problem}&return_to=%2Fconsole%2Fkeys`;
      assert.deepEqual([finished.status, finished.location], [303, returned]);
      assert.equal(finished.cookie, "");
    } finally {
      await provider.close();
    }
  });
}

test("failures at the identity provider are in the audit log; answers that nobody waits for are not", async () => {
  const rows = async () => {
    const at = (time: number) => new Date(time).toISOString();
    const query = `start_time=${at(0)}&end_time=${at(Date.now() + 1_000)}&resource_type=console_sessions&page_size=100`;
    return done(call<{ records: { response_status_code: number }[] }>(gateway, `GET /audit-logs?${query}`));
  };
  const failures = async () => (await rows()).records.filter((row) => row.response_status_code === 403).length;
  const before = await failures();
  await open("/console/sign-in/callback?code=x&state=y");
  assert.equal(await failures(), before);
  const provider = await startIdentityProvider({ claims: { email: "nobody@example.com", sub: "nobody" } });
  try {
    await trust(provider);
    await signInThere();
  } finally {
    await provider.close();
  }
  assert.equal(await failures(), before + 1);
});

test("another browser cannot finish a sign-in", async () => {
  const provider = await startIdentityProvider({});
  try {
    await trust(provider);
    for (const cookie of ["", "gateway-console-sign-in=another"]) {
      const { finished } = await signInThere("", { cookie: cookie === "" ? "unrelated=1" : cookie });
      assert.deepEqual([finished.location, finished.cookie], ["/console/sign-in?problem=stale", ""]);
    }
  } finally {
    await provider.close();
  }
});

for (const given of [
  "https://evil.test/",
  "//evil.test",
  "/\\evil.test",
  "/v1/logs",
  "/consolevil",
  "/console/\u0000",
  "/console/a\r\nset-cookie: x=1",
  "javascript:alert(1)",
]) {
  test(`a sign-in does not return to ${JSON.stringify(given)}`, async () => {
    const provider = await startIdentityProvider({});
    try {
      await trust(provider);
      const { finished } = await signInThere(`?${new URLSearchParams({ return_to: given })}`);
      assert.equal(finished.location, "/console");
    } finally {
      await provider.close();
    }
  });
}

test("an identity provider that does not answer leads back to the sign-in page", async () => {
  const provider = await startIdentityProvider({});
  await trust(provider);
  await provider.close();
  const { location } = await open("/console/sign-in/oidc?return_to=/console/logs");
  assert.equal(location, "/console/sign-in?problem=unreachable&return_to=%2Fconsole%2Flogs");
});

test("the sign-in page learns which methods there are", async () => {
  const options = async () =>
    readJson<object>(await send(gateway, "GET /console/sign-in/options", { headers: sameOrigin }));
  const path = `PUT /organisations/${await organisation()}/auth-settings`;
  await done(call(gateway, path, { body: { oidc: null } }));
  assert.deepEqual(await options(), { object: "sign_in_options", methods: ["key"], asks_organisation: false });
  assert.equal(
    (await open("/console/sign-in/oidc")).location,
    "/console/sign-in?problem=not_offered&return_to=%2Fconsole",
  );
  const provider = await startIdentityProvider({});
  await trust(provider);
  await provider.close();
  assert.deepEqual(await options(), { object: "sign_in_options", methods: ["key", "oidc"], asks_organisation: false });
});

test("a session of a user ends at once when the user is removed", async () => {
  const { call: asMember } = await sessionOf({});
  assert.equal(await problemOf(asMember("GET /v1/configs")), "200");
  await done(call(gateway, `DELETE /admin/users/${member}`));
  assert.equal(await problemOf(asMember("GET /v1/configs")), "401 session_ended");
  assert.equal(await problemOf(asMember("GET /console/session")), "401 session_ended");
});
