import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { jsonFixture } from "../conformance/suite.ts";
import { call, done } from "../support/control.ts";
import {
  createTestGateway,
  type HeaderChanges,
  readJson,
  requestHeaders,
  type TestGateway,
  waitForLog,
  workspaceKey,
} from "../support/gateway.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

interface Answer {
  model: string;
  provider: string;
  answers: Record<string, { type: string; [member: string]: unknown }>;
  usage?: { input_tokens: number; output_tokens: number };
  error: { code: string; param: string | null; message: string };
}

/** What a chat upstream is asked, in either format. */
interface Asked {
  logprobs?: boolean;
  temperature?: number;
  max_tokens?: number;
  response_format?: { json_schema: { schema: { properties: Record<string, { required: string[] }> } } };
  messages: { role: string; content: string }[];
}

const recordedRequest = jsonFixture("typesafe", "decisions-request.json");
const recorded = jsonFixture("typesafe", "decisions.json");
const body = { ...Object(recordedRequest), model: "chat-1" };

/** Probabilities every upstream gives the outcomes of a question, by the number of outcomes. */
const shares: Readonly<Record<number, readonly number[]>> = { 2: [3, 1], 3: [0.2, 0.5, 0.3] };
const sharesOf = (count: number) => shares[count] ?? Array.from({ length: count }, (_, index) => index);

const choice = (content: string, logprobs: unknown = null) => ({
  index: 0,
  message: { role: "assistant", content },
  logprobs,
});
const usage = { prompt_tokens: 100, completion_tokens: 7 };
const chat = (one: object) => ({ id: "c", object: "chat.completion", model: "chat-1-0613", choices: [one], usage });

/** Labels of the options a prompt lists. */
const labelsIn = (content: string) => [...content.matchAll(/^([A-Z]{1,2}): /gm)].map(([, label = ""]) => label);

function answerLabel({ messages }: Asked): object {
  const labels = labelsIn(messages[1]?.content ?? "");
  const weights = sharesOf(labels.length);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const top_logprobs = labels.map((token, index) => ({ token, logprob: Math.log((weights[index] ?? 0) / total) }));
  return chat(choice(labels[0] ?? "", { content: [{ ...top_logprobs[0], top_logprobs }] }));
}

/** Numbers for the questions of a structured request, except those left out. */
function stated({ messages }: Asked, leftOut: readonly string[] = []): string {
  const parts = (messages.at(-1)?.content ?? "").split(/^Question (q\d+):$/m).slice(1);
  const made: Record<string, object> = {};
  for (let index = 0; index < parts.length; index += 2) {
    const [key = "", text = ""] = parts.slice(index);
    const labels = labelsIn(text);
    const weights = sharesOf(labels.length);
    if (leftOut.some((words) => text.includes(words))) continue;
    made[key] = Object.fromEntries(labels.map((label, at) => [label, weights[at]]));
  }
  return JSON.stringify(made);
}

const refused = (param: string) => ({ error: { message: `Unsupported parameter: '${param}'`, param } });

/** Upstreams by the first part of their path. */
const upstreams: Readonly<Record<string, (asked: Asked, earlier: number) => [status: number, answer: unknown]>> = {
  labels: (asked) => [200, asked.logprobs ? answerLabel(asked) : chat(choice(stated(asked)))],
  /** Does not accept log-probabilities. */
  refusing: (asked) => (asked.logprobs ? [400, refused("logprobs")] : [200, chat(choice(stated(asked)))]),
  /** Accepts them and returns none. */
  silent: (asked) => [200, chat(choice(asked.logprobs ? "A" : stated(asked)))],
  strict: (asked) => {
    if (asked.response_format) return [422, { error: { message: "json_schema is not supported by this model" } }];
    if (asked.temperature !== undefined) return [400, refused("temperature")];
    return [200, chat(choice(stated(asked)))];
  },
  /** Omits a question the first time. */
  forgetful: (asked, earlier) => [200, chat(choice(earlier === 0 ? stated(asked, ["queue"]) : stated(asked)))],
  rambling: () => [200, chat(choice("I would rather not say."))],
  odd: () => [200, { object: "something else" }],
  busy: () => [429, { error: { message: "slow down" } }],
  anthropic: ({ messages }) => [
    200,
    {
      id: "m",
      type: "message",
      role: "assistant",
      model: "claude-1",
      stop_reason: "end_turn",
      content: [{ type: "text", text: stated({ messages }) }],
      usage: { input_tokens: 90, output_tokens: 9 },
    },
  ],
  native: () => [200, recorded],
  partial: () => [200, { model: "jev-1", answers: { refund: { type: "noul", noul: 1 } } }],
  malformed: () => [422, { detail: "state is too long" }],
};

let upstream: RecordingUpstream;
let gateway: TestGateway;
before(async () => {
  upstream = await startRecordingUpstream(({ path, text }, response) => {
    const [, kind = ""] = path.split("/");
    const earlier = upstream.requests.filter((one) => one.path === path).length - 1;
    const [status, answer] = upstreams[kind]?.(JSON.parse(text), earlier) ?? [404, {}];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  gateway = await createTestGateway();
});
after(async () => {
  await gateway.close();
  await upstream.close();
});

const at = (kind: string, provider = "openai", more: HeaderChanges = {}): HeaderChanges => ({
  "x-gateway-provider": provider,
  "x-gateway-custom-host": `${upstream.url}/${kind}/v1`,
  authorization: "Bearer provider-key",
  ...more,
});

/** Decides, and returns what the upstream was asked for it. */
async function decide(headers: HeaderChanges, sent: unknown = body, trace = crypto.randomUUID()) {
  upstream.requests.length = 0;
  const init = {
    method: "POST",
    headers: requestHeaders({ "x-gateway-trace-id": trace, ...headers }),
    body: JSON.stringify(sent),
  };
  const response = await gateway.fetch("/v1/decisions", init);
  const answer = await readJson<Answer>(response);
  const asked: Asked[] = upstream.requests.map(({ text }: ReceivedRequest) => JSON.parse(text));
  return { status: response.status, headers: response.headers, answer, asked, trace };
}

const near = (found: unknown, wanted: number) => Math.abs(Number(found) - wanted) < 1e-9;
const confidenceOf = (...list: readonly number[]) =>
  1 + list.reduce((sum, p) => sum + p * Math.log(p), 0) / Math.log(list.length);

/** Requires the decisions that follow from the probabilities. */
function requireAnswers({ refund, queue, anger, ...others }: Answer["answers"]): void {
  assert.deepEqual(others, {});
  assert.deepEqual([refund?.type, Object.keys(refund ?? {}).length], ["noul", 2]);
  assert.ok(near(refund?.noul, 0.75));
  const confidence = confidenceOf(0.2, 0.5, 0.3);
  assert.deepEqual([queue?.type, queue?.choice], ["choice", "shipping"]);
  assert.deepEqual(
    Object.entries(queue?.probabilities ?? {}).map(([name, p]) => [name, Math.round(p * 1e9) / 1e9]),
    Object.entries({ billing: 0.2, shipping: 0.5, other: 0.3 }),
  );
  assert.ok(near(queue?.confidence, confidence));
  assert.ok(near(anger?.score, 1.1) && near(anger?.confidence, confidence));
  assert.deepEqual(anger?.legend, { "0": "calm", "1": "annoyed", "2": "furious" });
  assert.deepEqual(Object.keys(anger?.probabilities ?? {}), ["0", "1", "2"]);
}

test("POST /v1/decisions with log-probabilities makes one call per question, sums usage and logs one row", async () => {
  const { status, answer, asked, trace, headers } = await decide(at("labels"));
  assert.equal(status, 200, JSON.stringify(answer));
  requireAnswers(answer.answers);
  assert.deepEqual(Object.keys(answer.answers), ["refund", "queue", "anger"]);
  assert.deepEqual([answer.model, answer.provider], ["chat-1-0613", "openai"]);
  assert.deepEqual(answer.usage, { input_tokens: 300, output_tokens: 21 });
  assert.equal(asked.length, 3);
  assert.ok(asked.every((one) => one.logprobs === true && one.max_tokens === 1));
  assert.equal(headers.get("x-gateway-provider"), "openai");
  assert.equal(headers.get("x-gateway-dropped-params"), null);
  const row = await waitForLog(gateway, trace);
  assert.deepEqual([row.operation, row.upstream_calls, row.usage?.total_tokens], ["decide", 3, 321]);
  assert.deepEqual(row.response.body, answer);
});

test("POST /v1/decisions asks the model to state decisions with more outcomes than candidates", async () => {
  const levels = Array.from({ length: 21 }, (_, index) => `level ${index}`);
  const questions = {
    ...body.questions,
    depth: { type: "score", instructions: "How deep?", criteria: levels },
  };
  const { answer, asked } = await decide(at("labels"), { ...body, questions });
  const { depth, ...rest } = answer.answers;
  requireAnswers(rest);
  assert.deepEqual([asked.length, asked.filter(({ logprobs }) => logprobs).length], [4, 3]);
  const weights = sharesOf(21);
  assert.ok(near(depth?.score, weights.reduce((sum, weight) => sum + weight * weight, 0) / 210));
});

for (const kind of ["refusing", "silent"]) {
  test(`decisions of a model without log-probabilities (${kind}) are stated in one call`, async () => {
    const { answer, asked } = await decide(at(kind));
    requireAnswers(answer.answers);
    assert.equal(asked.filter(({ response_format }) => response_format).length, 1);
  });
}

test("POST /v1/decisions asks providers without log-probabilities to state decisions at once", async () => {
  const { answer, asked } = await decide(at("labels", "groq"));
  requireAnswers(answer.answers);
  assert.equal(asked.length, 1);
  assert.deepEqual(answer.usage, { input_tokens: 100, output_tokens: 7 });
});

test("POST /v1/decisions works with a model in another shape", async () => {
  const { status, answer, asked } = await decide(at("anthropic", "anthropic"));
  assert.equal(status, 200, JSON.stringify(answer));
  requireAnswers(answer.answers);
  assert.deepEqual([answer.provider, answer.usage], ["anthropic", { input_tokens: 90, output_tokens: 9 }]);
  assert.equal(asked.length, 1);
});

test("POST /v1/decisions repeats chats without fields the model does not support", async () => {
  const { answer, asked } = await decide(at("strict", "groq"));
  requireAnswers(answer.answers);
  assert.equal(asked.length, 3);
});

test("POST /v1/decisions repeats chats without a response format the provider refuses", async () => {
  const { answer, asked } = await decide(at("labels", "lemonfox-ai"));
  requireAnswers(answer.answers);
  assert.deepEqual([asked.length, asked[0]?.response_format], [1, undefined]);
});

for (const [beta, provider, byLabel] of [
  ["decisions-structured", "openai", 0],
  ["decisions-logprobs", "groq-like", 3],
  ["something, decisions-structured", "openai", 0],
] as const) {
  test(`x-gateway-beta: ${beta} chooses the way`, async () => {
    const slug = provider === "groq-like" ? "together-ai" : provider;
    const { answer, asked } = await decide(at("labels", slug, { "x-gateway-beta": beta }));
    requireAnswers(answer.answers);
    assert.equal(asked.filter(({ logprobs }) => logprobs).length, byLabel);
  });
}

test("POST /v1/decisions with decisions-logprobs fails, naming a question, if the model returns no log-probabilities twice", async () => {
  const questions = { refund: body.questions.refund };
  const { status, answer, asked } = await decide(at("silent", "openai", { "x-gateway-beta": "decisions-logprobs" }), {
    ...body,
    questions,
  });
  assert.deepEqual([status, answer.error.param, asked.length], [502, "questions.refund", 2]);
});

test("POST /v1/decisions retries only the questions the model omitted", async () => {
  const { answer, asked } = await decide(at("forgetful", "groq"));
  requireAnswers(answer.answers);
  const asking = asked.map(({ response_format: format }) => Object.keys(format?.json_schema.schema.properties ?? {}));
  assert.deepEqual(asking, [["q1", "q2", "q3"], ["q1"]]);
  assert.deepEqual(answer.usage, { input_tokens: 200, output_tokens: 14 });
});

for (const kind of ["rambling", "odd"]) {
  test(`decisions nobody can read (${kind}) fail with 502 naming the question, after one repeat`, async () => {
    const { status, answer, asked, trace } = await decide(at(kind, "groq"));
    assert.deepEqual([status, answer.error.code, answer.error.param], [502, "upstream_bad_answer", "questions.refund"]);
    assert.match(answer.error.message, /"refund"/);
    assert.equal(asked.length, 2);
    const row = await waitForLog(gateway, trace);
    assert.deepEqual([row.status, row.upstream_calls], [502, 2]);
  });
}

test("POST /v1/decisions preserves the status of an upstream's refusal, and retries like other requests", async () => {
  const config = {
    retry: { attempts: 1, on_status_codes: [429] },
    provider: "groq",
    api_key: "k",
    custom_host: `${upstream.url}/busy/v1`,
  };
  const headers = { "x-gateway-provider": null, "x-gateway-config": JSON.stringify(config) };
  const { status, asked } = await decide(headers);
  assert.deepEqual([status, asked.length], [429, 2]);
});

test("POST /v1/decisions falls back from a failing target to a native one, and from it to a chat", async () => {
  const target = (provider: string, kind: string) => ({
    provider,
    api_key: "k",
    custom_host: `${upstream.url}/${kind}/v1`,
  });
  const targets = [target("groq", "rambling"), target("typesafe", "malformed"), target("groq", "labels")];
  const headers = {
    "x-gateway-provider": null,
    "x-gateway-config": JSON.stringify({ strategy: { mode: "fallback" }, targets }),
  };
  const { status, answer, headers: sent, trace } = await decide(headers);
  assert.equal(status, 200);
  requireAnswers(answer.answers);
  assert.equal(sent.get("x-gateway-last-used-option-index"), "config.targets[2]");
  assert.equal((await waitForLog(gateway, trace)).upstream_calls, 4);
});

for (const [provider, host, path, model] of [
  ["typesafe", "/native/v1", "/native/v1/systemone", "jev-latest"],
  ["typesafe", "/native", "/native/v1/systemone", "jev-1.13.0"],
  ["openrouter", "/native/api", "/native/api/alpha/decisions", "typesafe/jev-1.13"],
  ["openrouter", "/native/api", "/native/api/alpha/decisions", "~typesafe/jev-latest"],
] as const) {
  test(`POST /v1/decisions forwards native decisions of ${provider} (${model}) unchanged`, async () => {
    const sent = { ...body, model, provider: { order: ["a"] } };
    const custom = { "x-gateway-custom-host": upstream.url + host };
    const { status, answer, asked, trace } = await decide(at("native", provider, custom), sent);
    assert.equal(status, 200, JSON.stringify(answer));
    assert.deepEqual(answer, { ...Object(recorded), provider });
    assert.deepEqual([upstream.requests[0]?.path, asked], [path, [sent]]);
    const row = await waitForLog(gateway, trace);
    assert.deepEqual([row.usage?.input_tokens, row.upstream_calls], [212, 1]);
  });
}

test("POST /v1/decisions makes decisions of chats for another maker's model at openrouter", async () => {
  const { answer } = await decide(at("labels", "openrouter"), { ...body, model: "openai/gpt-4o" });
  requireAnswers(answer.answers);
  assert.equal(upstream.requests[0]?.path, "/labels/v1/chat/completions");
});

test("POST /v1/decisions at stored providers is native by the model of the reference", async () => {
  const configurations = { custom_host: `${upstream.url}/native/api` };
  const integration = { name: "or", slug: "or-integration", ai_provider_id: "openrouter", key: "provider-key-12345" };
  const options = { key: workspaceKey };
  const made = { ...integration, configurations, create_default_provider: false };
  await done(call(gateway, "POST /integrations", { ...options, body: made }));
  const provider = { name: "or", slug: "or", integration_id: "or-integration" };
  await done(call(gateway, "POST /providers", { ...options, body: provider }));
  const none = { "x-gateway-provider": null };
  const { status, asked } = await decide(none, { ...body, model: "@or/typesafe/jev-1.13" });
  assert.deepEqual([status, upstream.requests[0]?.path], [200, "/native/api/alpha/decisions"]);
  assert.deepEqual(asked, [{ ...body, model: "typesafe/jev-1.13" }]);
  await decide(none, { ...body, model: "@or/openai/gpt-4o" });
  assert.equal(upstream.requests[0]?.path, "/native/api/v1/chat/completions");
});

test("POST /v1/decisions can use another path of a custom host", async () => {
  const more = { "x-gateway-typesafe-path": "/decisions" };
  await decide(at("native", "typesafe", more));
  assert.equal(upstream.requests[0]?.path, "/native/v1/decisions");
  const odd = await decide(at("native", "typesafe", { "x-gateway-typesafe-path": "/../admin" }));
  assert.deepEqual([odd.status, odd.asked.length], [400, 0]);
});

test("POST /v1/decisions fails naming the question a native provider omitted", async () => {
  const { status, answer } = await decide(at("partial", "typesafe"));
  assert.deepEqual([status, answer.error.code, answer.error.param], [502, "upstream_bad_answer", "questions.queue"]);
});

test("POST /v1/decisions preserves the status of a native refusal", async () => {
  const { status, answer } = await decide(at("malformed", "typesafe"));
  assert.equal(status, 422);
  assert.match(answer.error.message, /state is too long/);
});

test("POST /v1/decisions reports the fields a chat has no use for", async () => {
  const { headers, trace } = await decide(at("labels", "groq"), { ...body, provider: { order: [] }, stream: false });
  assert.equal(headers.get("x-gateway-dropped-params"), "provider");
  assert.equal((await waitForLog(gateway, trace)).status, 200);
});

const question = { type: "noul", instructions: "Is it so?" };
for (const [name, changes, param] of [
  ["no model", { model: undefined }, "model"],
  ["no state", { state: undefined }, "state"],
  ["a state that is a number", { state: 1 }, "state"],
  ["no questions", { questions: undefined }, "questions"],
  ["an empty object of questions", { questions: {} }, "questions"],
  ["a question of no type", { questions: { a: { instructions: "?" } } }, "questions.a.type"],
  ["a question of an unknown type", { questions: { a: { ...question, type: "rank" } } }, "questions.a.type"],
  ["a question without instructions", { questions: { a: { type: "noul" } } }, "questions.a.instructions"],
  [
    "a choice of one option",
    { questions: { a: { ...question, type: "choice", criteria: ["b"] } } },
    "questions.a.criteria",
  ],
  ["a score without levels", { questions: { a: { ...question, type: "score" } } }, "questions.a.criteria"],
  ["a stream", { stream: true }, "stream"],
] as const) {
  test(`POST /v1/decisions refuses ${name}`, async () => {
    const { status, answer, asked } = await decide(at("labels"), { ...body, ...changes });
    assert.deepEqual([status, answer.error.param, asked.length], [400, param, 0], JSON.stringify(answer.error));
  });
}

test("POST /v1/decisions is refused at a provider without chats", async () => {
  const { status, answer } = await decide(at("labels", "jina"));
  assert.deepEqual([status, answer.error.code], [400, "unsupported_endpoint"]);
});

test("POST /v1/decisions accepts questions with any name", async () => {
  const sent = JSON.stringify({ ...body, questions: { q: question } }).replace('"q"', '"__proto__"');
  const { status, answer } = await decide(at("labels", "groq"), JSON.parse(sent));
  assert.equal(status, 200, JSON.stringify(answer));
  assert.deepEqual(Object.keys(answer.answers), ["__proto__"]);
});
