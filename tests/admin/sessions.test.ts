import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Database } from "../../src/db/client.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import {
  adminKey,
  chat,
  createTestGateway,
  helloBody,
  insertKey,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";

let gateway: TestGateway;
let organisationId: string;
let database: Database;
let foreign: Awaited<ReturnType<typeof createOrganisation>>;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  database = await gateway.openFile();
  foreign = await createOrganisation(database, "other");
  organisationId = (await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self"))).data.id;
});
after(async () => {
  await database.close();
  await gateway.close();
});

interface Sessions {
  total: number;
  has_more: boolean;
  data: { id: string; requests: number; errors: number; total_tokens: number; cost: number; last_at: string }[];
}

let traces = 0;
/** Makes a request, and gives its row. */
async function row(headers: Record<string, string>, body: object = helloBody, trace = `session-trace-${traces++}`) {
  await (await chat(gateway, body, { "x-gateway-trace-id": trace, ...headers })).text();
  return waitForLog(gateway, trace);
}

const sessions = (query: string, key = workspaceKey) =>
  done<Sessions>(call(gateway, `GET /sessions?${query}`, { key }));

const logs = async (query: string) =>
  (await done<{ data: { id: string }[] }>(call(gateway, `GET /logs?${query}`, { key: workspaceKey }))).data;

const name = (key: string | null) =>
  done(call(gateway, `PUT /organisations/${organisationId}`, { body: { session_metadata_key: key } }));

test("x-gateway-session-id stores the session of a request, which lists and groups find", async () => {
  const first = await row({ "x-gateway-session-id": "s/1 ?" });
  const failed = await row({ "x-gateway-session-id": "s/1 ?" }, { model: "echo-1" });
  const other = await row({ "x-gateway-session-id": "s-2" });
  const none = await row({});
  assert.equal(Reflect.get(first, "session_id"), "s/1 ?");
  assert.ok(!("session_id" in none));
  const query = `session_id=${encodeURIComponent("s/1 ?")}`;
  assert.deepEqual(
    (await logs(query)).map(({ id }) => id),
    [failed.id, first.id],
  );
  const all = await sessions("");
  assert.deepEqual(
    all.data.map(({ id, requests, errors }) => ({ id, requests, errors })),
    [
      { id: "s-2", requests: 1, errors: 0 },
      { id: "s/1 ?", requests: 2, errors: 1 },
    ],
  );
  assert.equal(all.total, 2);
  assert.equal(all.data[0]?.last_at, Reflect.get(other, "created_at"));
  const one = await sessions(query);
  assert.deepEqual(
    one.data.map(({ id, total_tokens }) => ({ id, total_tokens })),
    [{ id: "s/1 ?", total_tokens: first.usage?.total_tokens }],
  );
  const comma = await row(
    { "x-gateway-session-id": "s-2, s-3", "x-gateway-trace-id": "t, with a comma" },
    helloBody,
    "t, with a comma",
  );
  const asked = encodeURIComponent("s-2, s-3");
  assert.deepEqual(
    (await logs(`session_id=${asked}`)).map(({ id }) => id),
    [comma.id, other.id],
  );
  assert.deepEqual(
    (await logs(`trace_id=${encodeURIComponent(comma.trace_id)}`)).map(({ id }) => id),
    [comma.id],
  );
  const page = await sessions("page_size=1&current_page=2");
  assert.deepEqual([page.data.map(({ id }) => id), page.has_more], [["s/1 ?"], false]);
  const groups = await done<{ data: { session_id: string; requests: number }[] }>(
    call(
      gateway,
      "GET /analytics/groups/session?time_of_generation_min=2020-01-01T00:00:00Z&time_of_generation_max=2050-01-01T00:00:00Z",
      { key: workspaceKey },
    ),
  );
  assert.deepEqual(groups.data.map(({ session_id, requests }) => [session_id, requests]).slice(0, 2), [
    ["s/1 ?", 2],
    ["s-2", 1],
  ]);
});

test("the session is in the key of the metadata that the organisation names, unless the header is sent", async () => {
  const metadata = (value: object) => ({ "x-gateway-metadata": JSON.stringify(value) });
  assert.ok(!("session_id" in (await row(metadata({ chat: "before" })))));
  await name("chat");
  const settings = await done<{ data: Record<string, unknown> }>(call(gateway, "GET /organisations/self"));
  assert.equal(settings.data.session_metadata_key, "chat");
  assert.equal(Reflect.get(await row(metadata({ chat: "c-1" })), "session_id"), "c-1");
  const both = await row({ ...metadata({ chat: "c-1" }), "x-gateway-session-id": "by header" });
  assert.equal(Reflect.get(both, "session_id"), "by header");
  for (const value of [{ other: "c" }, { chat: "" }, { "chat ": "c" }]) {
    assert.ok(!("session_id" in (await row(metadata(value)))), JSON.stringify(value));
  }
  await name("constructor");
  assert.ok(!("session_id" in (await row(metadata({ chat: "c-1" })))));
  await name(null);
  assert.ok(!("session_id" in (await row(metadata({ chat: "c-1" })))));
});

test("reported rows have the session of their metadata, or of the request that reports them", async () => {
  await name("chat");
  const report = (metadata: object, headers = {}) =>
    done<{ log_ids: string[] }>(
      call(gateway, "POST /logs", {
        key: workspaceKey,
        headers,
        body: {
          request: { url: "https://example.test/v1", provider: "openai", body: { model: "m" } },
          response: { body: { answer: 1 } },
          metadata,
        },
      }),
    );
  const ids = [
    ...(await report({ chat: "reported", traceId: "reported-1" })).log_ids,
    ...(await report({ traceId: "reported-2" }, { "x-gateway-session-id": "reporting" })).log_ids,
  ];
  await waitForLog(gateway, "reported-2");
  const seen = await Promise.all(ids.map((id) => done(call(gateway, `GET /logs/${id}`, { key: workspaceKey }))));
  assert.deepEqual(
    seen.map(({ session_id }) => session_id),
    ["reported", "reporting"],
  );
  await name(null);
});

test("sessions that are too long, invalid keys and unknown filters are refused", async () => {
  const long = await chat(gateway, helloBody, { "x-gateway-session-id": "s".repeat(257) });
  assert.equal(long.status, 400);
  assert.match(await long.text(), /x-gateway-session-id/);
  for (const key of ["", "k".repeat(129), 7, ["chat"]]) {
    const body = { session_metadata_key: key };
    assert.equal((await call(gateway, `PUT /organisations/${organisationId}`, { body })).status, 400);
  }
  for (const query of ["page_size=101", "page_size=0", "session=1", "from=yesterday", "status=none"]) {
    assert.equal((await call(gateway, `GET /sessions?${query}`)).status, 400, query);
  }
});

test("sessions follow the access rules of the log", async () => {
  await row({ "x-gateway-session-id": "of service" });
  const scopes = ["completions.write", "logs.list"];
  const member = await addPerson(gateway, "member@example.test", {
    role: "member",
    workspaces: [{ id: "default", role: "member" }],
    scopes,
  });
  await row({ "x-gateway-api-key": member.key, "x-gateway-session-id": "of member" });
  const ids = async (key: string) => (await sessions("", key)).data.map(({ id }) => id);
  assert.ok((await ids(member.key)).includes("of service"));
  assert.ok((await ids(adminKey)).includes("of service"));
  const set = (body: object) => done(call(gateway, `PUT /organisations/${organisationId}`, { body }));
  await set({ security_settings: { membersViewAllData: false } });
  assert.deepEqual(await ids(member.key), ["of member"]);
  await set({ security_settings: { membersViewAllData: true, membersViewLogMetadata: false } });
  assert.equal((await call(gateway, "GET /sessions", { key: member.key })).status, 403);
  await set({ security_settings: { membersViewLogMetadata: true }, export_settings: { deniedFields: ["cost"] } });
  assert.ok(!("cost" in ((await sessions("")).data[0] ?? {})));
  await set({ export_settings: { deniedFields: ["metadata"] } });
  assert.equal((await call(gateway, "GET /sessions", { key: workspaceKey })).status, 403);
  assert.equal((await call(gateway, "GET /logs?session_id=s", { key: workspaceKey })).status, 403);
  const [newest] = await logs("limit=1");
  assert.ok(newest && !("session_id" in newest));
  await set({ export_settings: { deniedFields: [] } });
  await insertKey(database, "a-key-without-the-scope-000", { scopes: JSON.stringify(["completions.write"]) });
  assert.equal((await call(gateway, "GET /sessions", { key: "a-key-without-the-scope-000" })).status, 403);
  for (const key of [foreign.adminKey, foreign.workspaceKey]) {
    assert.deepEqual((await sessions("", key)).data, []);
    assert.deepEqual((await done<Sessions>(call(gateway, "GET /logs?session_id=s-2", { key }))).data, []);
  }
});
