import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson, type List, problem } from "../support/people.ts";

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  other = await createOrganisation(await gateway.openFile(), "other");
});
after(() => gateway.close());

interface User {
  object: string;
  id: string;
  email: string;
  role: string;
  workspace_ids: string[];
}

const list = (query = "", key?: string) =>
  done(call<List<User>>(gateway, `GET /admin/users${query}`, key === undefined ? {} : { key }));

const inDefault = [{ id: "default", role: "member" }];

test("GET /admin/users lists users with the slugs of their workspaces", async () => {
  const member = await addPerson(gateway, "member@example.com", { workspaces: inDefault });
  const admin = await addPerson(gateway, "admin@example.com", { role: "admin" });
  const outside = await addPerson(gateway, "outside@example.com");
  const { object, data, total } = await list();
  const slugsOf = ({ id }: { id: string }) => data.find((user) => user.id === id)?.workspace_ids;
  assert.deepEqual([object, total, data.length], ["list", 4, 4]);
  assert.deepEqual([slugsOf(member), slugsOf(admin), slugsOf(outside)], [["default"], ["default"], []]);
  const shown = await done(call(gateway, `GET /admin/users/${member.id}`));
  assert.deepEqual(Object.keys(shown).sort(), [
    "created_at",
    "email",
    "first_name",
    "id",
    "last_name",
    "last_updated_at",
    "object",
    "role",
    "workspace_ids",
  ]);
  assert.deepEqual([shown.object, shown.email, shown.role], ["user", "member@example.com", "member"]);
});

for (const [query, emails] of [
  ["?role=owner", ["owner@localhost"]],
  ["?role=admin", ["admin@example.com"]],
  ["?email=MEMBER@example.com", ["member@example.com"]],
  ["?email=nobody@example.com", []],
] as const) {
  test(`GET /admin/users${query} filters`, async () => {
    const { data, total } = await list(query);
    assert.deepEqual([data.map(({ email }) => email), total], [emails, emails.length]);
  });
}

test("GET /admin/users has pages in both spellings", async () => {
  const all = (await list()).data.map(({ id }) => id);
  const second = await list("?pageSize=1&currentPage=1");
  assert.deepEqual([second.data.map(({ id }) => id), second.total], [[all[1]], 4]);
  assert.deepEqual(await list("?page_size=1&current_page=1"), second);
  assert.deepEqual((await list("?pageSize=10&currentPage=7")).data, []);
});

for (const query of ["pageSize=0", "pageSize=1001", "pageSize=x", "currentPage=-1", "role=manager"]) {
  test(`GET /admin/users?${query} is refused`, async () => {
    assert.equal(await refusal(call(gateway, `GET /admin/users?${query}`)), "400 AB01");
  });
}

test("PUT /admin/users changes a role, once", async () => {
  const { id } = await addPerson(gateway, "change@example.com");
  const put = (role: unknown) => call(gateway, `PUT /admin/users/${id}`, { body: { role } });
  assert.deepEqual(await done(put("admin")), {});
  assert.equal((await done(call(gateway, `GET /admin/users/${id}`))).role, "admin");
  assert.equal(await refusal(put("admin")), "400 AB01");
  for (const role of ["owner", "manager", undefined]) {
    assert.equal(await problem(gateway, `PUT /admin/users/${id}`, { body: { role } }), "400 AB01 role");
  }
});

test("the owner can be neither changed nor deleted", async () => {
  const [owner] = (await list("?role=owner")).data;
  const path = `/admin/users/${owner?.id}`;
  assert.equal(await refusal(call(gateway, `PUT ${path}`, { body: { role: "member" } })), "403 AB03");
  assert.equal(await refusal(call(gateway, `DELETE ${path}`)), "403 AB03");
});

test("DELETE /admin/users ends memberships and keys at once; an invite restores the user", async () => {
  const email = "leaver@example.com";
  const invitation = { workspaces: inDefault, scopes: ["configs.list"] };
  const person = await addPerson(gateway, email, invitation);
  assert.equal((await call(gateway, "GET /configs", { key: person.key })).status, 200);
  assert.deepEqual(await done(call(gateway, `DELETE /admin/users/${person.id}`)), {});
  assert.equal((await call(gateway, "GET /configs", { key: person.key })).status, 401);
  assert.equal(await refusal(call(gateway, `GET /admin/users/${person.id}`)), "404 AB08");
  assert.equal(await refusal(call(gateway, `DELETE /admin/users/${person.id}`)), "404 AB08");
  assert.equal((await list(`?email=${email}`)).total, 0);
  assert.equal(await refusal(call(gateway, `GET /admin/workspaces/default/users/${person.id}`)), "404 AB08");
  const again = await addPerson(gateway, email, { role: "admin" });
  assert.equal(again.id, person.id);
  assert.equal((await done(call(gateway, `GET /admin/users/${person.id}`))).role, "admin");
  assert.equal((await call(gateway, "GET /configs", { key: person.key })).status, 401);
});

test("users of another organisation are not found, like unknown ones", async () => {
  const { id } = await addPerson(gateway, "theirs@example.com", { key: other.adminKey });
  for (const userId of [id, crypto.randomUUID(), "no-id", "me"]) {
    assert.equal(await refusal(call(gateway, `GET /admin/users/${userId}`)), "404 AB08");
    assert.equal(await refusal(call(gateway, `DELETE /admin/users/${userId}`)), "404 AB08");
    const body = { role: "admin" };
    assert.equal(await refusal(call(gateway, `PUT /admin/users/${userId}`, { body })), "404 AB08");
  }
  assert.deepEqual((await list("", other.adminKey)).data.map(({ email }) => email).sort(), [
    "owner@localhost",
    "theirs@example.com",
  ]);
});

test("keys of a workspace cannot reach users", async () => {
  for (const route of ["GET /admin/users", "GET /admin/users/x", "DELETE /admin/users/x"]) {
    assert.equal(await refusal(call(gateway, route, { key: workspaceKey })), "403 AB03");
  }
});
