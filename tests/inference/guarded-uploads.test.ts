import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { FileObject } from "../../src/schemas/files.ts";
import { sendOwn, upload } from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import {
  adminKey,
  createTestGateway,
  type HeaderChanges,
  readJson,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";
import { post, receivedForm } from "../support/media.ts";
import { configHeader } from "../support/routed.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let upstream: RecordingUpstream;
let gateway: TestGateway;
let workspaceId = "";
before(async () => {
  upstream = await startRecordingUpstream(({ path }, response) => {
    const file = { id: "file-1", object: "file", bytes: 1, created_at: 1, filename: "a.jsonl", purpose: "batch" };
    const job = { id: "ftjob-1", object: "fine_tuning.job", created_at: 1, status: "queued", model: "m" };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(path === "/v1/files" ? { ...file, status: "processed" } : job));
  });
  gateway = await createTestGateway({ inFile: true });
  const workspaces = call<{ data: { id: string }[] }>(gateway, "GET /admin/workspaces", { key: adminKey });
  workspaceId = (await done(workspaces)).data[0]?.id ?? "";
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
const setDefaults = (defaults: object) =>
  done(
    call(gateway, `PUT /admin/workspaces/${workspaceId}`, {
      key: adminKey,
      body: { defaults: { input_guardrails: [], output_guardrails: [], ...defaults } },
    }),
  );
beforeEach(async () => {
  upstream.requests.length = 0;
  await setDefaults({});
});

const word = { "default.contains": { words: ["kumquat"], operator: "none" }, deny: true };
const redact = { "default.regexReplace": { rule: "/kumquat/g", redactText: "[cut]" } };

const target = (): HeaderChanges => ({
  "x-gateway-provider": "openai",
  "x-gateway-custom-host": `${upstream.url}/v1`,
  authorization: "Bearer upstream-credential",
});

/** Uploads lines to the provider; the file comes before or after the purpose. */
function send(
  lines: string | Uint8Array<ArrayBuffer>,
  config: object | undefined,
  { purpose = "batch", name = "rows.jsonl", isFirst = false } = {},
): Promise<Response> {
  const form = new FormData();
  const file = new File([lines], name, { type: "application/jsonl" });
  if (isFirst) form.set("file", file);
  form.set("purpose", purpose);
  if (!isFirst) form.set("file", file);
  return post(gateway, "/files", form, { ...target(), ...(config && configHeader(config)) });
}

const batchRow = (url: string, body: object, id = "1") => ({
  custom_id: id,
  method: "POST",
  url,
  body: { model: "m", ...body },
});
const user = (content: unknown) => ({ messages: [{ role: "user", content }] });
const said = "a kumquat";

/** Rows that hold the word, each in another place. */
const rows: readonly object[] = [
  batchRow("/v1/chat/completions", user(said)),
  batchRow("/v1/chat/completions", {
    ...user("a"),
    tools: [{ type: "function", function: { name: "f", description: said } }],
  }),
  batchRow("/v1/completions", { prompt: said }),
  batchRow("/v1/embeddings", { input: [said] }),
  batchRow("/v1/responses", { input: [{ role: "user", content: [{ type: "input_text", text: said }] }] }),
  batchRow("/v1/messages", { ...user("a"), system: said, max_tokens: 5 }),
  batchRow("/v1/moderations", { input: said }),
  batchRow("/v1/some/new/route", { anything: { nested: [said] } }),
  { custom_id: "1", params: user(said) },
  { ...user("a"), messages: [{ role: "assistant", content: said }] },
  { prompt: "a", completion: said },
  { input: user("a"), preferred_output: [{ role: "assistant", content: said }], non_preferred_output: [] },
];
const clean = JSON.stringify(batchRow("/v1/chat/completions", user("a fig"), "0"));

for (const row of rows) {
  test(`a row is denied before its file is stored: ${JSON.stringify(row).slice(0, 130)}`, async () => {
    for (const isFirst of [false, true]) {
      const response = await send(`${clean}\n${JSON.stringify(row)}\n`, { input_guardrails: [word] }, { isFirst });
      const text = await response.text();
      assert.equal(response.status, 446, text);
      assert.match(text, /denied line 2/);
    }
    assert.equal(upstream.requests.length, 0, "no upload was completed");
  });
}

test("a denied row is the reason also where it comes late in a long file, and the row of the log names it", async () => {
  const lines = `${`${clean}\n`.repeat(2_000)}${JSON.stringify(rows[0])}\n`;
  const response = await send(lines, { input_guardrails: [word] });
  assert.match(await response.text(), /denied line 2001/);
  assert.equal(upstream.requests.length, 0);
});

test("rows are changed on their way, and others stay as they are", async () => {
  const lines = [
    clean,
    ...rows.slice(0, 3).map((row) => JSON.stringify(row)),
    JSON.stringify(rows[9]),
    '{"n":12345678901234567890}',
  ];
  const response = await send(`${lines.join("\n")}\n`, { input_guardrails: [redact] });
  assert.equal(response.status, 200, await response.text());
  const [received] = upstream.requests;
  const form = receivedForm(received ?? assert.fail());
  assert.deepEqual(form[0], ["purpose", "batch"]);
  const [name, , bytes] = Object(form[1])[1] as [string, string, number[]];
  assert.equal(name, "rows.jsonl");
  const sent = new TextDecoder().decode(Uint8Array.from(bytes));
  // the description of a tool cannot be changed
  const expected = lines.map((line) => (line.includes('"description"') ? line : line.replace("kumquat", "[cut]")));
  assert.equal(sent, `${expected.join("\n")}\n`);
});

test("a repeated field of a row does not hide another value", async () => {
  const row = `{"custom_id":"1","url":"/v1/chat/completions","body":${JSON.stringify(user(said))},"body":${JSON.stringify(user("fig"))}}`;
  assert.equal((await send(`${row}\n`, { input_guardrails: [word] })).status, 200);
  assert.doesNotMatch(upstream.requests[0]?.text ?? "", /kumquat/);
});

test("a default guardrail that denies refuses files it cannot read", async () => {
  const body = {
    name: "w",
    checks: [{ id: "default.contains", parameters: word["default.contains"] }],
    actions: { deny: true },
  };
  const { slug } = await done<{ slug: string }>(call(gateway, "POST /guardrails", { key: workspaceKey, body }));
  await setDefaults({ input_guardrails: [slug] });
  for (const [content, more, status] of [
    [`${clean}\n`, {}, 200],
    [`${clean}\n`, { purpose: "fine-tune" }, 200],
    [`${JSON.stringify(rows[0])}\n`, {}, 446],
    [`${clean}\n`, { name: "notes.txt", purpose: "assistants" }, 446],
    [`${clean}\nkumquat\n`, {}, 446],
    [Uint8Array.of(0xff, 0xfe, 0, 10), {}, 446],
  ] as const) {
    const response = await send(content, undefined, more);
    assert.equal(response.status, status, `${JSON.stringify(more)} ${await response.text()}`);
  }
  const packed = { ...target(), "content-type": "multipart/form-data; boundary=b", "content-encoding": "gzip" };
  const refused = await post(gateway, "/files", new Uint8Array(9), packed);
  assert.equal(refused.status, 446);
});

test("tuning jobs run with files of the gateway whose rows a default guardrail has read, and with no others", async () => {
  const body = {
    name: "t",
    checks: [{ id: "default.contains", parameters: word["default.contains"] }],
    actions: { deny: true },
  };
  const { slug } = await done<{ slug: string }>(call(gateway, "POST /guardrails", { key: workspaceKey, body }));
  await setDefaults({ input_guardrails: [slug] });
  const store = async (lines: string) =>
    (await readJson<FileObject>(await upload(gateway, lines, { purpose: "fine-tune" }))).id;
  const tune = (members: object) =>
    sendOwn(gateway, "/v1/fine_tuning/jobs", {
      method: "POST",
      body: JSON.stringify({ model: "m", ...members }),
      headers: { "content-type": "application/json", ...(target() as Record<string, string>) },
    });
  const [good, bad] = [await store(`${JSON.stringify(user("fig"))}\n`), await store(`${JSON.stringify(user(said))}\n`)];
  assert.equal((await tune({ training_file: good })).status, 200);
  for (const members of [
    { training_file: bad },
    { training_file: good, validation_file: bad },
    { training_file: "file-1" },
    { training_file: good, validation_file: "file-1" },
    { training_file: good, suffix: said },
  ]) {
    upstream.requests.length = 0;
    const response = await tune(members);
    assert.equal(response.status, 446, await response.text());
    assert.ok(!upstream.requests.some(({ path }) => path.includes("fine_tuning")), JSON.stringify(members));
  }
});
