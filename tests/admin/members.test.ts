import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { addPerson, type List, type Person, problem } from "../support/people.ts";

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let organisationId: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  other = await createOrganisation(await gateway.openFile(), "other");
  const { data } = await done(call<{ data: { id: string } }>(gateway, "GET /organisations/self"));
  organisationId = data.id;
});
after(() => gateway.close());

const path = "/admin/workspaces/default/users";
const scopes = ["list", "read", "create", "update", "delete"].map((verb) => `workspace_users.${verb}`);

interface Member {
  object: string;
  id: string;
  role: string;
  org_role: string;
  email: string;
  workspace_id: string;
  scopes: string[];
}

let count = 0;
const newPerson = (invitation: Parameters<typeof addPerson>[2] = {}) =>
  addPerson(gateway, `p${++count}@example.com`, invitation);
/** A member of the default workspace, with a key that holds every scope on members. */
const colleague = (role: string) =>
  newPerson({ workspaces: [{ id: "default", role }], scopes: [...scopes, "workspaces.update"] });
const add = (users: object[], key?: string) => call(gateway, `POST ${path}`, { body: { users }, ...(key && { key }) });
const roleOf = async ({ id }: Person) => (await done(call<Member>(gateway, `GET ${path}/${id}`))).role;

test("POST members adds users and changes the role of existing members", async () => {
  const [first, second] = [await newPerson(), await newPerson({ role: "admin" })];
  const users = [first, second].map(({ id }) => ({ id, role: "member" }));
  assert.deepEqual(await done(add(users)), {});
  assert.deepEqual(await done(add([{ id: first.id, role: "manager" }])), {});
  assert.deepEqual([await roleOf(first), await roleOf(second)], ["manager", "member"]);
  const { scopes: held, ...member } = await done(call<Member>(gateway, `GET ${path}/${second.id}`));
  assert.ok(held.includes("configs.delete"));
  assert.deepEqual(Object.keys(member).sort(), [
    "created_at",
    "email",
    "first_name",
    "id",
    "last_name",
    "last_updated_at",
    "object",
    "org_role",
    "role",
    "settings",
    "status",
    "workspace_id",
  ]);
  assert.deepEqual([member.object, member.org_role, member.email], ["workspace-user", "admin", second.email]);
});

test("GET members filters and pages", async () => {
  const list = (query: string) => done(call<List<Member>>(gateway, `GET ${path}?${query}`));
  const person = await colleague("manager");
  const all = await list("");
  assert.equal(all.object, "list");
  assert.equal(all.total, all.data.length);
  assert.deepEqual(
    (await list(`email=${person.email.toUpperCase()}`)).data.map(({ id }) => id),
    [person.id],
  );
  assert.ok((await list("role=manager")).data.every(({ role }) => role === "manager"));
  const page = await list("page_size=1&current_page=1");
  assert.deepEqual([page.data.map(({ id }) => id), page.total], [[all.data[1]?.id], all.total]);
  for (const query of ["role=owner", "page_size=0"]) {
    assert.equal(await refusal(call(gateway, `GET ${path}?${query}`)), "400 AB01");
  }
});

const nobody = crypto.randomUUID();
for (const [name, users, wanted] of [
  ["no list", undefined, "400 AB01 users"],
  ["an empty list", [], "400 AB01 users"],
  ["101 people", Array.from({ length: 101 }, (_, index) => ({ id: `u${index}`, role: "member" })), "400 AB01 users"],
  ["a person nobody knows", [{ id: nobody, role: "member" }], "400 AB01 users.0.id"],
  ["an address nobody has", [{ email: "nobody@example.com", role: "member" }], "400 AB01 users.0.email"],
  ["what is no address", [{ email: "nobody", role: "member" }], "400 AB01 users.0.email"],
  ["neither id nor address", [{ role: "member" }], "400 AB01 users.0"],
  ["both id and address", [{ id: nobody, email: "nobody@example.com", role: "member" }], "400 AB01 users.0"],
  ["the role owner", [{ id: nobody, role: "owner" }], "400 AB01 users.0.role"],
] as const) {
  test(`POST members refuses ${name}`, async () => {
    assert.equal(await problem(gateway, `POST ${path}`, { body: { users } }), wanted);
  });
}

test("POST members refuses a person twice, also by id and by address", async () => {
  const { id, email } = await newPerson();
  for (const again of [{ id }, { id: id.toUpperCase() }, { email }]) {
    const users = [{ id }, again].map((one) => ({ ...one, role: "member" }));
    assert.equal(await problem(gateway, `POST ${path}`, { body: { users } }), "400 AB01 users");
  }
});

test("POST members takes the e-mail address of a user in any case", async () => {
  const manager = await colleague("manager");
  const person = await newPerson();
  assert.deepEqual(await done(add([{ email: person.email.toUpperCase(), role: "member" }], manager.key)), {});
  assert.equal(await roleOf(person), "member");
  assert.deepEqual(await done(add([{ email: person.email, role: "manager" }])), {});
  assert.equal(await roleOf(person), "manager");
});

test("users of another organisation cannot be added", async () => {
  const { id, email } = await addPerson(gateway, "theirs@example.com", { key: other.adminKey });
  const add = (user: object) => problem(gateway, `POST ${path}`, { body: { users: [{ ...user, role: "member" }] } });
  assert.equal(await add({ id }), "400 AB01 users.0.id");
  assert.equal(await add({ email }), "400 AB01 users.0.email");
});

test("a removed user cannot be added by the e-mail address", async () => {
  const { id, email } = await newPerson();
  await done(call(gateway, `DELETE /admin/users/${id}`));
  const body = { users: [{ email, role: "member" }] };
  assert.equal(await problem(gateway, `POST ${path}`, { body }), "400 AB01 users.0.email");
});

test("PUT and DELETE members change and end a membership", async () => {
  const person = await colleague("member");
  const one = `${path}/${person.id}`;
  assert.deepEqual(await done(call(gateway, `PUT ${one}`, { body: { role: "admin" } })), {});
  assert.equal(await roleOf(person), "admin");
  assert.equal(await problem(gateway, `PUT ${one}`, { body: { role: "king" } }), "400 AB01 role");
  assert.equal((await call(gateway, `GET ${path}`, { key: person.key })).status, 200);
  assert.deepEqual(await done(call(gateway, `DELETE ${one}`)), {});
  assert.equal((await call(gateway, `GET ${path}`, { key: person.key })).status, 401);
  for (const route of [`GET ${one}`, `DELETE ${one}`]) assert.equal(await refusal(call(gateway, route)), "404 AB08");
  assert.equal(await refusal(call(gateway, `PUT ${one}`, { body: { role: "admin" } })), "404 AB08");
  assert.equal((await done(call(gateway, `GET /admin/users/${person.id}`))).id, person.id);
});

test("a user who leaves one workspace does not lose the keys of the others", async () => {
  const { id: workspaceId } = await done(
    call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name: "Second" } }),
  );
  const workspaces = [
    { id: workspaceId, role: "member" },
    { id: "default", role: "member" },
  ];
  const person = await newPerson({ workspaces, scopes: ["workspace_users.list"] });
  const database = await gateway.openFile();
  const statuses = async () => {
    const sql = "SELECT workspace_id, status FROM api_keys WHERE user_id = ?";
    const { rows } = await database.read({ sql, args: [person.id] });
    return new Map(rows.map((row) => [row.workspace_id === workspaceId, row.status]));
  };
  await done(call(gateway, `DELETE ${path}/${person.id}`));
  const found = await statuses();
  assert.deepEqual([found.get(true), found.get(false)], ["active", "revoked"]);
});

test("managers give and take roles up to their own", async () => {
  const manager = await colleague("manager");
  const admin = await colleague("admin");
  const member = await colleague("member");
  const { key } = manager;
  const as = (route: string, body?: object) => refusal(call(gateway, route, { key, ...(body && { body }) }));
  assert.equal(await refusal(add([{ id: member.id, role: "admin" }], key)), "403 AB03");
  assert.equal(await refusal(add([{ id: admin.id, role: "member" }], key)), "403 AB03");
  assert.equal(await as(`PUT ${path}/${member.id}`, { role: "admin" }), "403 AB03");
  assert.equal(await as(`PUT ${path}/${manager.id}`, { role: "admin" }), "403 AB03");
  assert.equal(await as(`PUT ${path}/${admin.id}`, { role: "member" }), "403 AB03");
  assert.equal(await as(`DELETE ${path}/${admin.id}`), "403 AB03");
  await done(call(gateway, `PUT ${path}/${member.id}`, { key, body: { role: "manager" } }));
  await done(add([{ id: (await newPerson()).id, role: "manager" }], key));
  await done(call(gateway, `PUT ${path}/${member.id}`, { key: admin.key, body: { role: "admin" } }));
  assert.equal(await roleOf(member), "admin");
});

test("members can list members, and change nothing", async () => {
  const { key, id } = await colleague("member");
  assert.equal((await call(gateway, `GET ${path}`, { key })).status, 200);
  assert.equal((await call(gateway, `GET ${path}/${id}`, { key })).status, 200);
  for (const [route, body] of [
    [`POST ${path}`, { users: [{ id, role: "member" }] }],
    [`PUT ${path}/${id}`, { role: "manager" }],
    [`DELETE ${path}/${id}`, undefined],
    ["PUT /admin/workspaces/default", { name: "Mine" }],
  ] as const) {
    assert.equal(await refusal(call(gateway, route, { key, ...(body && { body }) })), "403 AB03");
  }
});

test("managers update the workspace while the switch is on", async () => {
  const { key } = await colleague("manager");
  const update = () => call(gateway, "PUT /admin/workspaces/default", { key, body: { icon: "x" } });
  await done(update());
  const set = (security_settings: object | null) =>
    done(call(gateway, `PUT /organisations/${organisationId}`, { body: { security_settings } }));
  await set({ managersUpdateWs: false });
  assert.equal(await refusal(update()), "403 AB03");
  await set(null);
  await done(update());
});

test("users who join get a key where the settings say so", async () => {
  const set = (body: object) => done(call(gateway, `PUT /organisations/${organisationId}`, { body }));
  const database = await gateway.openFile();
  const keysOf = async ({ id }: Person) => {
    const sql = "SELECT * FROM api_keys WHERE user_id = ? AND status = 'active'";
    return (await database.read({ sql, args: [id] })).rows;
  };
  const joined = async () => {
    const person = await newPerson();
    await done(add([{ id: person.id, role: "member" }]));
    return { person, keys: await keysOf(person) };
  };
  assert.equal((await joined()).keys.length, 0);
  await set({ default_workspace_user_api_key_auto_create: true, user_api_key_ttl: 3 });
  const { person, keys } = await joined();
  const [key] = keys;
  assert.deepEqual([keys.length, key?.kind, key?.creation_mode], [1, "workspace-user", "auto"]);
  assert.equal(Number(key?.expires_at) - Number(key?.created_at), 3 * 86_400_000);
  await done(add([{ id: person.id, role: "manager" }]));
  assert.equal((await keysOf(person)).length, 1);
  const users = [person.id];
  await done(call(gateway, "POST /admin/workspaces", { body: { name: "Not the default", users } }));
  assert.equal((await keysOf(person)).length, 1);
  await set({ user_api_key_auto_create: true });
  await done(call(gateway, "POST /admin/workspaces", { body: { name: "Any", users } }));
  assert.equal((await keysOf(person)).length, 2);
  await set({ user_api_key_count: 0 });
  assert.equal((await joined()).keys.length, 0);
  const required = { type: "object", additionalProperties: true, required: ["team"] };
  await set({ user_api_key_count: null, api_key_metadata_schema: required });
  assert.equal((await joined()).keys.length, 0);
  await set({
    api_key_metadata_schema: null,
    user_api_key_ttl: null,
    user_api_key_auto_create: null,
    default_workspace_user_api_key_auto_create: null,
  });
  assert.equal((await joined()).keys.length, 0);
});

test("other workspaces and those of another organisation are not found, like unknown ones", async () => {
  const { id } = await done(call<{ id: string }>(gateway, "POST /admin/workspaces", { body: { name: "Apart" } }));
  const own = { key: workspaceKey };
  const { id: userId } = await newPerson();
  for (const [workspace, options] of [
    [id, own],
    [other.workspaceId, {}],
    [other.workspaceId, own],
    [crypto.randomUUID(), {}],
  ] as const) {
    const users = `/admin/workspaces/${workspace}/users`;
    const body = { users: [{ id: userId, role: "member" }] };
    assert.equal(await refusal(call(gateway, `GET ${users}`, options)), "404 AB08");
    assert.equal(await refusal(call(gateway, `POST ${users}`, { ...options, body })), "404 AB08");
    assert.equal(await refusal(call(gateway, `GET ${users}/${userId}`, options)), "404 AB08");
    assert.equal(await refusal(call(gateway, `DELETE ${users}/${userId}`, options)), "404 AB08");
  }
  assert.equal((await call(gateway, `GET ${path}`, own)).status, 200);
});
