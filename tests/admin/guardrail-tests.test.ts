import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { call, done, refusal } from "../support/control.ts";
import {
  chat,
  createTemporaryFolder,
  createTestGateway,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const folder = createTemporaryFolder();
const file = join(folder.path, "gateway.db");
let gateway: TestGateway;
let service: RecordingUpstream;
before(async () => {
  gateway = await createTestGateway({ database: `file:${file}` });
  service = await startRecordingUpstream((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"verdict": false, "data": {"reason": "no"}}');
  });
});
after(async () => {
  await gateway.close();
  await service.close();
  folder.remove();
});

const key = workspaceKey;

interface Hook {
  verdict: boolean;
  checks: { id: string; verdict: boolean; data: Record<string, unknown> | null; error: { message: string } | null }[];
  feedback: { value: number } | null;
}
interface Tested {
  phase: string;
  result: Hook | null;
  transformed: { messages?: { content: string }[] } | null;
}

async function save(checks: readonly object[], { actions = {}, path = "/guardrails", as = key } = {}) {
  return done(
    call<{ id: string; slug: string }>(gateway, `POST ${path}`, { key: as, body: { name: "G", checks, actions } }),
  );
}
const organisations = { path: "/admin/v2/guardrails", as: "test-admin-key-0000000000" };
const words = (operator = "none") => ({ id: "contains", parameters: { words: ["falcon", "hidden-word"], operator } });
const tryOut = (id: string, body: object, as = key) =>
  done(call<Tested>(gateway, `POST /guardrails/${id}/test`, { key: as, body }));

test("a guardrail is tested with a text, a request or a response", async () => {
  const { id, slug } = await save([words()]);
  const found = await tryOut(id, { text: "the falcon" });
  assert.deepEqual(
    [found.phase, found.result?.verdict, found.result?.checks[0]?.data?.foundWords],
    ["input", false, ["falcon"]],
  );
  const other = await tryOut(slug, { request: { messages: [{ role: "user", content: "a dove" }] } });
  assert.deepEqual([other.phase, other.result?.verdict], ["input", true]);
  const answer = { choices: [{ message: { role: "assistant", content: "the falcon" } }] };
  const late = await tryOut(id, { request: { messages: [] }, response: answer });
  assert.deepEqual([late.phase, late.result?.verdict], ["output", false]);
  const gemini = await tryOut(id, { request: { contents: [{ parts: [{ text: "falcon" }] }] } });
  assert.equal(gemini.result?.verdict, false);
});

test("a test shows what a guardrail would change, also one that runs after responses", async () => {
  const { id } = await save([{ id: "gateway.pii", parameters: { redact: true } }]);
  const { transformed, result } = await tryOut(id, { text: "write to jo@example.com" });
  assert.deepEqual([transformed?.messages?.[0]?.content, result?.verdict], ["write to {{EMAIL_ADDRESS_1}}", true]);
  const late = await save([words()], { actions: { async: true } });
  assert.equal((await tryOut(late.id, { text: "falcon" })).result?.verdict, false);
  const code = await save([{ id: "containsCode", parameters: { format: "SQL" } }]);
  assert.equal((await tryOut(code.id, { text: "```sql\nselect 1\n```" })).phase, "output");
});

test("tests of guardrails refuse what they cannot use", async () => {
  const { id } = await save([{ id: "containsCode", parameters: { format: "SQL" } }]);
  const refused = (path: string, body: object, as = key) => refusal(call(gateway, `POST ${path}`, { key: as, body }));
  for (const body of [
    {},
    { text: "a", request: {} },
    { text: "a", response: {} },
    { response: {} },
    { text: 7 },
    { request: "x" },
  ]) {
    assert.equal(await refused(`/guardrails/${id}/test`, body), "400 AB01", JSON.stringify(body));
  }
  // its checks read responses alone
  assert.equal(await refused(`/guardrails/${id}/test`, { request: { messages: [] } }), "400 AB01");
  assert.equal(await refused(`/guardrails/${crypto.randomUUID()}/test`, { text: "a" }), "404 AB08");
});

test("a test returns what services say, and none of the secrets that they receive", async () => {
  const secret = "webhook-secret-0123456789";
  const checks = [
    {
      id: "webhook",
      parameters: { webhookURL: `${service.url}/check?token=${secret}`, headers: { "x-my-header": secret } },
    },
    { id: "akto.scan", parameters: { credentials: { apiKey: secret, customHost: service.url } } },
    {
      id: "f5-guardrails.scan",
      parameters: { projectId: "p", credentials: { apiKey: secret, calypsoUrl: service.url } },
    },
  ];
  const { id } = await save(checks);
  const tested = await tryOut(id, { text: "my text" });
  assert.equal(tested.result?.checks[0]?.verdict, false);
  const [webhook, akto, f5] = service.requests.slice(-3);
  assert.deepEqual(
    [webhook?.headers["x-my-header"], akto?.headers.authorization, f5?.headers.authorization],
    [secret, `Bearer ${secret}`, `Bearer ${secret}`],
  );
  const shown = await done(
    call<{ checks: { parameters: Record<string, unknown> }[] }>(gateway, `GET /guardrails/${id}`, { key }),
  );
  const changed = await done(
    call(gateway, `PUT /guardrails/${id}`, { key, body: { checks: shown.checks, actions: { deny: true } } }),
  );
  assert.notEqual(changed.version_id, undefined);
  await tryOut(id, { text: "my text" });
  assert.equal(service.requests.at(-1)?.headers.authorization, `Bearer ${secret}`, "a mask stands for its secret");
  const trace = crypto.randomUUID();
  await chat(gateway, undefined, {
    "x-gateway-provider": "echo",
    "x-gateway-trace-id": trace,
    "x-gateway-config": JSON.stringify({ input_guardrails: [id] }),
  });
  const audit = await done(
    call(gateway, "GET /audit-logs?start_time=2000-01-01T00:00:00Z&end_time=2100-01-01T00:00:00Z"),
  );
  for (const text of [
    JSON.stringify(tested),
    JSON.stringify(shown),
    JSON.stringify(audit),
    JSON.stringify(await waitForLog(gateway, trace)),
  ]) {
    assert.ok(!text.includes(secret), text.slice(0, 300));
  }
  for (const end of ["", "-wal"])
    assert.ok(!readFileSync(file + end, "latin1").includes(secret), "the secret is on disk in clear");
  // whoever may change the address need not know the secret
  const moved = structuredClone(shown.checks);
  Object.assign(moved[2]?.parameters.credentials as object, { calypsoUrl: "https://evil.example" });
  assert.equal(await refusal(call(gateway, `PUT /guardrails/${id}`, { key, body: { checks: moved } })), "400 AB01");
});

test("workspaces see the verdicts of the organisation's guardrails, and nothing of their parameters", async () => {
  const { slug, id } = await save(
    [words(), { id: "webhook", parameters: { webhookURL: `${service.url}/hidden-path` } }],
    organisations,
  );
  const trace = crypto.randomUUID();
  const response = await chat(
    gateway,
    { model: "echo-1", messages: [{ role: "user", content: "the falcon" }] },
    {
      "x-gateway-provider": "echo",
      "x-gateway-trace-id": trace,
      "x-gateway-config": JSON.stringify({ input_guardrails: [slug] }),
    },
  );
  assert.equal(response.status, 246);
  const body = await response.text();
  const row = JSON.stringify(await waitForLog(gateway, trace));
  const tested = await tryOut(id, { text: "the falcon" });
  for (const text of [body, row, JSON.stringify(tested)]) {
    assert.match(text, /The check of the organisation failed/);
    assert.doesNotMatch(text, /hidden-word|hidden-path|foundWords/);
  }
  assert.equal(tested.result?.verdict, false);
});

test("the feedback of verdicts is stored on the trace", async () => {
  const { slug } = await save([words()], {
    actions: {
      on_success: { feedback: { value: 3, weight: 0.5 } },
      on_fail: { feedback: { value: -7, metadata: { why: "words" } } },
    },
  });
  const trace = crypto.randomUUID();
  for (const content of ["the falcon", "a dove"]) {
    await chat(
      gateway,
      { model: "echo-1", messages: [{ role: "user", content }] },
      {
        "x-gateway-provider": "echo",
        "x-gateway-trace-id": trace,
        "x-gateway-config": JSON.stringify({ input_guardrails: [slug] }),
      },
    );
  }
  const until = performance.now() + 60_000;
  let rows: { value: unknown; weight: unknown; metadata: unknown }[] = [];
  const database = await (await import("../../src/db/client.ts")).openDatabase({ url: `file:${file}` });
  while (rows.length < 2 && performance.now() < until) {
    const sql = "SELECT value, weight, metadata FROM feedback WHERE trace_id = ? ORDER BY value";
    rows = (await database.read({ sql, args: [trace] })).rows.map(({ value, weight, metadata }) => ({
      value,
      weight,
      metadata,
    }));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await database.close();
  assert.deepEqual(
    rows.map(({ value, weight }) => [Number(value), Number(weight)]),
    [
      [-7, 1],
      [3, 0.5],
    ],
  );
  assert.match(String(rows[0]?.metadata), /"why":"words".*default\.contains/);
});

interface Listed {
  data: {
    id: string;
    partner: string | null;
    phases: string[];
    works_on_window: boolean;
    parameters: { type: string; properties: Record<string, unknown>; required?: string[] };
  }[];
  total: number;
}

test("the catalog lists every check with a schema of its parameters", async () => {
  const { data, total } = await done(call<Listed>(gateway, "GET /guardrails/checks", { key }));
  assert.equal(data.length, total);
  const byId = new Map(data.map((one) => [one.id, one]));
  for (const one of data) {
    assert.equal(one.parameters.type, "object", one.id);
    assert.notEqual(one.parameters.properties.failOnError, undefined, one.id);
    assert.equal(one.partner === null, /^(?:default|gateway)\./.test(one.id), one.id);
  }
  const contains = byId.get("default.contains");
  assert.deepEqual(
    [contains?.phases, contains?.works_on_window, contains?.parameters.required],
    [["input", "output"], true, ["words"]],
  );
  assert.deepEqual(byId.get("default.jwt")?.phases, ["input"]);
  assert.equal(byId.get("f5-guardrails.scan")?.partner, "f5-guardrails");
  assert.ok(byId.get("azure.contentSafety")?.parameters.properties.severity);
});

test("the catalog says what time limits are: whole milliseconds up to a minute, or null for the default", async () => {
  const { data } = await done(call<Listed>(gateway, "GET /guardrails/checks", { key }));
  const defaults = new Map<string, unknown>();
  for (const { id, parameters } of data) {
    for (const name of ["timeout", "timeoutMs"]) {
      const schema = Object(parameters.properties[name]);
      if (parameters.properties[name] === undefined) continue;
      const [limit, none] = schema.anyOf;
      assert.deepEqual([limit.type, limit.minimum, limit.maximum, none], ["integer", 1, 60_000, { type: "null" }], id);
      defaults.set(id, schema.default);
    }
  }
  const named = ["default.webhook", "default.inlineImageUrls", "f5-guardrails.scan", "patronus.custom"];
  assert.deepEqual(
    named.map((id) => defaults.get(id)),
    [3_000, 30_000, 5_000, 15_000],
  );
});
