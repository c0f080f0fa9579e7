import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import type { Database } from "../../src/db/client.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import { createTestGateway, insertKey, type TestGateway } from "../support/gateway.ts";
import { createScimClient, type Resource, type ResourceList, type ScimClient } from "../support/scim.ts";

let gateway: TestGateway;
let database: Database;
let scim: ScimClient;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let organisationId: string;
let workspaceId: string;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  other = await createOrganisation(database, "other-users");
  scim = await createScimClient(gateway);
  const { rows } = await database.read({
    sql: "SELECT id, organisation_id FROM workspaces WHERE organisation_id <> ?",
    args: [other.organisationId],
  });
  organisationId = String(rows[0]?.organisation_id);
  workspaceId = String(rows[0]?.id);
});
after(() => gateway.close());

const missing = "00000000-0000-4000-8000-000000000000";
let count = 0;
const newName = () => `person${++count}@example.com`;
const create = (body: object = {}) => scim.done("POST /Users", { userName: newName(), ...body });
const patch = (id: string, Operations: unknown) => scim.done(`PATCH /Users/${id}`, { Operations });
const list = (query: Record<string, string>) =>
  scim.done<ResourceList>(`GET /Users?${new URLSearchParams(query).toString()}`);

/** A user of the organisation whom no identity provider knows. */
async function insertPerson(role = "member"): Promise<{ id: string; email: string }> {
  const person = { id: crypto.randomUUID(), email: newName() };
  await database.write([
    {
      sql: "INSERT INTO users (id, organisation_id, email, role, first_name, created_at) VALUES (?,?,?,?,'Manual',0)",
      args: [person.id, organisationId, person.email, role],
    },
  ]);
  return person;
}

test("POST /Users returns 201 with the user and its location", async () => {
  const userName = newName();
  const { status, type, location, body } = await scim.send("POST /Users", {
    schemas: ["urn:ietf:params:scim:schemas:core:2.0:User"],
    userName,
    externalId: "ext-1",
    password: "pass",
    title: "Baker",
    name: { givenName: "Ann", familyName: "Bee" },
    emails: [
      { value: "other@example.com", type: "home" },
      { value: "Main@Example.com", primary: true },
    ],
  });
  assert.deepEqual([status, type], [201, "application/scim+json"]);
  assert.equal(location, `http://gateway.test/scim/v2/Users/${body.id}`);
  assert.equal(body.meta.location, location);
  assert.deepEqual(
    [body.userName, body.externalId, body.active, body.name],
    [userName, "ext-1", true, { formatted: "Ann Bee", givenName: "Ann", familyName: "Bee" }],
  );
  assert.deepEqual(body.emails, [{ value: "main@example.com", type: "work", primary: true }]);
  assert.ok(!("password" in body));
  assert.deepEqual(await scim.done(`GET /Users/${body.id}`), body);
  const { rows } = await database.read({ sql: "SELECT role, status FROM users WHERE id = ?", args: [body.id] });
  assert.deepEqual([rows[0]?.role, rows[0]?.status], ["member", "active"]);
});

test("the same routes are available below /v1", async () => {
  const answer = await scim.send("POST /Users", { userName: newName() }, "/v1/scim/v2");
  assert.equal(answer.status, 201);
  assert.equal(answer.location, `http://gateway.test/v1/scim/v2/Users/${answer.body.id}`);
});

test("names of attributes are case-insensitive", async () => {
  const { id } = await scim.done("POST /Users", { USERNAME: newName(), name: { GivenName: "Ann" }, Active: "False" });
  const shown = await scim.done(`GET /Users/${id}`);
  assert.deepEqual([shown.name?.givenName, shown.active], ["Ann", false]);
});

for (const [name, body, scimType] of [
  ["no user name", {}, "invalidValue"],
  ["an empty user name", { userName: "" }, "invalidValue"],
  ["a user name of 256 characters", { userName: `${"n".repeat(244)}@example.com` }, "invalidValue"],
  ["NUL in the user name", { userName: "a\0b@example.com" }, "invalidValue"],
  ["a user name that is no address, without e-mail", { userName: "plain" }, "invalidValue"],
  ["an e-mail that is none", { userName: "plain", emails: [{ value: "nothing" }] }, "invalidValue"],
  ["21 e-mails", { userName: "a@example.com", emails: Array(21).fill({ value: "a@example.com" }) }, "invalidValue"],
  ["an active that is no switch", { userName: "a@example.com", active: "maybe" }, "invalidValue"],
  ["an active that is null", { userName: "a@example.com", active: null }, "invalidValue"],
  ["a body that is a list", [], "invalidValue"],
  ["a body that is no JSON", "{", "invalidSyntax"],
] as const) {
  test(`POST /Users refuses ${name}`, async () => {
    assert.equal(await scim.refusal("POST /Users", body), `400 ${scimType}`);
  });
}

test("POST /Users refuses names of other users", async () => {
  const { userName, externalId } = await create({ externalId: "twin" });
  assert.equal(await scim.refusal("POST /Users", { userName: userName.toUpperCase() }), "409 uniqueness");
  assert.equal(await scim.refusal("POST /Users", { userName: newName(), externalId }), "409 uniqueness");
  const emails = [{ value: userName }];
  assert.equal(await scim.refusal("POST /Users", { userName: newName(), emails }), "409 uniqueness");
});

test("POST /Users links an existing user of the organisation", async () => {
  const person = await insertPerson("admin");
  assert.equal(await scim.refusal(`GET /Users/${person.id}`), "404");
  const linked = await create({ userName: person.email, externalId: "linked" });
  assert.deepEqual([linked.id, linked.externalId, linked.name?.givenName], [person.id, "linked", "Manual"]);
  const { rows } = await database.read({ sql: "SELECT role FROM users WHERE id = ?", args: [person.id] });
  assert.equal(rows[0]?.role, "admin");
  assert.equal(await scim.refusal("POST /Users", { userName: person.email, externalId: "other" }), "409 uniqueness");
});

test("POST /Users accepts users of allowed domains only", async () => {
  const allow = (domains: readonly string[], more: object = {}) =>
    database.write([
      {
        sql: "UPDATE organisations SET settings = ? WHERE id = ?",
        args: [JSON.stringify({ allowed_domains: domains, ...more }), organisationId],
      },
    ]);
  await allow(["Allowed.example"]);
  assert.equal(await scim.refusal("POST /Users", { userName: newName() }), "400 invalidValue");
  assert.equal(await scim.refusal("POST /Users", { userName: "a@sub.allowed.example" }), "400 invalidValue");
  const { id } = await create({ userName: "a@allowed.example" });
  const moved = { Operations: [{ op: "replace", path: "emails", value: [{ value: newName() }] }] };
  assert.equal(await scim.refusal(`PATCH /Users/${id}`, moved), "400 invalidValue");
  await allow(["Allowed.example"], { allow_subdomains: true });
  await create({ userName: "a@sub.allowed.example" });
  assert.equal(await scim.refusal("POST /Users", { userName: "a@disallowed.example" }), "400 invalidValue");
  await allow([]);
  await create();
});

test("GET /Users filters", async () => {
  const { id, userName } = await create({ externalId: "find-me", emails: [{ value: "find@example.com" }] });
  for (const [filter, total] of [
    [`userName eq "${userName.toUpperCase()}"`, 1],
    [`USERNAME EQ "${userName}"`, 1],
    [`urn:ietf:params:scim:schemas:core:2.0:User:userName eq "${userName}"`, 1],
    ['externalId eq "find-me"', 1],
    ['externalId eq "FIND-ME"', 0],
    [`id eq "${id}"`, 1],
    ['emails.value eq "Find@Example.com"', 1],
    ['emails[type eq "work"].value eq "find@example.com"', 1],
    [`userName eq "${userName}" and externalId eq "find-me"`, 1],
    [`userName eq "${userName}" and externalId eq "other"`, 0],
    [`externalId eq "find-me" and externalId eq "other"`, 0],
    [`id eq "${id}" and active eq true`, 1],
    [`id eq "${id}" and active eq false`, 0],
    ['userName eq "nobody"', 0],
    [`userName eq "a\\" or 1=1"`, 0],
  ] as const) {
    const { totalResults, Resources } = await list({ filter });
    assert.deepEqual([totalResults, Resources.length], [total, total], filter);
    if (total === 1) assert.equal(Resources[0]?.id, id);
  }
});

for (const filter of [
  "userName",
  'userName sw "a"',
  'userName eq "a" or userName eq "b"',
  'not (userName eq "a")',
  "userName eq a",
  "userName eq true",
  'password eq "a"',
  'constructor eq "a"',
  'userName eq "a" and ',
  Array(11).fill('id eq "a"').join(" and "),
]) {
  test(`GET /Users refuses the filter ${filter.slice(0, 60)}`, async () => {
    assert.equal(await scim.refusal(`GET /Users?filter=${encodeURIComponent(filter)}`), "400 invalidFilter");
  });
}

test("GET /Users has pages", async () => {
  await create();
  await create();
  const all = await list({});
  assert.deepEqual([all.startIndex, all.itemsPerPage], [1, all.totalResults]);
  const second = await list({ startIndex: "2", count: "1" });
  assert.deepEqual([second.totalResults, second.itemsPerPage, second.startIndex], [all.totalResults, 1, 2]);
  assert.equal(second.Resources[0]?.id, all.Resources[1]?.id);
  assert.deepEqual((await list({ count: "0" })).Resources, []);
  assert.equal((await list({ count: "0" })).totalResults, all.totalResults);
  assert.equal((await list({ startIndex: "-3", count: "-1" })).startIndex, 1);
  assert.deepEqual((await list({ startIndex: "9999" })).Resources, []);
  assert.equal((await list({ count: "1000" })).itemsPerPage, all.totalResults);
  assert.equal(await scim.refusal("GET /Users?count=x"), "400 invalidValue");
  assert.equal(await scim.refusal("GET /Users?startIndex=1.5"), "400 invalidValue");
});

test("GET /Users returns the requested attributes", async () => {
  const { id } = await create();
  const [only] = (await list({ filter: `id eq "${id}"`, attributes: "userName" })).Resources;
  assert.deepEqual(Object.keys(only ?? {}).sort(), ["id", "meta", "schemas", "userName"]);
  const [without] = (await list({ filter: `id eq "${id}"`, excludedAttributes: "emails,id" })).Resources;
  assert.deepEqual([without?.id, without?.emails], [id, undefined]);
});

test("PUT /Users clears absent attributes, except externalId and active", async () => {
  const userName = newName();
  const { id } = await create({ userName, externalId: "put", name: { givenName: "Ann", familyName: "Bee" } });
  await patch(id, [{ op: "replace", path: "active", value: false }]);
  const replaced = await scim.done(`PUT /Users/${id}`, { userName, name: { givenName: "Eve", familyName: null } });
  assert.deepEqual([replaced.name, replaced.externalId], [{ formatted: "Eve", givenName: "Eve" }, "put"]);
  assert.deepEqual([replaced.active, replaced.emails[0]?.value], [false, userName]);
  const renamed = await scim.done(`PUT /Users/${id}`, { userName: "plain-name", externalId: null, active: true });
  assert.deepEqual([renamed.userName, renamed.externalId, renamed.name], ["plain-name", undefined, undefined]);
  assert.deepEqual([renamed.active, renamed.emails[0]?.value], [true, userName]);
});

test("PUT and PATCH refuse names of other users", async () => {
  const other = await create({ externalId: "taken" });
  const { id, userName } = await create();
  assert.equal(await scim.refusal(`PUT /Users/${id}`, { userName: other.userName }), "409 uniqueness");
  for (const [path, value] of [
    ["userName", other.userName],
    ["externalId", "taken"],
    ["emails.value", other.emails[0]?.value],
  ]) {
    const Operations = [{ op: "replace", path, value }];
    assert.equal(await scim.refusal(`PATCH /Users/${id}`, { Operations }), "409 uniqueness", path);
  }
  assert.equal(
    (await scim.done(`PUT /Users/${id}`, { userName: userName.toUpperCase() })).userName,
    userName.toUpperCase(),
  );
});

for (const [name, Operations, wanted] of [
  ["a text for a switch", [{ op: "Replace", path: "active", value: "False" }], { active: false }],
  ["no path", [{ op: "replace", value: { active: "FALSE", title: "x" } }], { active: false }],
  ["dotted members", [{ op: "Add", value: { "name.givenName": "Dot" } }], { first: "Dot" }],
  ["a nested object", [{ op: "add", value: { name: { familyName: "Nest" } } }], { last: "Nest" }],
  ["a path into the name", [{ op: "replace", path: "name.givenName", value: "Path" }], { first: "Path" }],
  ["the name as a path", [{ op: "replace", path: "name", value: { familyName: "Name" } }], { last: "Name" }],
  ["removal of a part", [{ op: "remove", path: "name.givenName" }], { first: undefined }],
  ["removal of the name", [{ op: "remove", path: "name" }], { first: undefined, last: undefined }],
  ["null for a part", [{ op: "replace", path: "name.familyName", value: null }], { last: undefined }],
  [
    "the address of work",
    [{ op: "replace", path: 'emails[type eq "work"].value', value: "W@x.example" }],
    { email: "w@x.example" },
  ],
  [
    "the primary address",
    [{ op: "add", path: "emails[primary eq true]", value: { value: "p@x.example" } }],
    { email: "p@x.example" },
  ],
  ["a private address", [{ op: "add", path: 'emails[type eq "home"].value', value: "h@x.example" }], {}],
  [
    "the core schema's name",
    [{ op: "replace", path: "urn:ietf:params:scim:schemas:core:2.0:User:active", value: false }],
    { active: false },
  ],
  [
    "another schema's attribute",
    [{ op: "replace", path: "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:active", value: false }],
    {},
  ],
  ["an attribute that is not kept", [{ op: "replace", path: "title", value: "Baker" }], {}],
  [
    "several, one after the other",
    [
      { op: "replace", path: "name.givenName", value: "One" },
      { op: "replace", path: "name.givenName", value: "Two" },
    ],
    { first: "Two" },
  ],
] as const) {
  test(`PATCH /Users accepts ${name}`, async () => {
    const { id, emails } = await create({ name: { givenName: "Ann", familyName: "Bee" } });
    const before = { active: true, first: "Ann", last: "Bee", email: emails[0]?.value };
    await patch(id, Operations);
    const after = await scim.done(`GET /Users/${id}`);
    const { givenName: first, familyName: last } = after.name ?? {};
    assert.deepEqual({ active: after.active, first, last, email: after.emails[0]?.value }, { ...before, ...wanted });
    await scim.done(`DELETE /Users/${id}`);
    await database.write([{ sql: "UPDATE users SET email = ? WHERE id = ?", args: [`gone-${id}@example.com`, id] }]);
  });
}

test("PATCH /Users removes externalId", async () => {
  const { id } = await create({ externalId: "remove-me" });
  assert.equal((await patch(id, [{ op: "remove", path: "externalId" }])).externalId, undefined);
});

const operation = { op: "replace", path: "title", value: "x" };
for (const [name, body, wanted] of [
  ["no operations", {}, "400 invalidValue"],
  ["an empty list", { Operations: [] }, "400 invalidValue"],
  ["65 operations", { Operations: Array(65).fill(operation) }, "400 invalidValue"],
  ["an unknown operation", { Operations: [{ ...operation, op: "move" }] }, "400 invalidValue"],
  ["removal without path", { Operations: [{ op: "remove" }] }, "400 noTarget"],
  ["no path and no object", { Operations: [{ op: "replace", value: "x" }] }, "400 invalidValue"],
  ["a malformed path", { Operations: [{ ...operation, path: "a b" }] }, "400 invalidPath"],
  ["a malformed condition", { Operations: [{ ...operation, path: "emails[x]" }] }, "400 invalidFilter"],
  ["a read-only path", { Operations: [{ ...operation, path: "id" }] }, "400 mutability"],
  ["groups", { Operations: [{ ...operation, path: "groups" }] }, "400 mutability"],
  ["removal of the user name", { Operations: [{ op: "remove", path: "userName" }] }, "400 invalidValue"],
  ["removal of active", { Operations: [{ op: "remove", path: "active" }] }, "400 invalidValue"],
  ["a switch that is none", { Operations: [{ op: "replace", path: "active", value: "x" }] }, "400 invalidValue"],
  ["no value", { Operations: [{ op: "replace", path: "active" }] }, "400 invalidValue"],
  [
    "a name of 256 characters",
    { Operations: [{ op: "add", path: "name.givenName", value: "n".repeat(256) }] },
    "400 invalidValue",
  ],
  ["a path of 1,025 characters", { Operations: [{ ...operation, path: "p".repeat(1025) }] }, "400 invalidValue"],
] as const) {
  test(`PATCH /Users refuses ${name}`, async () => {
    const { id } = await create();
    assert.equal(await scim.refusal(`PATCH /Users/${id}`, body), wanted);
  });
}

test("PATCH /Users accepts 64 operations", async () => {
  const { id } = await create();
  await patch(id, Array(64).fill(operation));
});

const statusOfKey = async (key: string) =>
  (await gateway.fetch("/v1/models", { headers: { "x-gateway-api-key": key } })).status;

async function giveAccess(userId: string, key: string): Promise<void> {
  const keyId = await insertKey(database, key, { kind: "workspace-user" });
  await database.write([{ sql: "UPDATE api_keys SET user_id = ? WHERE id = ?", args: [userId, keyId] }]);
  const path = `POST /admin/workspaces/${workspaceId}/users`;
  await done(call(gateway, path, { body: { users: [{ id: userId, role: "member" }] } }));
}

const countMemberships = async (userId: string) => {
  const sql = "SELECT count(*) AS count FROM workspace_members WHERE user_id = ?";
  return Number((await database.read({ sql, args: [userId] })).rows[0]?.count);
};

for (const [name, end] of [
  ["active: false", (id: string) => patch(id, [{ op: "replace", path: "active", value: false }])],
  ["DELETE", (id: string) => scim.done(`DELETE /Users/${id}`)],
] as const) {
  test(`${name} ends memberships and keys`, async () => {
    const { id } = await create();
    const { key } = mintApiKey("gk");
    await giveAccess(id, key);
    assert.deepEqual([await statusOfKey(key), await countMemberships(id)], [200, 1]);
    await end(id);
    assert.deepEqual([await statusOfKey(key), await countMemberships(id)], [401, 0]);
  });
}

test("DELETE /Users returns 204, and the user can be provisioned again", async () => {
  const userName = newName();
  const { id } = await create({ userName, externalId: "comes-back" });
  const { status, body } = await scim.send(`DELETE /Users/${id}`);
  assert.deepEqual([status, body], [204, {}]);
  assert.equal(await scim.refusal(`GET /Users/${id}`), "404");
  assert.equal(await scim.refusal(`DELETE /Users/${id}`), "404");
  assert.equal((await list({ filter: `userName eq "${userName}"` })).totalResults, 0);
  const again = await create({ userName, externalId: "comes-back" });
  assert.deepEqual([again.id, again.active], [id, true]);
});

test("owners cannot be changed", async () => {
  const { id, email } = await insertPerson("owner");
  const refused = async (route: string, body?: unknown) => assert.equal(await scim.refusal(route, body), "403");
  await refused("POST /Users", { userName: email, active: false });
  await create({ userName: email });
  await refused(`DELETE /Users/${id}`);
  await refused(`PATCH /Users/${id}`, { Operations: [{ op: "replace", path: "active", value: false }] });
  await refused(`PUT /Users/${id}`, { userName: email, active: false });
  await refused(`PUT /Users/${id}`, { userName: newName() });
  assert.equal(
    (await scim.done(`PUT /Users/${id}`, { userName: email, name: { givenName: "Own" } })).name?.givenName,
    "Own",
  );
});

test("unknown users are 404", async () => {
  const body = { userName: newName(), Operations: [operation] };
  for (const id of [missing, "nothing", "a%00b"]) {
    for (const method of ["GET", "PUT", "PATCH", "DELETE"]) {
      const wanted = id === "a%00b" ? "400" : "404";
      const answer = await scim.send<object>(`${method} /Users/${id}`, method === "GET" ? undefined : body);
      assert.equal(String(answer.status), wanted, `${method} ${id}`);
    }
  }
});

test("users of another organisation are not found", async () => {
  const foreign = await createScimClient(gateway, other.adminKey);
  const own = await create({ externalId: "shared" });
  for (const [route, body] of [
    [`GET /Users/${own.id}`],
    [`PUT /Users/${own.id}`, { userName: newName() }],
    [`PATCH /Users/${own.id}`, { Operations: [operation] }],
    [`DELETE /Users/${own.id}`],
  ] as const) {
    assert.equal(await foreign.refusal(route, body), "404", route);
  }
  assert.equal((await foreign.done<ResourceList>("GET /Users")).totalResults, 0);
  const twin = await foreign.done<Resource>("POST /Users", { userName: own.userName, externalId: "shared" });
  assert.notEqual(twin.id, own.id);
});

test("passwords are neither stored nor audited", async () => {
  const secret = "Hunter2-does-not-stay";
  const { id } = await create({ password: secret });
  await patch(id, [
    { op: "replace", path: "password", value: secret },
    { op: "replace", Path: "urn:ietf:params:scim:schemas:core:2.0:User:PassWord", Value: secret },
    { op: "replace", value: { password: secret } },
  ]);
  await scim.refusal(`PATCH /Users/${id}`, { Operations: [{ op: "move", path: "password", value: secret }] });
  const { rows } = await database.read("SELECT * FROM audit_logs");
  const { rows: users } = await database.read({ sql: "SELECT * FROM users WHERE id = ?", args: [id] });
  const preserved = JSON.stringify([rows, users]);
  assert.ok(preserved.includes(id));
  assert.ok(!preserved.includes(secret));
});

test("changes by identity providers are audited", async () => {
  const { id } = await create();
  await patch(id, [operation]);
  await scim.refusal(`PATCH /Users/${id}`, { Operations: [] });
  await scim.done(`DELETE /Users/${id}`);
  const { rows } = await database.read({
    sql: "SELECT action, resource_type, response_status_code AS status, user_id, user_type FROM audit_logs WHERE resource_id = ? ORDER BY seq",
    args: [id],
  });
  assert.deepEqual(
    rows.map((row) => [row.action, row.resource_type, row.status, row.user_id, row.user_type].join(" ")),
    [
      `create users 201 ${scim.tokenId} api_key`,
      `update users 200 ${scim.tokenId} api_key`,
      `update users 400 ${scim.tokenId} api_key`,
      `delete users 204 ${scim.tokenId} api_key`,
    ],
  );
});
