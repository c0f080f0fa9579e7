import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import { createTestGateway, type TestGateway } from "../support/gateway.ts";
import { addPerson, type InviteReceipt, tokenOf } from "../support/people.ts";
import { createScimClient, type ScimClient } from "../support/scim.ts";

let gateway: TestGateway;
let scim: ScimClient;
let workspace: string;
before(async () => {
  gateway = await createTestGateway();
  scim = await createScimClient(gateway);
  const { data } = await done<{ data: { slug: string }[] }>(call(gateway, "GET /admin/workspaces"));
  workspace = data[0]?.slug ?? "";
});
after(() => gateway.close());

let count = 0;
const newEmail = () => `removed${++count}@example.com`;

function invite(email: string, role = "admin", workspaceRole = "admin"): Promise<InviteReceipt> {
  const body = {
    email,
    role,
    workspaces: [{ id: workspace, role: workspaceRole }],
    workspace_api_key_details: { scopes: ["completions.write"] },
  };
  return done(call<InviteReceipt>(gateway, "POST /admin/users/invites", { body }));
}

const accept = ({ id, invite_link }: InviteReceipt) =>
  call(gateway, `POST /admin/users/invites/${id}/accept`, { key: "", body: { token: tokenOf(invite_link) } });
const statusOf = async ({ id }: InviteReceipt) =>
  (await done<{ status: string }>(call(gateway, `GET /admin/users/invites/${id}`))).status;
const isActive = async (email: string) =>
  (await done<{ total: number }>(call(gateway, `GET /admin/users?email=${encodeURIComponent(email)}`))).total > 0;

const deactivate = [{ op: "replace", path: "active", value: false }];
const ways: Readonly<Record<string, (id: string, email: string) => Promise<unknown>>> = {
  "an identity provider deletes them": (id) => scim.send(`DELETE /Users/${id}`),
  "an identity provider deactivates them": (id) => scim.done(`PATCH /Users/${id}`, { Operations: deactivate }),
  "an identity provider replaces them as inactive": (id, userName) =>
    scim.done(`PUT /Users/${id}`, { userName, active: false }),
  "an admin deletes them": (id) => done(call(gateway, `DELETE /admin/users/${id}`)),
};

for (const [name, remove] of Object.entries(ways)) {
  test(`an earlier invite does not restore access when ${name}`, async () => {
    const email = newEmail();
    const earlier = await invite(email);
    const { id } = await scim.done("POST /Users", { userName: email });
    await remove(id, email);
    assert.equal(await statusOf(earlier), "cancelled");
    assert.equal((await accept(earlier)).status, 409);
    assert.equal(await isActive(email), false);
    const { status } = await call(gateway, `POST /admin/users/invites/${earlier.id}/resend`);
    assert.equal(status, 409);
    const later = await invite(email, "member");
    assert.equal((await accept(later)).status, 200, "who is invited again comes back");
    assert.equal(await isActive(email), true);
  });
}

test("a user who is provisioned as inactive cannot join by an earlier invite", async () => {
  const email = newEmail();
  const earlier = await invite(email);
  await scim.done("POST /Users", { userName: email, active: false });
  assert.equal((await accept(earlier)).status, 409);
  assert.equal(await isActive(email), false);
});

test("an invite is not accepted for an inactive user whose record changed since", async () => {
  const [first, second] = [newEmail(), newEmail()];
  const { id } = await scim.done("POST /Users", { userName: first, active: false });
  const pending = await invite(second);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await scim.done(`PUT /Users/${id}`, { userName: second, active: false, emails: [{ value: second, primary: true }] });
  assert.equal((await accept(pending)).status, 409);
  assert.equal(await isActive(second), false);
});

test("a user deleted by the identity provider returns without their former role", async () => {
  const email = newEmail();
  const { id } = await addPerson(gateway, email, { role: "admin" });
  const user = await scim.done("POST /Users", { userName: email });
  assert.equal(user.id, id);
  await scim.send(`DELETE /Users/${id}`);
  await scim.done("POST /Users", { userName: email });
  assert.equal((await done<{ role: string }>(call(gateway, `GET /admin/users/${id}`))).role, "member");
});

test("a user who was removed from a workspace does not join it again by an earlier invite", async () => {
  const email = newEmail();
  const earlier = await invite(email, "member", "manager");
  const { id } = await scim.done("POST /Users", { userName: email });
  const body = { users: [{ id, role: "member" }] };
  await done(call(gateway, `POST /admin/workspaces/${workspace}/users`, { body }));
  await done(call(gateway, `DELETE /admin/workspaces/${workspace}/users/${id}`));
  const { body: accepted } = await accept(earlier);
  assert.deepEqual(accepted.api_keys, []);
  assert.equal((await call(gateway, `GET /admin/workspaces/${workspace}/users/${id}`)).status, 404);
});

test("an earlier invite does not raise a role that was decided on later", async () => {
  const email = newEmail();
  const earlier = await invite(email, "member", "admin");
  await new Promise((resolve) => setTimeout(resolve, 5));
  const { id } = await scim.done("POST /Users", { userName: email });
  const body = { users: [{ id, role: "member" }] };
  await done(call(gateway, `POST /admin/workspaces/${workspace}/users`, { body }));
  await accept(earlier);
  const { role } = await done<{ role: string }>(call(gateway, `GET /admin/workspaces/${workspace}/users/${id}`));
  assert.equal(role, "member");
});

test("an earlier invite to a former address does not restore access", async () => {
  const [former, present] = [newEmail(), newEmail()];
  const earlier = await invite(former);
  const { id } = await scim.done("POST /Users", { userName: former });
  await scim.done(`PUT /Users/${id}`, { userName: present, emails: [{ value: present, primary: true }] });
  assert.equal(await statusOf(earlier), "cancelled");
  await scim.send(`DELETE /Users/${id}`);
  assert.equal((await accept(earlier)).status, 409);
  assert.equal(await isActive(former), false);
});

for (const how of ["taken out of its group", "left out of its group", "left without the group"]) {
  test(`a user who is ${how} does not join the workspace again by an earlier invite`, async () => {
    const email = newEmail();
    const earlier = await invite(email, "member", "manager");
    const { id } = await scim.done("POST /Users", { userName: email });
    const displayName = `ws-${workspace}-role-member`;
    const group = await scim.done("POST /Groups", { displayName, members: [{ value: id }] });
    const path = `/admin/workspaces/${workspace}/users/${id}`;
    assert.equal((await call(gateway, `GET ${path}`)).status, 200);
    const remove = [{ op: "remove", path: `members[value eq "${id}"]` }];
    if (how === "taken out of its group") await scim.done(`PATCH /Groups/${group.id}`, { Operations: remove });
    else if (how === "left out of its group") await scim.done(`PUT /Groups/${group.id}`, { displayName, members: [] });
    await scim.send(`DELETE /Groups/${group.id}`);
    assert.equal((await call(gateway, `GET ${path}`)).status, 404);
    await accept(earlier);
    assert.equal((await call(gateway, `GET ${path}`)).status, 404);
  });
}
