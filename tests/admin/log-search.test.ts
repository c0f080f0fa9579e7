import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { mintApiKey } from "../../src/auth/api-key.ts";
import type { Database } from "../../src/db/client.ts";
import { findInValue, mayStandIn } from "../../src/logs/read/search/match.ts";
import { searchRows } from "../../src/logs/read/search/search-rows.ts";
import { readWords } from "../../src/logs/read/search/words.ts";
import { createLogReaderThread } from "../../src/serve/log-reader-thread.ts";
import { zstdCodec } from "../../src/serve/text-codec.ts";
import { call, createOrganisation, done } from "../support/control.ts";
import {
  adminKey,
  chat,
  createTestGateway,
  insertKey,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { addPerson } from "../support/people.ts";

let gateway: TestGateway;
let database: Database;
let organisationId: string;
let foreign: Awaited<ReturnType<typeof createOrganisation>>;
before(async () => {
  gateway = await createTestGateway({ inFile: true, createLogReader: createLogReaderThread, logCodec: zstdCodec });
  database = await gateway.openFile();
  foreign = await createOrganisation(database, "other");
  organisationId = (await done<{ data: { id: string } }>(call(gateway, "GET /organisations/self"))).data.id;
});
after(async () => {
  await database.close();
  await gateway.close();
});

interface Page {
  data: { id: string; trace_id: string }[];
  has_more: boolean;
  next_cursor: string | null;
  search: { from: string | null; to: string | null; rows_scanned: number; characters_scanned: number };
}

const search = (words: string, more = "", key = workspaceKey) =>
  call<Page>(gateway, `GET /logs?search=${encodeURIComponent(words)}${more}`, { key });

const traces = async (words: string, more = "", key = workspaceKey) =>
  (await done(search(words, more, key))).data.map(({ trace_id }) => trace_id);

async function ask(trace: string, content: string, { headers = {}, ...body }: Record<string, unknown> = {}) {
  const request = { model: "echo-1", messages: [{ role: "user", content }], ...body };
  const sent = typeof body.raw === "string" ? body.raw : request;
  await (await chat(gateway, sent, { "x-gateway-trace-id": trace, ...Object(headers) })).text();
  await waitForLog(gateway, trace);
}

test("a search finds rows whose requests and responses have all words, in any case, as phrases and in streams", async () => {
  await ask("plain", 'Where is order A-1042? It was "promised" for Friday.');
  await ask("stream", "The Zürich parcel is lost", { stream: true });
  await ask("escaped", "", {
    raw: '{"model":"echo-1","messages":[{"role":"user","content":"gr\\u00fcn \\u006fpal"}]}',
  });
  await ask("file", `data:image/png;base64,${"QkFTRTY0".repeat(200)}`);
  for (const [words, wanted] of [
    ["order a-1042", ["plain"]],
    ["FRIDAY order", ["plain"]],
    ['"order a-1042"', ["plain"]],
    ['"a-1042 order"', []],
    ["order parcel", []],
    ['""promised""', ["plain"]],
    ["zürich PARCEL", ["stream"]],
    ["zu\u0308rich", ["stream"]],
    ["opal", ["escaped"]],
    ["grün opal", ["escaped"]],
    ["messages", []],
    ["qkftrty0", []],
  ] as const) {
    assert.deepEqual(await traces(words), wanted, words);
  }
  assert.deepEqual(await traces("order", "&status=500"), []);
  assert.deepEqual(await traces("order", "&trace_id=plain&model=echo-1"), ["plain"]);
});

test("an answer says what was looked at, and its cursor goes on behind that", async () => {
  for (const trace of ["one", "two", "three"]) await ask(trace, "a needle");
  const seen: string[] = [];
  for (let cursor = "", pages = 0; pages < 10; pages++) {
    const { data, next_cursor, search: said } = await done(search("needle", `&limit=1${cursor}`));
    seen.push(...data.map(({ trace_id }) => trace_id));
    assert.ok(said.rows_scanned > 0);
    assert.ok(said.characters_scanned > 0);
    assert.ok(said.from !== null, "a search without a start has one");
    if (next_cursor === null) break;
    cursor = `&cursor=${next_cursor}`;
  }
  assert.deepEqual(seen, ["three", "two", "one"]);
  const { search: said } = await done(search("needle", "&from=2020-01-01&to=2021-01-01"));
  assert.deepEqual(said, {
    from: "2020-01-01T00:00:00.000Z",
    to: "2021-01-01T00:00:00.000Z",
    rows_scanned: 0,
    characters_scanned: 0,
    rows_unavailable: 0,
  });
});

test("a search finds neither what was masked nor what is not stored", async () => {
  const secret = "sk-proj-Abcdefghijklmnopqrstuvwxyz0123456789";
  await ask("masked", `My key is ${secret}, keep it wellhidden`);
  assert.deepEqual(await traces("wellhidden"), ["masked"]);
  assert.deepEqual(await traces(secret), []);
  assert.deepEqual(await traces(secret.slice(0, 20)), []);
  await ask("unstored", "unstoredword", { headers: { "x-gateway-debug": "false" } });
  assert.deepEqual(await traces("unstoredword"), []);
});

test("who may not read contents may not search them", async () => {
  await ask("guarded", "guardedword");
  const set = (body: object) => done(call(gateway, `PUT /organisations/${organisationId}`, { body }));
  const status = async (key: string) => (await search("guardedword", "", key)).status;
  for (const [scopes, wanted] of [
    [["logs.list"], 403],
    [["logs.list", "configs.read"], 403],
    [["logs.read"], 403],
    [["logs.list", "logs.read"], 200],
    [["logs.view"], 200],
  ] as const) {
    const { key } = mintApiKey("gk");
    await insertKey(database, key, { scopes: JSON.stringify(scopes) });
    assert.equal(await status(key), wanted, scopes.join());
  }
  for (const key of [foreign.adminKey, foreign.workspaceKey]) {
    assert.deepEqual(await traces("guardedword", "", key), []);
  }
  assert.deepEqual(await traces("guardedword", "", adminKey), ["guarded"]);
  const member = await addPerson(gateway, "member@example.test", {
    role: "member",
    workspaces: [{ id: "default", role: "member" }],
    scopes: ["logs.view"],
  });
  assert.deepEqual(await traces("guardedword", "", member.key), ["guarded"]);
  await set({ security_settings: { membersViewAllData: false } });
  assert.deepEqual(await traces("guardedword", "", member.key), []);
  await set({ security_settings: { membersViewAllData: true, membersViewLogs: false } });
  assert.equal(await status(member.key), 403);
  await set({ security_settings: { membersViewLogs: true }, export_settings: { deniedFields: ["request"] } });
  await ask("only response", "Say it");
  assert.deepEqual(await traces("only user"), []);
  await set({ export_settings: { deniedFields: ["request", "response"] } });
  assert.equal(await status(workspaceKey), 403);
  await set({ export_settings: { deniedFields: [] } });
});

test("searches that cannot be answered are refused", async () => {
  const many = Array.from({ length: 9 }, (_, index) => `w${index}`).join(" ");
  for (const words of [many, "x".repeat(129), '" "', "   ", "nul\0", "x".repeat(2_000)]) {
    const { status, body } = await search(words);
    assert.equal(status, 400, words.slice(0, 20));
    assert.match(JSON.stringify(body), /search/);
  }
  assert.equal((await call(gateway, "GET /logs/tail?search=word", { key: workspaceKey })).status, 400);
});

/** The result of some steps, and how many they were. */
function run<Result>(work: Generator<number, Result>): { result: Result; steps: number; longest: number } {
  let [steps, longest] = [0, 0];
  for (;;) {
    const { done: isDone, value } = work.next();
    if (isDone) return { result: value, steps, longest };
    steps += value;
    longest = Math.max(longest, value);
  }
}

test("the steps of a search grow with the length of a body alone, and each is short", () => {
  const words = readWords(`${"a".repeat(127)}b ${"ab".repeat(60)}c`) ?? [];
  assert.equal(words.length, 2);
  const steps = [17, 18, 19].map((power) => run(findInValue("a ".repeat(2 ** power), words, 0)));
  assert.ok(steps.every(({ result, longest }) => result === 0 && longest < 30_000));
  const [one = 0, two = 0, three = 0] = steps.map((each) => each.steps);
  assert.ok(two < 2.1 * one && three < 2.1 * two);
  const deep = run(findInValue(JSON.parse(`${"[".repeat(5_000)}"ab"${"]".repeat(5_000)}`), ["ab"], 0));
  assert.equal(deep.result, 1);
  const body = JSON.stringify({ text: 'a "quoted" line\nwith a tab\t and \\ ' });
  for (const word of ['"quoted"', "line\nwith", "\\"]) assert.equal(run(mayStandIn(body, [word, "none"])).result, 1);
});

test("a search reads no further batch once it has read enough, and says which rows it could not read", async () => {
  const side = { headers: {}, body: "x".repeat(20 * 2 ** 20), truncated: false };
  const rows = Array.from({ length: 6 }, (_, index) => ({ id: `row ${index}`, seq: Math.floor(index / 2) }));
  const read: number[] = [];
  const store = {
    async readContents(_: unknown, seq: number) {
      read.push(seq);
      const row = { request: side, response: { headers: {}, body: null, truncated: false } };
      return new Map(rows.flatMap(({ id, seq: of }, index) => (of === seq ? [[id, index % 2 ? null : row]] : [])));
    },
  };
  const scope = { organisationId: "o", workspaceId: null };
  const redactor = { mayHoldSecret: () => false } as never; // plain text is not redacted again
  const asked = { scope, words: ["y"], sides: ["request"] as const, limit: 10 };
  const { found, last, rows: looked, characters } = await searchRows(rows, asked, { store: store as never, redactor });
  assert.deepEqual([found, last?.id, looked, characters, read], [[], "row 3", 4, 40 * 2 ** 20, [0, 1]]);
});
