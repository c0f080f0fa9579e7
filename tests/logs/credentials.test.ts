import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, done } from "../support/control.ts";
import {
  chat,
  createTestGateway,
  type HeaderChanges,
  helloBody,
  requestHeaders,
  type TestGateway,
  upstreamHeaders,
  waitForLog,
  waitForLogs,
  workspaceKey,
} from "../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

const ownKey = 'of-no+known/form="1"';
const sessionToken = "FwoGZXIvYXdzEXAMPLE//session+token==";

let gateway: TestGateway;
let upstream: RecordingUpstream;
before(async () => {
  gateway = await createTestGateway({ inFile: true });
  upstream = await startRecordingUpstream(({ headers, text }, response) => {
    const told = [
      headers.authorization,
      headers["api-key"],
      headers["x-amz-security-token"],
      headers["x-functions-code"],
    ];
    if (text.includes("in pieces")) {
      response.setHeader("content-type", "text/event-stream");
      for (const piece of /pieces: (\S+)/.exec(JSON.parse(text).messages[0].content)?.[1]?.match(/.{1,3}/g) ?? []) {
        const chunk = { choices: [{ index: 0, delta: { content: piece } }] };
        response.write(`data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", ...chunk })}\n\n`);
      }
      return response.end("data: [DONE]\n\n");
    }
    response.setHeader("content-type", "application/json");
    response.setHeader("x-told", JSON.stringify(told));
    response.statusCode = 400;
    response.end(JSON.stringify({ error: { message: `Cannot take: ${told.join(" ")}`, param: String(told[2]) } }));
  });
  const configurations = {
    custom_host: upstream.url,
    aws_access_key_id: "not-an-access-key-id",
    aws_secret_access_key: "not-a-secret-access-key",
    aws_session_token: sessionToken,
    aws_auth_type: "accessKey",
    aws_region: "eu-west-1",
    custom_headers: { "x-functions-code": "a-header-value-that-is-secret-1" },
  };
  const body = { name: "aws", slug: "aws", ai_provider_id: "bedrock", configurations };
  await done(
    call(gateway, "POST /integrations", { key: workspaceKey, body: { ...body, create_default_provider: false } }),
  );
  const provider = { name: "aws", slug: "aws", integration_id: "aws" };
  await done(call(gateway, "POST /providers", { key: workspaceKey, body: provider }));
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

/** Everything the database holds of log rows. */
async function storedText(): Promise<string> {
  const database = await gateway.openFile();
  const { rows } = await database.read("SELECT details, content FROM log_batches LEFT JOIN log_bodies USING (seq)");
  return rows.map(({ details, content }) => `${details} ${content}`).join("\n");
}

/** Sends a request and requires that its row and the tables hold none of the secrets. */
async function requireHidden(trace: string, secrets: readonly string[], send: () => Promise<Response>) {
  const response = await send();
  const text = await response.text();
  const row = await waitForLog(gateway, trace);
  const [listed] = await waitForLogs(gateway, `trace_id=${trace}`);
  const shown = JSON.stringify([row, listed]) + (await storedText());
  for (const secret of secrets) {
    for (const spelling of [secret, JSON.stringify(secret).slice(1, -1)]) {
      assert.ok(!shown.includes(spelling), `${spelling} is stored`);
    }
  }
  return { status: response.status, text, row };
}

const inline = (members: object) =>
  JSON.stringify({ provider: "openai", custom_host: `${upstream.url}/v1`, ...members });
const sources: readonly [string, () => HeaderChanges][] = [
  ["authorization", () => ({ ...upstreamHeaders(upstream), authorization: `Bearer ${ownKey.replaceAll('"', "~")}` })],
  ["an inline config", () => ({ "x-gateway-provider": null, "x-gateway-config": inline({ api_key: ownKey }) })],
];
for (const [name, headers] of sources) {
  const secret = name === "authorization" ? ownKey.replaceAll('"', "~") : ownKey;
  test(`a row does not repeat the caller's own credential of ${name}, which an upstream's error does`, async () => {
    const trace = `own-${name.length}`;
    const { status, row } = await requireHidden(trace, [secret], () =>
      chat(gateway, { ...helloBody, user: secret }, { ...headers(), "x-gateway-trace-id": trace }),
    );
    assert.equal(status, 400);
    assert.match(row.error?.message ?? "", /\[masked\]/);
    assert.equal(Reflect.get(Object(row.request.body), "user"), "[masked]");
  });
}

test("a row of a forwarded request repeats no credential", async () => {
  const headers = requestHeaders({
    ...upstreamHeaders(upstream),
    authorization: "Bearer a-credential-of-nobody",
    "x-gateway-trace-id": "passed",
  });
  const { text, row } = await requireHidden("passed", ["a-credential-of-nobody"], () =>
    gateway.fetch("/v1/some/path", { method: "POST", headers, body: "{}" }),
  );
  assert.ok(text.includes("a-credential-of-nobody"), "the answer goes back as received");
  assert.match(JSON.stringify(row.response), /\[masked\]/);
});

test("a row of a forwarded request repeats no credential of another scheme", async () => {
  const headers = requestHeaders({
    ...upstreamHeaders(upstream),
    authorization: "Basic a-credential-of-nobody-else",
    "x-gateway-trace-id": "passed-basic",
  });
  const { text } = await requireHidden("passed-basic", ["a-credential-of-nobody-else"], () =>
    gateway.fetch("/v1/some/path", { method: "POST", headers, body: "{}" }),
  );
  assert.ok(text.includes("a-credential-of-nobody-else"), "the answer goes back as received");
});

test("neither the caller nor the row learns any secret of an integration from an upstream's error", async () => {
  const secrets = [sessionToken, "a-header-value-that-is-secret-1", "not-a-secret-access-key"];
  const { text } = await requireHidden("managed", secrets, () =>
    chat(
      gateway,
      { ...helloBody, model: "anthropic.claude" },
      { "x-gateway-provider": "@aws", "x-gateway-trace-id": "managed" },
    ),
  );
  for (const secret of secrets) assert.ok(!text.includes(secret), text);
  assert.match(text, /\*\*\*\*\*/);
});

const keys = ["sk-proj-abcdefghij0123456789", "upstream-credential", workspaceKey];
for (const key of keys) {
  test(`a stream that spells out ${key.slice(0, 8)} in pieces is stored with it masked`, async () => {
    const trace = `pieces-${key.slice(0, 4)}`;
    const messages = [{ role: "user", content: `say in pieces: ${key}` }];
    const { text, row } = await requireHidden(trace, [key], () =>
      chat(
        gateway,
        { model: "m", stream: true, messages },
        { ...upstreamHeaders(upstream), "x-gateway-trace-id": trace },
      ),
    );
    assert.match(text, /\[DONE\]/);
    assert.deepEqual(Reflect.get(Object(row.response.body), "choices")[0].message.content, "[masked]");
    // not in pieces either
    const stored = (await storedText()).replace(/[^"]*"content":"|"\}[^\n]*\n*|\\n/g, "");
    assert.ok(!stored.includes(key), stored);
  });
}

test("a credential that is spelt like members of rows damages no row", async () => {
  for (const credential of ["trace_id", "organisation_id", '":"', "workspace_id", "truncated", "authorization"]) {
    const trace = `spelt-${credential.length}`;
    await chat(gateway, helloBody, {
      ...upstreamHeaders(upstream),
      authorization: `Bearer ${credential}`,
      "x-gateway-trace-id": trace,
    });
    const row = await waitForLog(gateway, trace);
    assert.equal(row.status, 400);
    assert.ok("content-type" in row.request.headers);
  }
});
