import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { createTestClock, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";

const clock = createTestClock();
const start = clock.now();
const iso = (offset: number) => new Date(start + offset).toISOString();
const always = `start_time=${iso(-1_000)}&end_time=${iso(1_000_000)}`;

let gateway: TestGateway;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let configId: string;

interface Page {
  object: string;
  total: number;
  records: Record<string, unknown>[];
}

const list = (query = "", key?: string) =>
  done<Page>(call<Page>(gateway, `GET /audit-logs?${always}${query}`, key === undefined ? {} : { key }));

before(async () => {
  gateway = await createTestGateway({ inFile: true, clock });
  other = await createOrganisation(await gateway.openFile(), "other");
  const created = await done<{ id: string }>(
    call(gateway, "POST /configs", { key: workspaceKey, body: { name: "One", config: { provider: "echo" } } }),
  );
  configId = created.id;
  clock.advance(1_000);
  await done(call(gateway, `PUT /configs/${configId}`, { key: workspaceKey, body: { name: "Two" } }));
  clock.advance(1_000);
  await call(gateway, "POST /configs", { body: { name: "", config: { provider: "echo" } } });
  await done(call(gateway, `DELETE /configs/${configId}`, { key: workspaceKey }));
});
after(() => gateway.close());

test("GET /audit-logs lists changes and refusals, newest first", async () => {
  const { object, total, records } = await list();
  assert.deepEqual([object, total], ["analytics-graph", 4]);
  assert.deepEqual(
    records.map(({ method, action, response_status_code }) => [method, action, response_status_code]),
    [
      ["DELETE", "delete", 200],
      ["POST", "create", 400],
      ["PUT", "update", 200],
      ["POST", "create", 200],
    ],
  );
});

test("an audit record holds who did what to what, from where and when", async () => {
  const { records } = await list("&method=put");
  const [record = {}] = records;
  assert.equal(record.timestamp, iso(1_000));
  assert.equal(record.uri, `/v1/configs/${configId}`);
  assert.deepEqual([record.resource_type, record.resource_id], ["configs", configId]);
  assert.deepEqual([record.user_type, record.client_ip, record.country], ["api_key", "192.0.2.1", null]);
  assert.deepEqual(JSON.parse(String(record.request_body)), { name: "Two" });
  assert.ok(!String(record.request_headers).includes(workspaceKey));
  for (const name of ["request_id", "user_id", "organisation_id", "workspace_id", "query_params"]) {
    assert.equal(typeof record[name], "string", name);
  }
});

for (const [query, wanted] of [
  ["&method=POST", 2],
  ["&method=DELETE", 1],
  ["&uri=/v1/configs/", 2],
  ["&uri=%25", 0],
  ["&resource_type=CONFIGS", 4],
  ["&resource_type=prompts", 0],
  ["&action=Create", 2],
  ["&action=rotate", 0],
  ["&user_type=api_key", 4],
  ["&user_type=user", 0],
  ["&user_id=nobody", 0],
  ["&client_ip=192.0.2.1", 4],
  ["&client_ip=192.0.2", 0],
  ["&country=FR", 0],
  ["&request_id=none", 0],
  ["&response_status_code=400", 1],
  ["&workspace_id=default", 3],
  ["&method=POST&response_status_code=200", 1],
] as const) {
  test(`GET /audit-logs finds ${wanted} with ${query}`, async () => {
    assert.equal((await list(query)).total, wanted);
  });
}

test("GET /audit-logs filters by the values records show", async () => {
  const [record = {}] = (await list("&method=put")).records;
  for (const name of ["request_id", "user_id", "workspace_id"]) {
    const { records } = await list(`&${name}=${record[name]}`);
    assert.ok(records.length > 0 && records.every((one) => one[name] === record[name]), name);
  }
});

for (const [from, to, wanted] of [
  [0, 0, 1],
  [0, 999, 1],
  [0, 1_000, 2],
  [1_001, 2_000, 2],
  [2_001, 9_000, 0],
] as const) {
  test(`GET /audit-logs finds ${wanted} from ${from} to ${to} milliseconds`, async () => {
    const { total } = await done<Page>(
      call<Page>(gateway, `GET /audit-logs?start_time=${iso(from)}&end_time=${iso(to)}`),
    );
    assert.equal(total, wanted);
  });
}

test("GET /audit-logs has pages", async () => {
  const pages = await Promise.all([0, 1, 2].map((page) => list(`&page_size=3&current_page=${page}`)));
  assert.deepEqual(
    pages.map(({ total, records }) => [total, records.length]),
    [
      [4, 3],
      [4, 1],
      [4, 0],
    ],
  );
  assert.equal((await list("&page_size=100")).records.length, 4);
});

for (const [query, param] of [
  [`end_time=${iso(0)}`, "start_time"],
  [`start_time=${iso(0)}`, "end_time"],
  [`start_time=yesterday&end_time=${iso(0)}`, "start_time"],
  [`start_time=${iso(1)}&end_time=${iso(0)}`, "end_time"],
  [`${always}&method=GET`, "method"],
  [`${always}&user_type=robot`, "user_type"],
  [`${always}&response_status_code=99`, "response_status_code"],
  [`${always}&page_size=101`, "page_size"],
  [`${always}&page_size=0`, "page_size"],
  [`${always}&current_page=-1`, "current_page"],
] as const) {
  test(`GET /audit-logs refuses ${query.replace(always, "")}`, async () => {
    const { status, body } = await call<{ error: { code: string; param: string } }>(
      gateway,
      `GET /audit-logs?${query}`,
    );
    assert.deepEqual([status, body.error.code, body.error.param], [400, "AB01", param]);
  });
}

test("GET /audit-logs is for admin keys and their own organisation", async () => {
  assert.equal(await refusal(call(gateway, `GET /audit-logs?${always}`, { key: workspaceKey })), "403 AB03");
  assert.equal(
    await refusal(call(gateway, `GET /audit-logs?${always}&organisation_id=${other.organisationId}`)),
    "403 AB03",
  );
  assert.equal(await refusal(call(gateway, `GET /audit-logs?${always}&workspace_id=${other.workspaceId}`)), "403 AB03");
  assert.equal((await list("", other.adminKey)).total, 0);
});

interface Verification {
  intact: boolean;
  problem: string | null;
  checked: number;
  last: string;
  has_more: boolean;
}

const verify = (after = "") => done<Verification>(call<Verification>(gateway, `GET /audit-logs/verification${after}`));

test("GET /audit-logs/verification follows the chain in parts", async () => {
  const whole = await verify();
  assert.deepEqual([whole.intact, whole.problem, whole.checked, whole.has_more], [true, null, 4, false]);
  const rest = await verify(`?after=${encodeURIComponent(whole.last)}`);
  assert.deepEqual([rest.intact, rest.checked, rest.last], [true, 0, whole.last]);
});

test("GET /audit-logs/verification names the first row that was changed", async () => {
  const file = await gateway.openFile();
  await file.write([
    "DROP TRIGGER audit_logs_no_update",
    "UPDATE audit_logs SET action = 'read' WHERE seq = 3 AND action = 'create'",
  ]);
  const { intact, problem, checked } = await verify();
  assert.deepEqual([intact, problem, checked], [false, "row 3 was changed", 2]);
});

test("GET /audit-logs/verification refuses a malformed place", async () => {
  assert.equal(await refusal(call(gateway, "GET /audit-logs/verification?after=x")), "400 AB01");
});
