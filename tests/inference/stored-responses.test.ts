import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createOrganisation } from "../support/control.ts";
import {
  createTemporaryFolder,
  createTestGateway,
  readPepper,
  type TestGateway,
  upstreamHeaders,
  workspaceKey,
} from "../support/gateway.ts";
import { recordedText, startNativeUpstream } from "../support/native-upstreams.ts";
import { checkEvents, type Members, parseEvents } from "../support/response-events.ts";
import { callResponses, shapeHeaders, shapes } from "../support/responses.ts";
import type { RecordingUpstream } from "../support/upstream.ts";

const [, shape = { provider: "", slug: "", model: "" }] = shapes;

let gateway: TestGateway;
let upstream: RecordingUpstream;
let otherKey = "";
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  upstream = await startNativeUpstream();
  const database = await gateway.openFile();
  await readPepper(database);
  otherKey = (await createOrganisation(database, "rival")).workspaceKey;
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const post = (body: object, key: string = workspaceKey) =>
  callResponses(gateway, "POST /responses", {
    key,
    body: { model: shape.model, input: "Hello", ...body },
    headers: shapeHeaders(shape, upstream.url, "text"),
  });
const call = (route: string, key: string = workspaceKey) =>
  callResponses(gateway, route, { key, headers: upstreamHeaders(upstream) });
const lastSent = (): Members => JSON.parse(upstream.requests.at(-1)?.text ?? "{}");
const codeOf = ({ body }: { body: Members }) => (body.error as Members).code;

test("a response can be read again at once, as JSON and as its events", async () => {
  const { body } = await post({ instructions: "Be short.", metadata: { a: "b" } });
  const read = await call(`GET /responses/${body.id}`);
  assert.equal(read.status, 200);
  const { provider: _, ...answered } = body;
  assert.deepEqual(read.body, answered);
  const replayed = parseEvents((await call(`GET /responses/${body.id}?stream=true`)).text);
  assert.deepEqual(checkEvents(replayed), answered);
  const rest = parseEvents((await call(`GET /responses/${body.id}?stream=true&starting_after=4`)).text);
  assert.deepEqual(rest, replayed.slice(5));
  assert.equal((await call(`GET /responses/${body.id}?stream=true&starting_after=x`)).status, 400);
});

test("a streamed response is stored as in its last event", async () => {
  const { text } = await post({ stream: true });
  const response = checkEvents(parseEvents(text));
  assert.deepEqual((await call(`GET /responses/${response.id}`)).body, response);
});

test("a response with store false is not stored", async () => {
  const { body } = await post({ store: false });
  assert.equal(body.store, false);
  const { status, body: refused } = await call(`GET /responses/${body.id}`);
  assert.equal(status, 404);
  assert.ok(String(refused.message).includes(String(body.id)));
});

test("a conversation continues from a response, without its instructions", async () => {
  const first = await post({ input: "One", instructions: "Be short." });
  const second = await post({ input: [{ role: "user", content: "Two" }], previous_response_id: first.body.id });
  assert.equal(second.body.previous_response_id, first.body.id);
  const third = await post({ input: "Three", previous_response_id: second.body.id, stream: true });
  assert.equal(third.status, 200);
  const sent = lastSent();
  assert.equal(sent.system, undefined);
  const said = (sent.messages as { role: string; content: unknown }[]).map(({ role, content }) => [
    role,
    typeof content === "string" ? content : (content as Members[]).map(({ text }) => text).join(""),
  ]);
  assert.deepEqual(said, [
    ["user", "One"],
    ["assistant", recordedText],
    ["user", "Two"],
    ["assistant", recordedText],
    ["user", "Three"],
  ]);
});

test("unknown and removed responses cannot be continued", async () => {
  const unknown = await post({ previous_response_id: "resp_gw_01ARZ3NDEKTSV4RRFFQ69G5FAV" });
  assert.equal(unknown.status, 404);
  assert.match(String(unknown.body.message), /resp_gw_01ARZ3NDEKTSV4RRFFQ69G5FAV/);
  assert.equal((unknown.body.error as Members).param, "previous_response_id");
  const first = await post({ input: "One" });
  const second = await post({ input: "Two", previous_response_id: first.body.id });
  const removed = await call(`DELETE /responses/${first.body.id}`);
  assert.deepEqual(removed.body, { id: first.body.id, object: "response", deleted: true });
  const broken = await post({ input: "Three", previous_response_id: second.body.id });
  assert.equal(broken.status, 404);
  assert.ok(String(broken.body.message).includes(String(first.body.id)), "the one that is missing is named");
  assert.equal((await call(`DELETE /responses/${first.body.id}`)).status, 404);
  assert.equal((await call(`GET /responses/${first.body.id}`)).status, 404);
});

test("GET /v1/responses/{id}/input_items lists items newest first, page by page", async () => {
  const first = await post({ input: "One" });
  const input = [
    { role: "user", content: [{ type: "input_text", text: "Two" }] },
    { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "c1", output: "3" },
  ];
  const second = await post({ input, previous_response_id: first.body.id });
  const path = `GET /responses/${second.body.id}/input_items`;
  const all = (await call(path)).body;
  const items = all.data as Members[];
  assert.deepEqual(
    items.map(({ type, role }) => role ?? type),
    ["function_call_output", "function_call", "user", "assistant", "user"],
  );
  assert.equal(new Set(items.map(({ id }) => id)).size, 5);
  assert.deepEqual([all.object, all.first_id, all.last_id, all.has_more], ["list", items[0]?.id, items[4]?.id, false]);
  const page = (await call(`${path}?limit=2&after=${items[0]?.id}`)).body;
  assert.deepEqual([page.data, page.has_more], [items.slice(1, 3), true]);
  const upwards = (await call(`${path}?order=asc&before=${items[3]?.id}`)).body;
  assert.deepEqual(upwards.data, [items[4]]);
  for (const query of ["limit=0", "limit=101", "limit=x", "order=up", "after=nobody", "before=nobody"]) {
    const { status, body } = await call(`${path}?${query}`);
    assert.deepEqual([status, (body.error as Members).param], [400, query.split("=")[0]], query);
  }
});

test("POST /v1/responses/{id}/cancel refuses responses of the gateway", async () => {
  const { body } = await post({});
  const cancelled = await call(`POST /responses/${body.id}/cancel`);
  assert.deepEqual([cancelled.status, codeOf(cancelled)], [400, "not_in_background"]);
});

test("another tenant finds no response, by any route", async () => {
  const { body } = await post({ input: "Secret" });
  const id = String(body.id);
  const answers = [
    await call(`GET /responses/${id}`, otherKey),
    await call(`GET /responses/${id}/input_items`, otherKey),
    await call(`DELETE /responses/${id}`, otherKey),
    await call(`POST /responses/${id}/cancel`, otherKey),
    await post({ previous_response_id: id }, otherKey),
  ];
  for (const answer of answers) assert.deepEqual([answer.status, codeOf(answer)], [404, "response_not_found"]);
  assert.equal((await call(`GET /responses/${id}`)).status, 200);
});

/** Rows of a table of the file, once there are as many. */
async function rowsOf(count: number, id: unknown): Promise<Members[]> {
  const database = await gateway.openFile();
  const until = performance.now() + 5_000;
  for (;;) {
    const { rows } = await database.read({ sql: "SELECT * FROM stored_responses WHERE id = ?", args: [String(id)] });
    if (rows.length === count || performance.now() > until) return rows.map((row) => ({ ...row }));
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("stored responses are encrypted, and cannot be decrypted in another place", async () => {
  const first = await post({ input: "A secret word" });
  const second = await post({ input: "Another", previous_response_id: first.body.id });
  const [row] = await rowsOf(1, first.body.id);
  await rowsOf(1, second.body.id);
  assert.ok(row);
  const shown = JSON.stringify(row);
  assert.ok(!shown.includes("secret word") && !shown.includes(recordedText));
  assert.equal((await call(`GET /responses/${second.body.id}`)).status, 200);
  const database = await gateway.openFile();
  await database.write([
    { sql: "UPDATE stored_responses SET sealed = ? WHERE id = ?", args: [String(row.sealed), String(second.body.id)] },
  ]);
  const moved = await call(`GET /responses/${second.body.id}`);
  assert.equal(moved.status, 500);
  assert.ok(!moved.text.includes("secret word"));
});

test("DELETE /v1/responses/{id} removes the row too", async () => {
  const { body } = await post({});
  await rowsOf(1, body.id);
  await call(`DELETE /responses/${body.id}`);
  assert.deepEqual(await rowsOf(0, body.id), []);
});

test("a response made just before a stop is there after the next start, and its conversation continues", async () => {
  const folder = createTemporaryFolder();
  const database = `file:${join(folder.path, "gateway.db")}`;
  const headers = shapeHeaders(shape, upstream.url, "text");
  const asked = { model: shape.model, input: "One" };
  const first = await createTestGateway({ database });
  const { body } = await callResponses(first, "POST /responses", { headers, body: asked });
  await first.close();
  const second = await createTestGateway({ database });
  const read = await callResponses(second, `GET /responses/${body.id}`, { headers });
  assert.equal(read.body.id, body.id);
  const next = { ...asked, input: "Two", previous_response_id: body.id };
  assert.equal((await callResponses(second, "POST /responses", { headers, body: next })).status, 200);
  assert.ok(JSON.stringify(lastSent()).includes("One"));
  await second.close();
  folder.remove();
});
