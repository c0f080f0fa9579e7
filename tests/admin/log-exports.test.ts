import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Database } from "../../src/db/client.ts";
import { createLogStore } from "../../src/db/stores/logs.ts";
import { createIdFactory } from "../../src/lib/ids.ts";
import { exportedFields, type LogExport } from "../../src/schemas/log-exports.ts";
import type { LogDetails } from "../../src/schemas/logs.ts";
import { call, createOrganisation, done, refusal } from "../support/control.ts";
import { eventually } from "../support/eventually.ts";
import { createTestClock, createTestGateway, type TestGateway, workspaceKey } from "../support/gateway.ts";
import { plainDetails } from "../support/log-record.ts";
import { addPerson, type Person } from "../support/people.ts";

const start = Date.UTC(2026, 0, 15);
const clock = createTestClock(start + 7 * 86_400_000);
let gateway: TestGateway;
let database: Database;
let person: Person;
let other: Awaited<ReturnType<typeof createOrganisation>>;
let tenant: { organisationId: string; workspaceId: string };
const ids: string[] = [];

/** A row of each minute. The content of each names its number. */
async function seed(count: number): Promise<void> {
  let now = start;
  const createId = createIdFactory(() => now);
  const store = createLogStore(database);
  for (let first = 0; first < count; first += 50) {
    const rows: LogDetails[] = [];
    const lengths: unknown[] = [];
    const heads: unknown[] = [];
    let bodies = "";
    for (let number = first; number < Math.min(count, first + 50); number++) {
      now = start + number * 60_000;
      const id = createId();
      ids.push(id);
      rows.push({
        ...plainDetails,
        id,
        organisation_id: tenant.organisationId,
        workspace_id: tenant.workspaceId,
        status: number % 10 === 0 ? 500 : 200,
        provider: number % 2 === 0 ? "openai" : "anthropic",
        model: `model-${number % 3}`,
        trace_id: `trace-${number}`,
        metadata: { team: `team-${number % 4}` },
        ...(number % 5 === 0 && { user_id: person.id }),
        cost: number / 1_000,
        config: number % 7 === 0 ? "pc-one" : null,
      });
      const [request, response] = [JSON.stringify({ number }), number === 9 ? stream : `answer ${number}`];
      lengths.push([request.length, response.length]);
      heads.push([{ "x-test": String(number) }, { "content-type": "text/plain" }]);
      bodies += request + response;
    }
    const content = `${JSON.stringify(lengths)}\n${JSON.stringify(heads)}\n${bodies}`;
    const [firstId, lastId] = [rows[0]?.id ?? "", rows.at(-1)?.id ?? ""];
    const batch = { ...tenant, firstId, lastId, details: JSON.stringify(rows), counted: "", charged: "", content };
    await store.append([batch]);
  }
}

/** A streamed chat, as it is stored. */
const stream = ["Hel", "lo"]
  .map((content, index) => {
    const choice = { index: 0, delta: { content }, finish_reason: index === 1 ? "stop" : null };
    return `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] })}\n\n`;
  })
  .concat("data: [DONE]\n\n")
  .join("");

const rows = 700;
before(async () => {
  gateway = await createTestGateway({ inFile: true, clock });
  database = await gateway.openFile();
  const found = await database.read("SELECT organisation_id, id FROM workspaces LIMIT 1");
  tenant = { organisationId: String(found.rows[0]?.organisation_id), workspaceId: String(found.rows[0]?.id) };
  other = await createOrganisation(database, "other");
  const workspaces = [{ id: tenant.workspaceId, role: "member" }];
  person = await addPerson(gateway, "one@example.com", { workspaces, scopes: ["logs.export"] });
  await seed(rows);
});
after(() => gateway.close());

interface Receipt {
  id: string;
  total: number;
}

const create = (body: object, key = workspaceKey) => done<Receipt>(call(gateway, "POST /logs/exports", { key, body }));
const show = (id: string, key = workspaceKey) => done<LogExport>(call(gateway, `GET /logs/exports/${id}`, { key }));

/** Runs an export; the objects of its file. */
async function run(id: string, key = workspaceKey): Promise<Record<string, unknown>[]> {
  await done(call(gateway, `POST /logs/exports/${id}/start`, { key }));
  await eventually("the export ends", async () => (await show(id, key)).status !== "in_progress");
  assert.equal((await show(id, key)).status, "success");
  const { signed_url } = await done<{ signed_url: string }>(call(gateway, `GET /logs/exports/${id}/download`, { key }));
  const response = await gateway.gateway.fetch(new Request(signed_url));
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-disposition"), `attachment; filename="logs-${id}.jsonl"`);
  assert.equal(response.headers.get("content-type"), "application/x-ndjson");
  const text = await response.text();
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

test("an export runs from draft to success, and its file has the rows with the wanted fields", async () => {
  const { id, total } = await create({ filters: {}, requested_data: [...exportedFields], description: "All" });
  assert.equal(total, rows);
  const draft = await show(id);
  assert.deepEqual([draft.status, draft.total_records, draft.description], ["draft", rows, "All"]);
  assert.equal(await refusal(call(gateway, `GET /logs/exports/${id}/download`, { key: workspaceKey })), "400 AB01");
  const lines = await run(id);
  assert.deepEqual(
    lines.map(({ id }) => id),
    ids.toReversed(),
  );
  assert.deepEqual(Object.keys(lines[0] ?? {}), [...exportedFields]);
  const { request, response, ...line } = lines[rows - 1 - 7] ?? {};
  assert.deepEqual(line, {
    id: ids[7],
    trace_id: "trace-7",
    created_at: new Date(start + 7 * 60_000).toISOString(),
    is_success: true,
    ai_org: "anthropic",
    ai_model: "model-1",
    req_units: plainDetails.usage?.input_tokens ?? 0,
    res_units: plainDetails.usage?.output_tokens ?? 0,
    total_units: plainDetails.usage?.total_tokens ?? 0,
    request_url: plainDetails.path,
    cost: 0.007,
    cost_currency: "USD",
    response_time: plainDetails.duration_ms,
    response_status_code: 200,
    mode: "single",
    config: "pc-one",
    prompt_slug: null,
    metadata: { team: "team-3" },
  });
  assert.deepEqual(request, { headers: { "x-test": "7" }, body: { number: 7 }, truncated: false });
  assert.deepEqual(response, { headers: { "content-type": "text/plain" }, body: "answer 7", truncated: false });
  // the response that the stream adds up to, as the log shows it
  const streamed = lines[rows - 1 - 9]?.response as { body: { choices: { message: { content: string } }[] } };
  assert.equal(streamed.body.choices[0]?.message.content, "Hello");
  const row = await done<{ response: { body: unknown } }>(call(gateway, `GET /logs/${ids[9]}`, { key: workspaceKey }));
  assert.deepEqual(streamed.body, row.response.body);
  const actions = await database.read(
    "SELECT action FROM audit_logs WHERE resource_type = 'log_exports' ORDER BY rowid",
  );
  assert.deepEqual(
    actions.rows.map(({ action }) => action).filter((action) => action !== "update"),
    ["create", "start"],
  );
});

for (const [name, filters, isWanted] of [
  ["status", { status_code: 500 }, (n: number) => n % 10 === 0],
  ["statuses as text", { status_code: "500,429" }, (n: number) => n % 10 === 0],
  ["model", { ai_model: ["model-1", "model-2"] }, (n: number) => n % 3 !== 0],
  ["provider and model", { ai_org_model: "openai__model-1" }, (n: number) => n % 2 === 0 && n % 3 === 1],
  ["metadata", { metadata: { team: "team-2" } }, (n: number) => n % 4 === 2],
  ["trace", { trace_id: ["trace-5", "trace-600", "none"] }, (n: number) => n === 5 || n === 600],
  ["config", { configs: ["pc-one"] }, (n: number) => n % 7 === 0],
  ["cost in cents", { cost_min: 0.1, cost_max: "0.2" }, (n: number) => n >= 100 && n <= 200],
  ["tokens", { total_units_min: 1_000_000 }, () => false],
  ["feedback", { weighted_feedback_min: 1 }, () => false],
  [
    "time",
    { time_of_generation_min: "2026-01-15T01:00:00Z", time_of_generation_max: "2026-01-15T02:00:00Z" },
    (n: number) => n >= 60 && n <= 120,
  ],
  ["a page", { page_size: 100, current_page: 1 }, (n: number) => n >= rows - 200 && n < rows - 100],
  [
    "a page of some",
    { page_size: 20, current_page: 2, status_code: 500 },
    (n: number) => n % 10 === 0 && n < 300 && n >= 100,
  ],
] as const) {
  test(`an export filters by ${name}`, async () => {
    const { id, total } = await create({ filters, requested_data: ["trace_id"] });
    const wanted = ids.flatMap((_, number) => (isWanted(number) ? [{ trace_id: `trace-${number}` }] : [])).reverse();
    assert.equal(total, wanted.length);
    assert.deepEqual(await run(id), wanted);
    assert.equal((await show(id)).total_records, wanted.length);
  });
}

test("an export filters by the mean of the feedback of each trace", async () => {
  const ratings = [
    ["trace-5", 5, 1],
    ["trace-600", 10, 0.5],
    ["trace-600", 2, 0.5],
    ["trace-7", 8, 0.25],
    ["absent", 9, 1],
  ] as const;
  for (const [trace_id, value, weight] of ratings) {
    await done(call(gateway, "POST /feedback", { key: workspaceKey, body: { trace_id, value, weight } }));
  }
  const { id, total } = await create({
    filters: { weighted_feedback_min: 2.5, weighted_feedback_max: 5 },
    requested_data: ["trace_id"],
  });
  assert.equal(total, 2);
  assert.deepEqual(await run(id), [{ trace_id: "trace-600" }, { trace_id: "trace-5" }]);
});

for (const [name, body, problem] of [
  ["no filters", { requested_data: ["id"] }, /filters/],
  ["no fields", { filters: {}, requested_data: [] }, /requested_data/],
  ["an unknown field", { filters: {}, requested_data: ["password"] }, /requested_data/],
  ["an unknown filter", { filters: { modell: "x" }, requested_data: ["id"] }, /modell/],
  ["a bad status", { filters: { status_code: 9 }, requested_data: ["id"] }, /filters\.status_code/],
  [
    "a bad time",
    { filters: { time_of_generation_min: "yesterday" }, requested_data: ["id"] },
    /time_of_generation_min/,
  ],
  ["a page that is too large", { filters: { page_size: 50_001 }, requested_data: ["id"] }, /page_size/],
  ["metadata as text", { filters: { metadata: "{}" }, requested_data: ["id"] }, /metadata/],
] as const) {
  test(`an export with ${name} is refused`, async () => {
    const { status, body: answer } = await call<{ error: { message: string } }>(gateway, "POST /logs/exports", {
      key: workspaceKey,
      body,
    });
    assert.equal(status, 400);
    assert.match(answer.error.message, problem);
  });
}

test("only a draft can be changed, and only what can run can be started or stopped", async () => {
  const { id } = await create({ filters: { status_code: 500 }, requested_data: ["id", "cost"] });
  const put = (body: object) => call(gateway, `PUT /logs/exports/${id}`, { key: workspaceKey, body });
  assert.equal((await done<Receipt>(put({ filters: { status_code: 200 } }) as never)).total, 630);
  assert.deepEqual((await show(id)).requested_data, ["id", "cost"]);
  assert.equal(await refusal(call(gateway, `POST /logs/exports/${id}/cancel`, { key: workspaceKey })), "400 AB01");
  assert.equal((await run(id)).length, 630);
  assert.equal(await refusal(put({ filters: {} })), "400 AB01");
  assert.equal(await refusal(call(gateway, `POST /logs/exports/${id}/start`, { key: workspaceKey })), "400 AB01");
});

test("a stopped export writes nothing more, and can be started again", async () => {
  const { id } = await create({ filters: {}, requested_data: ["id"] });
  const stopped = "UPDATE log_exports SET status = 'in_progress', lease_owner = 'other', lease_until = ? WHERE id = ?";
  await database.write([{ sql: stopped, args: [clock.now() + 60_000, id] }]);
  await done(call(gateway, `POST /logs/exports/${id}/cancel`, { key: workspaceKey }));
  assert.equal((await show(id)).status, "stopped");
  assert.equal((await run(id)).length, rows);
});

test("links expire, cannot be changed, and a file expires after seven days", async () => {
  const { id } = await create({ filters: { page_size: 1 }, requested_data: ["id"] });
  await run(id);
  const link = async () =>
    new URL(
      (await done<{ signed_url: string }>(call(gateway, `GET /logs/exports/${id}/download`, { key: workspaceKey })))
        .signed_url,
    );
  const status = async (url: URL) => {
    const response = await gateway.gateway.fetch(new Request(url));
    await response.text();
    return response.status;
  };
  const url = await link();
  assert.equal(await status(url), 200);
  for (const [name, value] of [
    ["expires", String(clock.now() + 10 * 3_600_000)],
    ["organisation_id", "other"],
    ["signature", "x"],
  ] as const) {
    const changed = new URL(url);
    changed.searchParams.set(name, value);
    assert.equal(await status(changed), 403, name);
  }
  const foreign = new URL(url);
  foreign.pathname = foreign.pathname.replace(id, crypto.randomUUID());
  assert.equal(await status(foreign), 403);
  clock.advance(3_600_001);
  assert.equal(await status(url), 403);
  assert.equal(await status(await link()), 200);
  clock.advance(7 * 86_400_000);
  assert.equal(await refusal(call(gateway, `GET /logs/exports/${id}/download`, { key: workspaceKey })), "400 AB01");
});

test("fields that the organisation denies cannot be exported, also if they are denied later", async () => {
  const { id } = await create({ filters: {}, requested_data: ["id", "metadata"] });
  const deny = (deniedFields: string[]) =>
    done(call(gateway, `PUT /organisations/${tenant.organisationId}`, { body: { export_settings: { deniedFields } } }));
  await deny(["metadata", "request"]);
  const restrictions = await done(call(gateway, "GET /logs/exports/field-restrictions", { key: workspaceKey }));
  assert.deepEqual(restrictions, { deniedFields: ["metadata", "request"] });
  const body = { filters: {}, requested_data: ["id", "request"] };
  assert.equal(await refusal(call(gateway, "POST /logs/exports", { key: workspaceKey, body })), "403 AB03");
  assert.equal(await refusal(call(gateway, `POST /logs/exports/${id}/start`, { key: workspaceKey })), "403 AB03");
  const filtered = { filters: { metadata: { team: "a" } }, requested_data: ["id"] };
  assert.equal(await refusal(call(gateway, "POST /logs/exports", { key: workspaceKey, body: filtered })), "403 AB03");
  await deny(["cost"]);
  for (const [filters, answer] of [
    [{ cost_min: 1 }, "403 AB03"],
    [{ cost_max: 1, total_units_min: 1 }, "403 AB03"],
    [{ cost_min: null, total_units_min: 1 }, 200],
  ] as const) {
    const draft = { filters, requested_data: ["id"] };
    const response = call(gateway, "POST /logs/exports", { key: workspaceKey, body: draft });
    assert.equal(answer === 200 ? (await response).status : await refusal(response), answer, JSON.stringify(filters));
  }
  await deny([]);
});

test("other tenants do not see an export, and users see only what they created", async () => {
  const { id } = await create({ filters: {}, requested_data: ["id"] });
  for (const key of [other.workspaceKey, other.adminKey]) {
    for (const route of ["GET", "PUT", "POST /start", "POST /cancel", "GET /download"]) {
      const [method, end = ""] = route.split(" ");
      const body = method === "PUT" ? { filters: {} } : undefined;
      const answer = call(gateway, `${method} /logs/exports/${id}${end}`, { key, ...(body && { body }) });
      assert.equal(await refusal(answer), "404 AB08", route);
    }
    const listed = await done<{ total: number }>(call(gateway, "GET /logs/exports", { key }));
    assert.equal(listed.total, 0);
  }
  const { data: before } = await done<{ data: unknown[] }>(call(gateway, "GET /files", { key: workspaceKey }));
  assert.deepEqual(before, [], "the files of exports are none of the files API");
  const body = { security_settings: { membersViewAllData: false } };
  await done(call(gateway, `PUT /organisations/${tenant.organisationId}`, { body }));
  const { key } = person;
  assert.equal(await refusal(call(gateway, `GET /logs/exports/${id}`, { key })), "404 AB08");
  const own = await create({ filters: {}, requested_data: ["id"] }, key);
  assert.equal(own.total, rows / 5);
  assert.equal((await run(own.id, key)).length, rows / 5);
  const { data } = await done<{ data: LogExport[] }>(call(gateway, "GET /logs/exports", { key }));
  assert.ok(data.length === 1 && data.every(({ created_by }) => created_by === person.id));
  assert.ok((await done<{ total: number }>(call(gateway, "GET /logs/exports"))).total > data.length);
});
