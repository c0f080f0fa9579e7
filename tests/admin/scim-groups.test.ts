import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Database } from "../../src/db/client.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestGateway, type TestGateway } from "../support/gateway.ts";
import { createScimClient, type Resource, type ResourceList, type ScimClient } from "../support/scim.ts";

let gateway: TestGateway;
let database: Database;
let scim: ScimClient;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let organisationId: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  other = await createOrganisation(database, "other-groups");
  scim = await createScimClient(gateway);
  const { rows } = await database.read({
    sql: "SELECT organisation_id FROM workspaces WHERE organisation_id <> ?",
    args: [other.organisationId],
  });
  organisationId = String(rows[0]?.organisation_id);
});
after(() => gateway.close());

const missing = "00000000-0000-4000-8000-000000000000";
let count = 0;
const next = (stem: string) => `${stem} ${++count}`;
const createUser = async () => (await scim.done("POST /Users", { userName: `member${++count}@example.com` })).id;
const toMembers = (ids: readonly string[]) => ids.map((value) => ({ value }));
const createGroup = (displayName: string, members: readonly string[] = []) =>
  scim.done("POST /Groups", { displayName, members: toMembers(members) });
const patch = (id: string, ...Operations: object[]) => scim.done(`PATCH /Groups/${id}`, { Operations });
const membersOf = async (id: string) =>
  (await scim.done(`GET /Groups/${id}`)).members?.map(({ value }) => value).sort();

async function createWorkspace(name: string): Promise<string> {
  const id = crypto.randomUUID();
  await database.write([
    {
      sql: "INSERT INTO workspaces (id, organisation_id, name, slug, created_at) VALUES (?,?,?,?,0)",
      args: [id, organisationId, name, `slug-${++count}`],
    },
  ]);
  return id;
}

/** `role source` of a user in a workspace. */
async function placeOf(userId: string, workspaceId: string): Promise<string | undefined> {
  const { rows } = await database.read({
    sql: "SELECT role, source FROM workspace_members WHERE user_id = ? AND workspace_id = ?",
    args: [userId, workspaceId],
  });
  return rows[0] && `${rows[0].role} ${rows[0].source}`;
}

interface Mapping {
  id: string;
  workspace_id: string;
  scim_group: string;
  scim_group_id: string;
  role: string;
}
const map = (workspace_id: string, role: string, group: object) =>
  done<Mapping>(call<Mapping>(gateway, "POST /scim/workspaces", { body: { workspace_id, role, ...group } }));

test("POST /Groups returns 201 with the group and its location", async () => {
  const [ann, eve] = [await createUser(), await createUser()];
  const displayName = next("Bakers");
  const members = toMembers([ann, eve]);
  const { status, location, body } = await scim.send("POST /Groups", { displayName, externalId: "g-1", members });
  assert.deepEqual([status, location], [201, `http://gateway.test/scim/v2/Groups/${body.id}`]);
  assert.deepEqual([body.displayName, body.externalId, body.meta.resourceType], [displayName, "g-1", "Group"]);
  assert.deepEqual(
    body.members?.map(({ value }) => value),
    [ann, eve],
  );
  assert.deepEqual(await membersOf(body.id), [ann, eve].sort());
  const shown = await scim.done(`GET /Users/${ann}`);
  assert.deepEqual(
    shown.groups.map(({ value, display }) => [value, display]),
    [[body.id, displayName]],
  );
});

test("excludedAttributes=members omits the members", async () => {
  const user = await createUser();
  const { id, displayName } = await createGroup(next("Group"), [user]);
  assert.equal((await scim.done(`GET /Groups/${id}?excludedAttributes=members`)).members, undefined);
  const filter = encodeURIComponent(`displayName eq "${displayName}"`);
  const list = (query = "") => scim.done<ResourceList>(`GET /Groups?filter=${filter}${query}`);
  assert.equal((await list("&excludedAttributes=members")).Resources[0]?.members, undefined);
  assert.equal((await list()).Resources[0]?.members?.length, 1);
});

test("GET /Groups filters and pages", async () => {
  const { id } = await scim.done("POST /Groups", { displayName: "Filter Me", externalId: "filter-me" });
  for (const [filter, total] of [
    ['displayName eq "FILTER ME"', 1],
    ['externalId eq "filter-me"', 1],
    ['externalId eq "Filter-Me"', 0],
    [`id eq "${id}" and displayName eq "Filter Me"`, 1],
  ] as const) {
    const answer = await scim.done<ResourceList>(`GET /Groups?filter=${encodeURIComponent(filter)}`);
    assert.equal(answer.totalResults, total, filter);
  }
  assert.equal(await scim.refusal('GET /Groups?filter=members%20eq%20"a"'), "400 invalidFilter");
  await createGroup(next("Group"));
  const page = await scim.done<ResourceList>("GET /Groups?startIndex=2&count=1");
  assert.deepEqual([page.itemsPerPage, page.startIndex], [1, 2]);
  assert.ok(page.totalResults >= 2);
  assert.deepEqual((await scim.done<ResourceList>("GET /Groups?count=0")).Resources, []);
});

for (const [name, body] of [
  ["no name", {}],
  ["an empty name", { displayName: "" }],
  ["a name of 256 characters", { displayName: "n".repeat(256) }],
  ["members that are no list", { displayName: "x", members: "y" }],
  ["a member that is no id", { displayName: "x", members: [{ value: "y" }] }],
  ["a member that is not there", { displayName: "x", members: [{ value: missing }] }],
  ["1,001 members", { displayName: "x", members: Array(1001).fill({ value: missing }) }],
] as const) {
  test(`POST /Groups refuses ${name}`, async () => {
    assert.equal(await scim.refusal("POST /Groups", body), "400 invalidValue");
  });
}

test("two groups cannot share a name or an externalId", async () => {
  const first = await scim.done("POST /Groups", { displayName: next("Twin"), externalId: "twin-group" });
  const second = await createGroup(next("Twin"));
  const displayName = first.displayName?.toUpperCase();
  assert.equal(await scim.refusal("POST /Groups", { displayName }), "409 uniqueness");
  assert.equal(await scim.refusal("POST /Groups", { displayName: "x", externalId: "twin-group" }), "409 uniqueness");
  assert.equal(await scim.refusal(`PUT /Groups/${second.id}`, { displayName }), "409 uniqueness");
  const Operations = [{ op: "replace", path: "externalId", value: "twin-group" }];
  assert.equal(await scim.refusal(`PATCH /Groups/${second.id}`, { Operations }), "409 uniqueness");
});

test("PATCH /Groups changes members in every notation identity providers use", async () => {
  const [a, b, c] = [await createUser(), await createUser(), await createUser()];
  const { id } = await createGroup(next("Group"), [a]);
  for (const [operations, wanted] of [
    [[{ op: "Add", path: "members", value: toMembers([b, c]) }], [a, b, c]],
    [[{ op: "add", path: "members", value: toMembers([b]) }], [a, b, c]],
    [[{ op: "remove", path: `members[value eq "${b}"]` }], [a, c]],
    [[{ op: "Remove", path: "members", value: toMembers([c]) }], [a]],
    [[{ op: "remove", path: "members", value: toMembers([missing]) }], [a]],
    [[{ op: "add", value: { members: toMembers([b]) } }], [a, b]],
    [[{ op: "replace", path: "members", value: toMembers([c]) }], [c]],
    [[{ op: "replace", value: { id: missing, displayName: "New", members: toMembers([a, b]) } }], [a, b]],
    [[{ op: "add", path: "members", value: { value: c } }], [a, b, c]],
    [[{ op: "remove", path: "members" }], []],
    [
      [
        { op: "add", path: "members", value: toMembers([a, b]) },
        { op: "remove", path: `members[value eq "${a}"]` },
      ],
      [b],
    ],
  ] as const) {
    await patch(id, ...operations);
    assert.deepEqual(await membersOf(id), [...wanted].sort(), JSON.stringify(operations));
  }
  assert.equal((await scim.done(`GET /Groups/${id}`)).displayName, "New");
});

for (const [name, operations, wanted] of [
  ["removal of the name", [{ op: "remove", path: "displayName" }], "400 invalidValue"],
  ["removal without path", [{ op: "remove" }], "400 noTarget"],
  ["a value that is no object without path", [{ op: "add", value: [] }], "400 invalidValue"],
  ["adding at a condition", [{ op: "add", path: 'members[value eq "x"]', value: [] }], "400 invalidPath"],
  ["another condition", [{ op: "remove", path: 'members[display eq "x"]' }], "400 invalidPath"],
  ["a part of members", [{ op: "remove", path: "members.value" }], "400 invalidPath"],
  ["the id", [{ op: "replace", path: "id", value: missing }], "400 mutability"],
  ["a member that is not there", [{ op: "add", path: "members", value: [{ value: missing }] }], "400 invalidValue"],
  ["1,001 members", [{ op: "add", path: "members", value: Array(1001).fill({ value: missing }) }], "400 invalidValue"],
  [
    "1,002 members in two operations",
    Array(2).fill({ op: "remove", path: "members", value: Array(501).fill({ value: missing }) }),
    "400 invalidValue",
  ],
  ["65 operations", Array(65).fill({ op: "remove", path: "members" }), "400 invalidValue"],
] as const) {
  test(`PATCH /Groups refuses ${name}`, async () => {
    const { id } = await createGroup(next("Group"));
    assert.equal(await scim.refusal(`PATCH /Groups/${id}`, { Operations: operations }), wanted);
    await scim.done(`DELETE /Groups/${id}`);
  });
}

test("PUT /Groups replaces name and members", async () => {
  const [a, b] = [await createUser(), await createUser()];
  const { id } = await createGroup(next("Group"), [a]);
  const displayName = next("Renamed");
  await scim.done(`PUT /Groups/${id}`, { displayName, externalId: "put-group", members: toMembers([b]) });
  assert.deepEqual(await membersOf(id), [b]);
  const stored = await scim.done(`PUT /Groups/${id}`, { displayName });
  assert.deepEqual([stored.members, stored.externalId, stored.displayName], [[], "put-group", displayName]);
});

test("DELETE /Groups returns 204 and removes the group", async () => {
  const { id } = await createGroup(next("Group"));
  assert.equal((await scim.send(`DELETE /Groups/${id}`)).status, 204);
  for (const method of ["GET", "DELETE"]) assert.equal(await scim.refusal(`${method} /Groups/${id}`), "404");
});

test("a group whose name has the form ws-{workspace}-role-{role} gives memberships", async () => {
  const name = next("Data Lab");
  const workspaceId = await createWorkspace(name);
  const user = await createUser();
  const { id } = await createGroup(`WS-${name.toUpperCase()}-role-Manager`, [user]);
  assert.equal(await placeOf(user, workspaceId), "manager scim");
  await patch(id, { op: "remove", path: "members", value: toMembers([user]) });
  assert.equal(await placeOf(user, workspaceId), undefined);
  await patch(id, { op: "add", path: "members", value: toMembers([user]) });
  await patch(id, { op: "replace", path: "displayName", value: `ws-${name}-role-member` });
  assert.equal(await placeOf(user, workspaceId), "member scim");
  await patch(id, { op: "replace", path: "displayName", value: next("No pattern") });
  assert.equal(await placeOf(user, workspaceId), undefined);
});

test("a workspace is found by its slug, then by its name unless several have it", async () => {
  const [first, second] = [await createWorkspace("Twins"), await createWorkspace("Twins")];
  const user = await createUser();
  await createGroup("ws-Twins-role-member", [user]);
  assert.deepEqual([await placeOf(user, first), await placeOf(user, second)], [undefined, undefined]);
  const { rows } = await database.read({ sql: "SELECT slug FROM workspaces WHERE id = ?", args: [second] });
  await createGroup(`ws-${rows[0]?.slug}-role-member`, [user]);
  assert.deepEqual([await placeOf(user, first), await placeOf(user, second)], [undefined, "member scim"]);
});

test("the highest role of several groups counts", async () => {
  const name = next("Roles");
  const workspaceId = await createWorkspace(name);
  const user = await createUser();
  await createGroup(`ws-${name}-role-member`, [user]);
  const { id } = await createGroup(`ws-${name}-role-admin`, [user]);
  await createGroup(`ws-${name}-role-manager`, [user]);
  assert.equal(await placeOf(user, workspaceId), "admin scim");
  await scim.done(`DELETE /Groups/${id}`);
  assert.equal(await placeOf(user, workspaceId), "manager scim");
});

test("memberships given by hand stay unchanged", async () => {
  const name = next("Manual");
  const workspaceId = await createWorkspace(name);
  const user = await createUser();
  await database.write([
    {
      sql: "INSERT INTO workspace_members (organisation_id, workspace_id, user_id, role, created_at) VALUES (?,?,?,'member',0)",
      args: [organisationId, workspaceId, user],
    },
  ]);
  const { id } = await createGroup(`ws-${name}-role-admin`, [user]);
  assert.equal(await placeOf(user, workspaceId), "member manual");
  await scim.done(`DELETE /Groups/${id}`);
  assert.equal(await placeOf(user, workspaceId), "member manual");
});

test("returning users get the memberships of their groups", async () => {
  const name = next("Back");
  const workspaceId = await createWorkspace(name);
  const user = await createUser();
  const { id } = await createGroup(`ws-${name}-role-member`, [user]);
  const setActive = (value: boolean) =>
    scim.done(`PATCH /Users/${user}`, { Operations: [{ op: "replace", path: "active", value }] });
  await setActive(false);
  assert.equal(await placeOf(user, workspaceId), undefined);
  await patch(id, { op: "replace", path: "displayName", value: `ws-${name}-role-manager` });
  assert.equal(await placeOf(user, workspaceId), undefined);
  await setActive(true);
  assert.equal(await placeOf(user, workspaceId), "manager scim");
  await scim.done(`DELETE /Users/${user}`);
  assert.deepEqual(await membersOf(id), []);
});

test("a mapping gives a group memberships in a workspace until it is removed", async () => {
  const workspaceId = await createWorkspace(next("Mapped"));
  const user = await createUser();
  const { id, displayName = "" } = await createGroup(next("Group"), [user]);
  const mapping = await map(workspaceId, "manager", { scim_group_id: id });
  const wanted = { workspace_id: workspaceId, scim_group: displayName, scim_group_id: id, role: "manager" };
  assert.deepEqual(mapping, { id: mapping.id, ...wanted });
  assert.equal(await placeOf(user, workspaceId), "manager scim");
  assert.deepEqual(await map(workspaceId, "manager", { scim_group_name: displayName.toUpperCase() }), mapping);
  const removed = await done(call(gateway, `DELETE /scim/workspaces/${mapping.id}`));
  assert.deepEqual(removed, { success: true });
  assert.equal(await placeOf(user, workspaceId), undefined);
  assert.equal(await refusal(call(gateway, `DELETE /scim/workspaces/${mapping.id}`)), "404 AB08");
  const { rows } = await database.read({ sql: "SELECT status FROM scim_mappings WHERE id = ?", args: [mapping.id] });
  assert.equal(rows[0]?.status, "archived");
  assert.notEqual((await map(workspaceId, "member", { scim_group_id: id })).id, mapping.id);
});

test("removing a mapping leaves what another group gives", async () => {
  const name = next("Shared");
  const workspaceId = await createWorkspace(name);
  const user = await createUser();
  await createGroup(`ws-${name}-role-member`, [user]);
  const { id } = await createGroup(next("Group"), [user]);
  const mapping = await map(workspaceId, "admin", { scim_group_id: id });
  assert.equal(await placeOf(user, workspaceId), "admin scim");
  await done(call(gateway, `DELETE /scim/workspaces/${mapping.id}`));
  assert.equal(await placeOf(user, workspaceId), "member scim");
});

test("a group has one role in all its workspaces", async () => {
  const [first, second] = [await createWorkspace(next("One")), await createWorkspace(next("Two"))];
  const { id } = await createGroup(next("Group"));
  await map(first, "member", { scim_group_id: id });
  const post = (body: object) => refusal(call(gateway, "POST /scim/workspaces", { body }));
  assert.equal(await post({ workspace_id: second, role: "admin", scim_group_id: id }), "400 AB01");
  assert.equal(await post({ workspace_id: first, role: "admin", scim_group_id: id }), "400 AB01");
  await map(second, "member", { scim_group_id: id });
  const Operations = [{ op: "replace", path: "displayName", value: "ws-One-role-admin" }];
  assert.equal(await scim.refusal(`PATCH /Groups/${id}`, { Operations }), "400 invalidValue");
});

test("a mapping creates an unknown group, and the identity provider adopts it", async () => {
  const workspaceId = await createWorkspace(next("Early"));
  const scim_group_name = next("Early group");
  const mapping = await map(workspaceId, "member", { scim_group_name });
  const user = await createUser();
  const group = await scim.done("POST /Groups", { displayName: scim_group_name, members: toMembers([user]) });
  assert.equal(group.id, mapping.scim_group_id);
  assert.equal(await placeOf(user, workspaceId), "member scim");
  assert.equal(await scim.refusal("POST /Groups", { displayName: scim_group_name }), "409 uniqueness");
});

for (const [name, body, wanted] of [
  ["no workspace", { role: "member", scim_group_name: "g" }, "400 AB01 workspace_id"],
  [
    "a workspace that is not there",
    { workspace_id: "nowhere", role: "member", scim_group_name: "g" },
    "403 AB03 workspace_id",
  ],
  ["no role", { workspace_id: "default", scim_group_name: "g" }, "400 AB01 role"],
  ["an unknown role", { workspace_id: "default", role: "owner", scim_group_name: "g" }, "400 AB01 role"],
  ["no group", { workspace_id: "default", role: "member" }, "400 AB01 scim_group_id"],
  [
    "two groups",
    { workspace_id: "default", role: "member", scim_group_id: missing, scim_group_name: "g" },
    "400 AB01 scim_group_id",
  ],
  [
    "a group id that is none",
    { workspace_id: "default", role: "member", scim_group_id: "g" },
    "400 AB01 scim_group_id",
  ],
  [
    "a group that is not there",
    { workspace_id: "default", role: "member", scim_group_id: missing },
    "404 AB02 scim_group_id",
  ],
  [
    "a name of the automatic form",
    { workspace_id: "default", role: "member", scim_group_name: "WS-x-ROLE-Admin" },
    "400 AB01 scim_group_name",
  ],
  [
    "a name of 256 characters",
    { workspace_id: "default", role: "member", scim_group_name: "n".repeat(256) },
    "400 AB01 scim_group_name",
  ],
] as const) {
  test(`POST /scim/workspaces refuses ${name}`, async () => {
    const answer = await call<{ error: { code: string; param: string } }>(gateway, "POST /scim/workspaces", { body });
    assert.equal(`${answer.status} ${answer.body.error.code} ${answer.body.error.param}`, wanted);
  });
}

test("GET /scim/workspaces filters and pages", async () => {
  const [first, second] = [await createWorkspace(next("List")), await createWorkspace(next("List"))];
  const { id } = await createGroup(next("Group"));
  await map(first, "manager", { scim_group_id: id });
  await map(second, "manager", { scim_group_id: id });
  const list = (query: string) =>
    done<{ mappings: Mapping[]; total_count: number; page: number; page_size: number }>(
      call(gateway, `GET /scim/workspaces?${query}`),
    );
  const all = await list(`scim_group_id=${id}`);
  assert.deepEqual([all.total_count, all.page, all.page_size, all.mappings.length], [2, 0, 50, 2]);
  assert.deepEqual(
    (await list(`scim_group_id=${id}&workspace_id=${first}`)).mappings.map((row) => row.workspace_id),
    [first],
  );
  assert.equal((await list(`scim_group_id=${id}&role=member`)).total_count, 0);
  assert.equal((await list(`scim_group_id=${id}&role=Manager`)).total_count, 2);
  const page = await list(`scim_group_id=${id}&page=1&page_size=1`);
  assert.deepEqual([page.total_count, page.page, page.page_size], [2, 1, 1]);
  assert.equal(page.mappings[0]?.id, all.mappings[1]?.id);
  for (const query of ["page=-1", "page_size=0", "page_size=101", "page=x", "role=owner"]) {
    assert.equal(await refusal(call(gateway, `GET /scim/workspaces?${query}`)), "400 AB01", query);
  }
  assert.equal(await refusal(call(gateway, "GET /scim/workspaces?workspace_id=nowhere")), "403 AB03");
});

test("GET /scim/groups searches", async () => {
  const { id } = await createGroup("Search 100% Me");
  const search = (text: string, query = "") =>
    done<{ groups: { id: string; name: string }[]; total_count: number }>(
      call(gateway, `GET /scim/groups?search=${encodeURIComponent(text)}${query}`),
    );
  assert.deepEqual(await search("rch 100% m"), { groups: [{ id, name: "Search 100% Me" }], total_count: 1 });
  assert.equal((await search("100%%")).total_count, 0);
  assert.deepEqual((await search("Search 100", "&page=1")).groups, []);
  assert.equal(await refusal(call(gateway, "GET /scim/groups?search=x")), "400 AB01");
  assert.equal(await refusal(call(gateway, "GET /scim/groups?page_size=101")), "400 AB01");
});

test("groups and mappings of another organisation are not found", async () => {
  const foreign = await createScimClient(gateway, other.adminKey);
  const { id } = await createGroup(next("Own"));
  const user = await createUser();
  const workspaceId = await createWorkspace(next("Own"));
  const mapping = await map(workspaceId, "member", { scim_group_id: id });
  const body = { displayName: "x", Operations: [{ op: "remove", path: "members" }] };
  for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
    assert.equal(await foreign.refusal(`${method} /Groups/${id}`, method === "GET" ? undefined : body), "404", method);
  }
  assert.equal((await foreign.done<ResourceList>("GET /Groups")).totalResults, 0);
  assert.equal(
    await foreign.refusal("POST /Groups", { displayName: "x", members: toMembers([user]) }),
    "400 invalidValue",
  );
  const key = other.adminKey;
  const post = (group: object) =>
    refusal(call(gateway, "POST /scim/workspaces", { key, body: { role: "member", ...group } }));
  assert.equal(await post({ workspace_id: workspaceId, scim_group_name: "g" }), "403 AB03");
  assert.equal(await post({ workspace_id: "default", scim_group_id: id }), "404 AB02");
  assert.equal(await refusal(call(gateway, `DELETE /scim/workspaces/${mapping.id}`, { key })), "404 AB08");
  assert.deepEqual((await done(call(gateway, "GET /scim/workspaces", { key }))).mappings, []);
  assert.deepEqual((await done(call(gateway, "GET /scim/groups", { key }))).groups, []);
});

test("users unknown to the identity provider cannot be members", async () => {
  const { rows } = await database.read({
    sql: "SELECT id FROM users WHERE role = 'owner' AND organisation_id = ?",
    args: [organisationId],
  });
  const body = { displayName: next("Group"), members: [{ value: rows[0]?.id }] };
  assert.equal(await scim.refusal("POST /Groups", body), "400 invalidValue");
});

test("PATCH /Groups gives memberships to 1,000 members at once", async () => {
  const ids = Array.from({ length: 1000 }, () => crypto.randomUUID());
  await database.write(
    ids.map((id, index) => ({
      sql: "INSERT INTO users (id, organisation_id, email, role, user_name, created_at) VALUES (?,?,?,'member',?,0)",
      args: [id, organisationId, `many${index}@example.com`, `many${index}`],
    })),
  );
  const workspaceId = await createWorkspace("Many");
  const { id } = await scim.done<Resource>("POST /Groups", { displayName: "ws-Many-role-member" });
  await patch(id, { op: "add", path: "members", value: toMembers(ids) });
  const { rows } = await database.read({
    sql: "SELECT count(*) AS count FROM workspace_members WHERE workspace_id = ?",
    args: [workspaceId],
  });
  assert.equal(Number(rows[0]?.count), 1000);
});
