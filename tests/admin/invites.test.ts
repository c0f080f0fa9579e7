import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestClock, createTestGateway, insertKey, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { type Accepted, addPerson, type InviteReceipt, type List, problem, tokenOf } from "../support/people.ts";

const clock = createTestClock();
let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
before(async () => {
  gateway = await createTestGateway({ inFile: true, clock });
  other = await createOrganisation(await gateway.openFile(), "other");
});
after(() => gateway.close());

const path = "/admin/users/invites";
const dayMs = 86_400_000;
const lifetimeMs = 7 * dayMs;

interface Invite {
  id: string;
  email: string;
  status: string;
  expires_at: string;
  accepted_at: string | null;
  workspaces: { workspace_id: string; role: string }[];
}

const create = (body: object) =>
  done(call<InviteReceipt>(gateway, `POST ${path}`, { body: { role: "member", workspaces: [], ...body } }));
const read = (id: string) => done(call<Invite>(gateway, `GET ${path}/${id}`));
const accept = <Shape = Record<string, unknown>>(id: string, token: unknown, body: object = {}) =>
  call<Shape>(gateway, `POST ${path}/${id}/accept`, { key: "", body: { token, ...body } });

let count = 0;
const newEmail = () => `person-${++count}@example.com`;

test("POST /admin/users/invites returns a link whose token is not stored", async () => {
  const email = newEmail();
  const { id, invite_link } = await create({ email: email.toUpperCase(), role: "admin" });
  const link = new URL(invite_link);
  assert.deepEqual([link.origin, link.pathname], ["http://gateway.test", `/invites/${id}`]);
  const record = await read(id);
  const { created_at, expires_at, invited_by, ...rest } = await done(call(gateway, `GET ${path}/${id}`));
  assert.deepEqual(rest, {
    object: "invite",
    id,
    email,
    role: "admin",
    first_name: null,
    last_name: null,
    accepted_at: null,
    status: "pending",
    workspaces: [],
  });
  assert.equal(Date.parse(String(expires_at)) - Date.parse(String(created_at)), lifetimeMs);
  assert.ok(invited_by);
  assert.ok(!JSON.stringify(record).includes(tokenOf(invite_link)));
  const database = await gateway.openFile();
  for (const table of ["invites", "audit_logs"]) {
    const { rows } = await database.read(`SELECT * FROM ${table}`);
    assert.ok(!JSON.stringify(rows).includes(tokenOf(invite_link)));
  }
});

const details = (changes: object) => ({
  workspace_api_key_details: { scopes: ["completions.write"], ...changes },
});
for (const [name, body, wanted] of [
  ["no e-mail", { email: undefined }, "400 AB01 email"],
  ["an e-mail without @", { email: "nobody" }, "400 AB01 email"],
  ["a long e-mail", { email: `${"a".repeat(320)}@example.com` }, "400 AB01 email"],
  ["the role owner", { role: "owner" }, "400 AB01 role"],
  ["no workspaces", { workspaces: undefined }, "400 AB01 workspaces"],
  ["a wrong workspace role", { workspaces: [{ id: "default", role: "owner" }] }, "400 AB01 workspaces.0.role"],
  ["an unknown workspace", { workspaces: [{ id: "elsewhere", role: "member" }] }, "403 AB03 workspace_id"],
  ["101 workspaces", { workspaces: Array(101).fill({ id: "default", role: "member" }) }, "400 AB01 workspaces"],
  ["no scopes", details({ scopes: [] }), "400 AB01 workspace_api_key_details.scopes"],
  [
    "an unknown scope",
    details({ scopes: ["configs.read", "configs.fly"] }),
    "400 AB01 workspace_api_key_details.scopes.1",
  ],
  [
    "a scope of admins",
    details({ scopes: ["organisation_users.list"] }),
    "400 AB01 workspace_api_key_details.scopes.0",
  ],
  ["an expiry that is over", details({ expiry: "2020-01-01" }), "400 AB01 workspace_api_key_details.expiry"],
  [
    "metadata of 129 characters",
    details({ metadata: { a: "b".repeat(129) } }),
    "400 AB01 workspace_api_key_details.metadata.a",
  ],
  ["a first name of 256 characters", { first_name: "n".repeat(256) }, "400 AB01 first_name"],
] as const) {
  test(`POST /admin/users/invites refuses ${name}`, async () => {
    const sent = { email: newEmail(), role: "member", workspaces: [], ...body };
    assert.equal(await problem(gateway, `POST ${path}`, { body: sent }), wanted);
  });
}

test("a key invites with scopes it holds, or that only keys of a workspace can hold", async () => {
  const { key } = mintApiKey("gk");
  const scopes = JSON.stringify(["organisation_users.create", "configs.read"]);
  await insertKey(await gateway.openFile(), key, { kind: "organisation-service", workspaceId: null, scopes });
  const invite = (...given: string[]) => {
    const body = { email: newEmail(), role: "member", workspaces: [], workspace_api_key_details: { scopes: given } };
    return problem(gateway, `POST ${path}`, { key, body });
  };
  assert.equal(await invite("configs.read", "completions.write"), "200 undefined undefined");
  assert.equal(await invite("configs.read", "configs:delete"), "403 AB03 workspace_api_key_details.scopes.1");
});

test("accepting an invite creates a user, memberships and a key", async () => {
  const email = newEmail();
  const { id, invite_link } = await create({
    email,
    first_name: "Ada",
    last_name: "Old",
    workspaces: [{ id: "default", role: "manager" }],
    workspace_api_key_details: {
      scopes: ["gateway.configs:list"],
      name: "Mine",
      metadata: { team: "a" },
      expiry: new Date(clock.now() + dayMs).toISOString(),
    },
  });
  const { id: userId, api_keys } = await done(accept<Accepted>(id, tokenOf(invite_link), { last_name: "New" }));
  const user = await done(call(gateway, `GET /admin/users/${userId}`));
  assert.deepEqual([user.email, user.first_name, user.last_name, user.role], [email, "Ada", "New", "member"]);
  const member = await done(call(gateway, `GET /admin/workspaces/default/users/${userId}`));
  assert.equal(member.role, "manager");
  const [made, ...more] = api_keys;
  assert.deepEqual([more, made?.workspace_id], [[], member.workspace_id]);
  const key = made?.key ?? "";
  assert.equal((await call(gateway, "GET /configs", { key })).status, 200);
  assert.equal(await refusal(call(gateway, "GET /admin/workspaces", { key })), "403 AB03");
  const database = await gateway.openFile();
  const { rows } = await database.read({ sql: "SELECT * FROM api_keys WHERE id = ?", args: [made?.id ?? ""] });
  const { name, user_id, kind, scopes, defaults, creation_mode } = rows[0]!;
  assert.deepEqual([name, user_id, kind, scopes], ["Mine", userId, "workspace-user", '["configs.list"]']);
  assert.deepEqual(JSON.parse(String(defaults)).metadata, { team: "a" });
  assert.equal(creation_mode, "auto");
  const invite = await read(id);
  assert.deepEqual([invite.status, invite.accepted_at], ["accepted", new Date(clock.now()).toISOString()]);
  clock.advance(dayMs);
  assert.equal((await call(gateway, "GET /configs", { key })).status, 401);
});

test("a token works once, and both requests leave an audit row of the invite's organisation", async () => {
  const { id, invite_link } = await create({ email: newEmail() });
  const { id: userId } = await done(accept<Accepted>(id, tokenOf(invite_link)));
  assert.equal(await refusal(accept(id, tokenOf(invite_link))), "409 AB07");
  const database = await gateway.openFile();
  const { rows } = await database.read({
    sql: "SELECT * FROM audit_logs WHERE action = 'accept' AND resource_id = ? ORDER BY seq",
    args: [id],
  });
  assert.deepEqual(
    rows.map((row) => [row.response_status_code, row.user_id, row.user_type, row.resource_type]),
    [200, 409].map((status) => [status, userId, "user", "invites"]),
  );
  assert.ok(rows.every((row) => String(row.request_body).includes("*****")));
});

test("parallel acceptances create one user", async () => {
  const email = newEmail();
  const { id, invite_link } = await create({ email });
  const answers = await Promise.all(Array.from({ length: 5 }, () => accept(id, tokenOf(invite_link))));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409]);
  assert.equal((await done(call<List<object>>(gateway, `GET /admin/users?email=${email}`))).total, 1);
});

test("wrong tokens and unknown invites get the same response", async () => {
  const first = await create({ email: newEmail() });
  const second = await create({ email: newEmail() });
  const theirs = await done(
    call<InviteReceipt>(gateway, `POST ${path}`, {
      key: other.adminKey,
      body: { email: newEmail(), role: "member", workspaces: [] },
    }),
  );
  const token = tokenOf(first.invite_link);
  const answers = await Promise.all([
    accept(first.id, "wrong"),
    accept(first.id, `${token.slice(0, -1)}${token.endsWith("a") ? "b" : "a"}`),
    accept(first.id, tokenOf(second.invite_link)),
    accept(first.id, tokenOf(theirs.invite_link)),
    accept(theirs.id, token),
    accept(crypto.randomUUID(), token),
    accept("no-id", token),
  ]);
  const [answer] = answers;
  assert.equal(answer?.status, 404);
  for (const one of answers) assert.deepEqual(one, answer);
  assert.equal((await read(first.id)).status, "pending");
});

for (const [name, body] of [
  ["no token", {}],
  ["an empty token", { token: "" }],
  ["a long token", { token: "t".repeat(513) }],
  ["a name that is a number", { token: "t", first_name: 1 }],
] as const) {
  test(`POST accept refuses ${name}`, async () => {
    const route = `POST ${path}/${crypto.randomUUID()}/accept`;
    assert.match(await problem(gateway, route, { key: "", body }), /^400 AB01/);
  });
}

test("an invite expires after seven days; resending renews it and the link", async () => {
  const { id, invite_link } = await create({ email: newEmail() });
  clock.advance(lifetimeMs);
  assert.equal((await read(id)).status, "expired");
  assert.equal(await refusal(accept(id, tokenOf(invite_link))), "409 AB07");
  const { inviteLink } = await done(call<{ inviteLink: string }>(gateway, `POST ${path}/${id}/resend`));
  const renewed = await read(id);
  assert.deepEqual([renewed.status, Date.parse(renewed.expires_at)], ["pending", clock.now() + lifetimeMs]);
  assert.equal(await refusal(accept(id, tokenOf(invite_link))), "404 AB08");
  await done(accept<Accepted>(id, tokenOf(inviteLink)));
  assert.equal(await refusal(call(gateway, `POST ${path}/${id}/resend`)), "409 AB07");
  assert.equal(await refusal(call(gateway, `DELETE ${path}/${id}`)), "409 AB07");
});

test("a cancelled invite cannot be accepted or resent", async () => {
  const email = newEmail();
  const { id, invite_link } = await create({ email });
  assert.deepEqual(await done(call(gateway, `DELETE ${path}/${id}`)), {});
  assert.equal((await read(id)).status, "cancelled");
  assert.equal(await refusal(accept(id, tokenOf(invite_link))), "409 AB07");
  assert.equal(await refusal(call(gateway, `POST ${path}/${id}/resend`)), "409 AB07");
  await create({ email });
});

test("an address has at most one pending invite, and none if its user exists", async () => {
  const email = newEmail();
  const invite = await create({ email });
  const again = () => refusal(call(gateway, `POST ${path}`, { body: { email, role: "member", workspaces: [] } }));
  assert.equal(await again(), "409 AB07");
  clock.advance(lifetimeMs);
  const next = await create({ email });
  assert.equal(await refusal(call(gateway, `POST ${path}/${invite.id}/resend`)), "409 AB07");
  await done(accept<Accepted>(next.id, tokenOf(next.invite_link)));
  assert.equal(await again(), "409 AB07");
});

test("GET /admin/users/invites filters and pages", async () => {
  const key = other.adminKey;
  const make = (email: string, role: string) =>
    done(call<InviteReceipt>(gateway, `POST ${path}`, { key, body: { email, role, workspaces: [] } }));
  const list = async (query: string) => {
    const { data, total } = await done(call<List<Invite>>(gateway, `GET ${path}?${query}`, { key }));
    return [data.map(({ email }) => email).sort(), total] as const;
  };
  const before = await done(call<List<Invite>>(gateway, `GET ${path}`, { key }));
  for (const { id, status } of before.data)
    if (status === "pending") await call(gateway, `DELETE ${path}/${id}`, { key });
  await make("late@x.example", "admin");
  clock.advance(lifetimeMs);
  await make("now@x.example", "member");
  const gone = await make("gone@x.example", "member");
  await done(call(gateway, `DELETE ${path}/${gone.id}`, { key }));
  await addPerson(gateway, "in@x.example", { key });
  assert.deepEqual(await list("status=pending"), [["now@x.example"], 1]);
  assert.deepEqual(await list("status=accepted"), [["in@x.example"], 1]);
  assert.ok((await list("status=expired"))[0].includes("late@x.example"));
  assert.ok((await list("status=cancelled"))[0].includes("gone@x.example"));
  assert.deepEqual(await list("role=admin"), [["late@x.example"], 1]);
  assert.deepEqual(await list("email=NOW@x.example"), [["now@x.example"], 1]);
  assert.deepEqual((await list("pageSize=2&currentPage=0"))[0].length, 2);
  assert.equal(await refusal(call(gateway, `GET ${path}?status=lost`, { key })), "400 AB01");
});

test("workspaces deleted before an invite is accepted are left out", async () => {
  const { id: workspaceId } = await done(
    call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name: "Short lived" } }),
  );
  const invite = await create({ email: newEmail(), workspaces: [{ id: workspaceId, role: "admin" }] });
  await done(call(gateway, `DELETE /admin/workspaces/${workspaceId}`, { body: { name: "Short lived" } }));
  const { id } = await done(accept<Accepted>(invite.id, tokenOf(invite.invite_link)));
  assert.deepEqual((await done(call(gateway, `GET /admin/users/${id}`))).workspace_ids, []);
});

test("invites of another organisation are not found, like unknown ones; workspace keys see none", async () => {
  const { id } = await create({ email: newEmail() });
  for (const route of [`GET ${path}/${id}`, `DELETE ${path}/${id}`, `POST ${path}/${id}/resend`]) {
    assert.equal(await refusal(call(gateway, route, { key: other.adminKey })), "404 AB08");
    assert.equal(await refusal(call(gateway, route, { key: workspaceKey })), "403 AB03");
    assert.equal(await refusal(call(gateway, route.replace(id, "no-id"))), "404 AB08");
  }
  const foreign = { email: newEmail(), role: "member", workspaces: [{ id: other.workspaceId, role: "member" }] };
  assert.equal(await refusal(call(gateway, `POST ${path}`, { body: foreign })), "403 AB03");
});
