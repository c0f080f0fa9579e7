import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readHooks } from "../../src/guardrails/read-hooks.ts";
import { noSavedGuardrails, resolveHooks } from "../../src/guardrails/resolve.ts";
import { chatAnswer, chatRequest, checks, guard, problemsOf, type Seen } from "../support/guardrails.ts";
import { type PartnerCase, partnerCases } from "../support/partner-calls.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

let service: RecordingUpstream;
/** The reply of the service: a status and a body, or silence. */
let reply: readonly [status: number, body: string] | undefined;
before(async () => {
  service = await startRecordingUpstream((_, response) => {
    if (!reply) return;
    response.writeHead(reply[0], { "content-type": "application/json" });
    response.end(reply[1]);
  });
});
after(() => service.close());

const text = "my text";

/** Runs a check against the service; its text is that of the message, or of the response. */
async function ask(
  { id, answers, parameters = {}, credentials = {} }: PartnerCase,
  answer: unknown,
  { more = {}, deny = false, seen = {} }: { more?: object; deny?: boolean; seen?: Seen } = {},
) {
  reply = answer === undefined ? undefined : [200, typeof answer === "string" ? answer : JSON.stringify(answer)];
  return runWith(
    { id, parameters: { ...parameters, credentials: { ...credentials, customHost: service.url }, ...more } },
    { answers, deny, seen },
  );
}

async function runWith(
  check: object,
  { answers, deny, seen }: { answers: true | undefined; deny: boolean; seen: Seen },
) {
  const what: Seen = answers ? { request: chatRequest("asked"), answer: chatAnswer(text) } : { text };
  const headers = { "x-gateway-trace-id": "trace-1" };
  const outcome = await guard([{ checks: [check], deny }], { ...what, headers, ...seen });
  return { outcome, result: outcome.results[0]?.checks[0] ?? assert.fail("no result") };
}

/** The body sent last; times are those of the table. */
function sentBody(): unknown {
  const body = JSON.parse(service.requests.at(-1)?.text ?? "{}");
  return body.time === undefined ? body : { ...body, time: "1768478400" };
}

const listed = partnerCases.map((one, index) => [`${one.id} (row ${index + 1})`, one] as const);

for (const [name, one] of listed) {
  test(`${name} sends what the service documents, and reads its replies`, async () => {
    const { result } = await ask(one, one.passes);
    assert.deepEqual([result.verdict, result.error], [true, null]);
    const sent = service.requests.at(-1) ?? assert.fail();
    assert.deepEqual([sent.method, sent.path], ["POST", one.path]);
    if (one.header) assert.equal(sent.headers[one.header[0]], one.header[1]);
    assert.deepEqual(sentBody(), one.body);
    if (one.fails === undefined) return;
    const failed = await ask(one, one.fails);
    assert.deepEqual([failed.result.verdict, failed.result.error], [false, null]);
    const denied = await ask(one, one.fails, { deny: true });
    assert.equal(denied.outcome.isDenied, true);
  });

  test(`${name} passes on errors, garbage and silence unless its guardrail denies or failOnError is set`, async () => {
    const opens = one.passes !== undefined && one.fails === undefined && one.redacts === undefined;
    for (const garbage of ["<html>", "[]", "null", '{"results": 7}', '"text"', "{}"]) {
      const { result } = await ask(one, garbage);
      assert.deepEqual([result.verdict, result.error === null], [true, false], garbage);
      const strict = await ask(one, garbage, { deny: true });
      assert.equal(strict.outcome.isDenied, !opens, garbage);
    }
    const failing = () =>
      runWith(
        {
          id: one.id,
          parameters: {
            ...one.parameters,
            failOnError: true,
            credentials: { ...one.credentials, customHost: service.url },
          },
        },
        { answers: one.answers, deny: false, seen: {} },
      );
    const secret = one.header?.[1].replace("Bearer ", "") ?? "none";
    reply = [503, JSON.stringify({ message: `overloaded, key ${secret}` })];
    const { result } = await failing();
    assert.deepEqual([result.verdict, result.error?.message], [opens, "Request failed with status 503"]);
    assert.ok(!one.header || !JSON.stringify(result).includes(secret), "the result shows the key");
    const late = await ask(one, undefined, { more: { timeout: 30, failOnError: true } });
    assert.equal(late.result.verdict, opens);
    assert.match(late.result.error?.message ?? "", /timed out/);
  });
}

for (const [name, one] of listed.filter(([, { redacts }]) => redacts !== undefined)) {
  test(`${name} replaces what the service found`, async () => {
    const [found, changed] = one.redacts ?? assert.fail();
    const more = one.id === "acuvity.scan" ? {} : { redact: true };
    const { outcome, result } = await ask(one, found, { more });
    assert.deepEqual([result.verdict, result.transformed, result.error], [true, true, null]);
    assert.deepEqual(outcome.body, one.answers ? chatAnswer(changed) : chatRequest(changed));
  });
}

test("every check of a partner is in the table", () => {
  assert.ok(checks instanceof Map);
  const ids = new Set([...checks.values()].flatMap(({ id, partner }) => (partner === undefined ? [] : [id])));
  assert.deepEqual([...ids].toSorted(), [...new Set(partnerCases.map(({ id }) => id))].toSorted());
});

const f5 = partnerCases.find(({ id }) => id === "f5-guardrails.scan") ?? assert.fail();

test("a partner check without credentials does not decide", async () => {
  for (const credentials of [undefined, {}, { apiKey: "" }, { apiKey: 7 }, { apiKey: "a\nb" }]) {
    const check = { id: f5.id, parameters: { ...f5.parameters, ...(credentials && { credentials }) } };
    const { result, outcome } = await runWith(check, { answers: undefined, deny: false, seen: {} });
    assert.equal(result.verdict, true);
    assert.match(result.error?.message ?? "", /credentials/);
    assert.equal(outcome.isDenied, false);
    const strict = await runWith(check, { answers: undefined, deny: true, seen: {} });
    assert.equal(strict.outcome.isDenied, true);
  }
});

test("a partner check refuses hosts and ids that are no such thing", async () => {
  for (const [id, parameters, credentials] of [
    ["javelin.guardrails", {}, { apiKey: "k", domain: "evil.example/path?", application: "a" }],
    ["pangea.textGuard", {}, { apiKey: "k", domain: "a@evil.example" }],
    ["azure.contentSafety", {}, { contentSafety: { resourceName: "x.evil.example/", apiKey: "k" } }],
    ["bedrock.guard", { guardrailId: "g", guardrailVersion: "1" }, { awsRegion: "evil.example/" }],
    ["akto.scan", {}, { apiKey: "k", baseUrl: "ftp://evil.example" }],
  ] as const) {
    const { result } = await runWith(
      { id, parameters: { ...parameters, credentials } },
      { answers: undefined, deny: false, seen: {} },
    );
    assert.match(result.error?.message ?? "", /cannot be used/, id);
  }
  assert.notDeepEqual(problemsOf("aporia.validateProject", { projectID: "../admin" }), []);
  assert.notDeepEqual(problemsOf("bedrock.guard", { guardrailId: "a/../b", guardrailVersion: "1" }), []);
  assert.notDeepEqual(problemsOf("azure.pii", { apiVersion: "2024-11-01&x=y" }), []);
});

test("a partner check calls private hosts only if the operator trusts them", async () => {
  for (const customHost of ["http://10.0.0.1", "http://169.254.169.254", "http://localhost.internal"]) {
    const { result } = await runWith(
      { id: f5.id, parameters: { ...f5.parameters, credentials: { ...f5.credentials, customHost } } },
      { answers: undefined, deny: false, seen: {} },
    );
    assert.notEqual(result.error, null, customHost);
  }
});

test("an empty text is nothing to check, also for guardrails that deny", async () => {
  const { outcome, result } = await ask(f5, f5.fails, { deny: true, seen: { text: " " } });
  assert.deepEqual([outcome.isDenied, result.verdict], [false, true]);
  assert.match(result.error?.message ?? "", /no text/);
});

test("a finding in a tool cannot be replaced, so a guardrail that denies does", async () => {
  const request = {
    ...chatRequest(text),
    tools: [{ type: "function", function: { name: "f", description: "my secret" } }],
  };
  const redacted = { redactedInput: "##", result: { outcome: "redacted" } };
  const { outcome } = await ask(f5, redacted, { more: { redact: true }, deny: true, seen: { request } });
  assert.equal(outcome.isDenied, true);
  const mild = await ask(f5, redacted, { more: { redact: true }, seen: { request } });
  assert.deepEqual([mild.result.verdict, mild.result.transformed], [true, true]);
  assert.match(mild.result.error?.message ?? "", /outside the messages/);
});

test("parts of a message are checked one by one, and replaced one by one", async () => {
  const request = {
    model: "m",
    messages: [
      { role: "user", content: [{ type: "text", text: "one" }, { type: "image_url" }, { type: "text", text: "two" }] },
    ],
  };
  const before = service.requests.length;
  const { outcome } = await ask(
    f5,
    { redactedInput: "#", result: { outcome: "redacted" } },
    { more: { redact: true }, seen: { request } },
  );
  assert.equal(service.requests.length - before, 2);
  assert.deepEqual(
    JSON.parse(JSON.stringify(outcome.body)).messages[0].content.map((part: { text?: string }) => part.text ?? null),
    ["#", null, "#"],
  );
});

for (const [given, wanted] of [
  [-1, 5_000],
  ["abc", 5_000],
  [0, 5_000],
  [undefined, 5_000],
  ["250", 250],
  [1e9, 60_000],
] as const) {
  test(`a partner's timeout of ${given} is ${wanted} ms`, () => {
    const { before: hooks } = resolveHooks(
      readHooks({ input_guardrails: [{ "akto.scan": { timeout: given } }] }, checks),
      noSavedGuardrails,
      checks,
    );
    assert.equal((hooks[0]?.checks[0]?.parameters as { timeout?: number } | undefined)?.timeout, wanted); // as the check reads it
  });
}

const exa = partnerCases.find(({ id }) => id === "exa.online") ?? assert.fail();
const found = { results: [{ title: "T", url: "https://t.example", text: "fact" }] };
const added = "<web_search_context>\nT\nhttps://t.example\nfact\n</web_search_context>";

for (const [name, seen, wanted] of [
  [
    "a chat",
    { text },
    {
      ...chatRequest(text),
      messages: [
        { role: "system", content: added },
        { role: "user", content: text },
      ],
    },
  ],
  [
    "messages",
    {
      requestType: "messages",
      request: { model: "m", system: "Be kind.", messages: [{ role: "user", content: text }] },
    },
    { model: "m", system: `Be kind.\n\n${added}`, messages: [{ role: "user", content: text }] },
  ],
  [
    "responses",
    { requestType: "createModelResponse", request: { model: "m", input: text } },
    { model: "m", input: text, instructions: added },
  ],
  [
    "a completion",
    { requestType: "complete", request: { model: "m", prompt: text } },
    { model: "m", prompt: `${added}\n\n${text}` },
  ],
  [
    "Gemini",
    { requestType: "generateContent", request: { contents: [{ role: "user", parts: [{ text }] }] } },
    { contents: [{ role: "user", parts: [{ text }] }], systemInstruction: { parts: [{ text: added }] } },
  ],
] as const) {
  test(`a search adds what it found to ${name}`, async () => {
    const { outcome } = await ask(exa, found, { seen: seen as Seen }); // rows of the table above
    assert.deepEqual(outcome.body, wanted);
  });
}
