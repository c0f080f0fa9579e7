import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import { call, done } from "../../support/control.ts";
import {
  adminKey,
  createTestGateway,
  type ShownLog,
  type TestGateway,
  waitForLogs,
  workspaceKey,
} from "../../support/gateway.ts";
import { type RecordingUpstream, startRecordingUpstream } from "../../support/upstream.ts";

const key = workspaceKey;
/** Row of a copy, or of a request that was copied. */
type Row = ShownLog & { shadow_of?: string; shadowed?: boolean; attempts?: { label: string }[]; path: string };

let gateway: TestGateway;
let upstream: RecordingUpstream;
/** What the upstream was asked, in order: provider and body. */
let asked: { provider: string; body: Record<string, unknown>; headers: Record<string, unknown> }[] = [];
/** Responds to the calls of one provider. */
let answers: Record<string, (response: ServerResponse) => unknown> = {};
/** Share of the random numbers that the gateway draws. */
let drawn = 0;

const chunk = (content: string | undefined, finish: string | null) =>
  `data: ${JSON.stringify({
    id: "c",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta: content === undefined ? {} : { content }, finish_reason: finish }],
  })}\n\n`;

function respond(path: string, body: Record<string, unknown>, response: ServerResponse): unknown {
  const { model, stream } = body;
  if (stream === true) {
    response.setHeader("content-type", "text/event-stream");
    return response.end(`${chunk("Hi", null)}${chunk(undefined, "stop")}data: [DONE]\n\n`);
  }
  response.setHeader("content-type", "application/json");
  if (path.endsWith("/responses")) {
    const shown = { id: "resp_1", object: "response", created_at: 1, error: null, incomplete_details: null };
    return response.end(JSON.stringify({ ...shown, status: "completed", model, output: [] }));
  }
  if (path.endsWith("/embeddings")) {
    const data = [{ object: "embedding", index: 0, embedding: [1] }];
    return response.end(JSON.stringify({ object: "list", model, data, usage: { prompt_tokens: 1, total_tokens: 1 } }));
  }
  const choices = [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop", text: "Hi" }];
  const usage = { prompt_tokens: 1_000, completion_tokens: 1_000, total_tokens: 2_000 };
  return response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model, choices, usage }));
}

before(async () => {
  gateway = await createTestGateway({ random: () => drawn });
  upstream = await startRecordingUpstream(({ path, text, headers }, response) => {
    const [, provider = ""] = path.split("/");
    const body = JSON.parse(text);
    asked.push({ provider, body, headers });
    return (answers[provider] ?? ((to: ServerResponse) => respond(path, body, to)))(response);
  });
  for (const slug of ["main", "candidate"]) {
    const integration = {
      name: slug,
      slug: `${slug}-integration`,
      ai_provider_id: "openai",
      configurations: { custom_host: `${upstream.url}/${slug}/v1` },
      key: "fake-provider-credential",
      create_default_provider: false,
      labels: { region: slug === "main" ? "eu" : "us" },
    };
    await done(call(gateway, "POST /integrations", { key, body: integration }));
    const body = { name: slug, slug, integration_id: `${slug}-integration` };
    await done(call(gateway, "POST /providers", { key, body }));
  }
});
after(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => {
  asked = [];
  answers = {};
  drawn = 0;
});

const messages = [{ role: "user", content: "Hello" }];
const candidate = { provider: "@candidate", override_params: { model: "gpt-4o-mini" } };
const shadow = { target: candidate, share: 1 };
const config = { provider: "@main", shadow };

interface Asked {
  config?: object | string;
  body?: object;
  path?: string;
  headers?: Record<string, string>;
  key?: string;
  signal?: AbortSignal;
}

async function ask(given: Asked = {}) {
  const { path = "/v1/chat/completions", body = { messages }, headers = {} } = given;
  const trace = crypto.randomUUID();
  const chosen = given.config ?? config;
  const request = new Request(`http://gateway.test${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": given.key ?? key,
      "x-gateway-trace-id": trace,
      "x-gateway-config": typeof chosen === "string" ? chosen : JSON.stringify(chosen),
      ...headers,
    },
    body: JSON.stringify({ model: "gpt-4o", ...body }),
    ...(given.signal && { signal: given.signal }),
  });
  const response = await gateway.gateway.fetch(request);
  return { status: response.status, text: await response.text(), headers: response.headers, trace };
}

const rowsOf = async (trace: string, count: number, of = key): Promise<Row[]> =>
  (await waitForLogs(gateway, `trace_id=${trace}`, count, of)) as Row[]; // further members

/** The rows of a request and of its copy. */
async function pair(trace: string): Promise<{ original: Row; copy: Row }> {
  const rows = await rowsOf(trace, 2);
  const copy = rows.find((row) => row.shadow_of !== undefined) ?? assert.fail("no copy");
  const original = rows.find((row) => row.shadow_of === undefined) ?? assert.fail("no original");
  return { original, copy };
}

/** Asserts that a request was not copied: the copy of a later one would come after it. */
async function assertAlone(trace: string): Promise<void> {
  answers = {};
  const later = await ask();
  await pair(later.trace);
  const rows = await rowsOf(trace, 1);
  assert.deepEqual(
    rows.map((row) => [row.shadow_of, row.shadowed]),
    [[undefined, undefined]],
  );
}

test("a copy is sent after the response, with a separate row, and the caller sees nothing of it", async () => {
  const { status, text, headers, trace } = await ask({ headers: { "x-gateway-metadata": '{"team":"é"}' } });
  const { original, copy } = await pair(trace);
  assert.equal(status, 200);
  assert.deepEqual(
    asked.map(({ provider, body }) => [provider, body.model, body.messages]),
    [
      ["main", "gpt-4o", messages],
      ["candidate", "gpt-4o-mini", messages],
    ],
  );
  assert.ok(!`${text}${JSON.stringify([...headers])}`.includes("candidate"));
  assert.deepEqual([original.shadowed, copy.shadow_of], [true, original.id]);
  assert.deepEqual(
    [copy.model, copy.metadata.team, copy.attempts?.[0]?.label],
    ["gpt-4o-mini", "é", "config.shadow.target"],
  );
  assert.ok(original.cost !== null && copy.cost !== null && copy.cost > 0 && copy.cost < original.cost);
  const shown = await call<{ response: { body: { choices: unknown[] } } }>(gateway, `GET /logs/${copy.id}`, { key });
  assert.equal(shown.body.response.body.choices.length, 1);
});

const always = "time_of_generation_min=2020-01-01&time_of_generation_max=2100-01-01";

test("lists and analytics find copies, leave them out, and compare the targets", async () => {
  const named = {
    strategy: { mode: "loadbalance" },
    targets: [{ name: "old", provider: "@main" }],
    shadow: { target: { name: "new", ...candidate }, share: 1 },
  };
  const { trace } = await ask({ config: named });
  const { original, copy } = await pair(trace);
  const ids = async (query: string) => (await waitForLogs(gateway, query)).map(({ id }) => id);
  assert.deepEqual(await ids(`shadow_of=${original.id}`), [copy.id]);
  assert.deepEqual(await ids(`trace_id=${trace}&shadow=false`), [original.id]);
  assert.deepEqual(await ids(`trace_id=${trace}&shadow=true`), [copy.id]);
  assert.deepEqual(await ids(`trace_id=${trace}&variant=new`), [copy.id]);
  const { data } = await done(
    call<{ data: { variant: string; requests: number; cost: number }[] }>(
      gateway,
      `GET /analytics/groups/variant?trace_id=${trace}&${always}`,
      { key },
    ),
  );
  const byName = Object.fromEntries(data.map(({ variant, requests, cost }) => [variant, [requests, cost]]));
  assert.deepEqual(byName, { old: [1, original.cost], new: [1, copy.cost] });
  const refused = await call(gateway, "GET /logs?shadow=maybe", { key });
  assert.deepEqual([refused.status, JSON.stringify(refused.body).includes("must be true or false")], [400, true]);
});

test("the copy of a stream is sent once the stream has ended", async () => {
  const { promise: isRead, resolve: goOn } = Promise.withResolvers<void>();
  answers.main = async (response) => {
    response.setHeader("content-type", "text/event-stream");
    response.write(chunk("Hi", null));
    await isRead;
    response.end(`${chunk(undefined, "stop")}data: [DONE]\n\n`);
  };
  const request = new Request("http://gateway.test/v1/chat/completions", {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-gateway-api-key": key,
      "x-gateway-trace-id": "streamed-and-copied",
      "x-gateway-config": JSON.stringify(config),
    },
    body: JSON.stringify({ model: "gpt-4o", messages, stream: true }),
  });
  const response = await gateway.gateway.fetch(request);
  const reader = response.body?.getReader() ?? assert.fail();
  await reader.read();
  assert.deepEqual(
    asked.map(({ provider }) => provider),
    ["main"],
  );
  goOn();
  while (!(await reader.read()).done);
  const { copy } = await pair("streamed-and-copied");
  assert.deepEqual([copy.status, copy.stream, asked[1]?.body.stream], [200, true, true]);
});

for (const [name, path, body] of [
  ["messages", "/v1/messages", { messages, max_tokens: 9 }],
  ["completions", "/v1/completions", { prompt: "Hello" }],
  ["responses", "/v1/responses", { input: "Hello", store: true }],
  ["embeddings", "/v1/embeddings", { input: "Hello" }],
  [
    "Gemini's requests",
    "/v1beta/models/gpt-4o:generateContent",
    { contents: [{ role: "user", parts: [{ text: "Hi" }] }], model: undefined },
  ],
  [
    "Gemini's streams",
    "/v1beta/models/gpt-4o:streamGenerateContent?alt=sse",
    { contents: [{ role: "user", parts: [{ text: "Hi" }] }], model: undefined },
  ],
] as const) {
  test(`${name} are copied too`, async () => {
    const { status, text, trace } = await ask({ path, body });
    assert.equal(status, 200, text);
    const { original, copy } = await pair(trace);
    assert.deepEqual([copy.status, copy.operation, copy.stream], [200, original.operation, original.stream]);
    assert.deepEqual(
      asked.map(({ provider, body: sent }) => [provider, sent.model]),
      [
        ["main", "gpt-4o"],
        ["candidate", "gpt-4o-mini"],
      ],
    );
  });
}

test("headers that choose features are copied, and no credential is", async () => {
  const { trace } = await ask({
    config: {
      provider: "openai",
      api_key: "fake-own-credential",
      custom_host: `${upstream.url}/main/v1`,
      shadow: { target: { ...candidate, forward_headers: ["x-team", "authorization"] }, share: 1 },
    },
    headers: { authorization: "Bearer fake-callers-credential", "x-team": "a", "openai-beta": "b" },
  });
  const { copy } = await pair(trace);
  assert.equal(copy.status, 200);
  const { headers = {} } = asked.find(({ provider }) => provider === "candidate") ?? {};
  assert.deepEqual([headers["x-team"], headers.authorization], ["a", "Bearer fake-provider-credential"]);
  assert.ok(!JSON.stringify(headers).includes("fake-own-credential"));
});

const deny = [{ "default.contains": { operator: "none", words: ["Hello"] }, deny: true }];

for (const [title, given, answer] of [
  ["its guardrails refused", { config: { ...config, input_guardrails: deny } }, undefined],
  ["its body is refused", { body: { messages: "none" } }, undefined],
  ["its provider fails", {}, (response: ServerResponse) => response.writeHead(500).end('{"error":{"message":"no"}}')],
  [
    "it names MCP servers",
    {
      path: "/v1/responses",
      body: { input: "Hi", tools: [{ type: "mcp", server_label: "a", server_url: "https://mcp.example.com" }] },
    },
    undefined,
  ],
  ["its operation is not copied", { path: "/v1/messages/count_tokens", body: { messages } }, undefined],
] as const) {
  test(`a request is not copied where ${title}`, async () => {
    if (answer) answers.main = answer;
    const { trace } = await ask(given);
    assert.ok(asked.every(({ provider }) => provider === "main"));
    await assertAlone(trace);
  });
}

test("a request whose response comes from the cache is not copied, and copies do not fill the cache", async () => {
  const cached = { ...config, cache: { mode: "simple" } };
  const body = { messages: [{ role: "user", content: "Cached" }] };
  const first = await ask({ config: cached, body });
  await pair(first.trace);
  const second = await ask({ config: cached, body });
  assert.deepEqual([second.status, asked.length], [200, 2]);
  await assertAlone(second.trace);
  assert.equal(second.text, first.text);
});

test("a request whose client left is not copied", async () => {
  const abort = new AbortController();
  answers.main = () => abort.abort();
  const trace = await ask({ signal: abort.signal }).then(
    ({ trace: given }) => given,
    () => undefined,
  );
  if (trace !== undefined) await assertAlone(trace);
  assert.ok(asked.filter(({ provider }) => provider === "candidate").length <= 1);
});

test("the share decides which requests are copied", async () => {
  const half = { ...config, shadow: { target: candidate, share: 0.5 } };
  drawn = 0.5;
  const left = await ask({ config: half });
  drawn = 0.49;
  const copied = await ask({ config: half });
  await pair(copied.trace);
  await assertAlone(left.trace);
});

test("a copy that fails fails alone, and says so in its row", async () => {
  answers.candidate = (response) => response.writeHead(500).end('{"error":{"message":"no"}}');
  const { status, trace } = await ask();
  const { original, copy } = await pair(trace);
  assert.deepEqual([status, original.status, copy.status], [200, 200, 500]);
});

for (const [title, given, code] of [
  [
    "guardrails of the target",
    { ...config, shadow: { target: { ...candidate, input_guardrails: deny }, share: 1 } },
    undefined,
  ],
  ["labels that the config asks for", { ...config, require_labels: { region: "eu" } }, "no_target_with_labels"],
] as const) {
  test(`a copy is held to ${title} before it is sent`, async () => {
    // labels in a request are its caller's: only integrations count
    const { status, text, trace } = await ask({ config: given });
    assert.equal(status, 200, text);
    const { copy } = await pair(trace);
    assert.deepEqual(
      asked.map(({ provider }) => provider),
      ["main"],
    );
    assert.ok(copy.status >= 400);
    if (code) assert.equal(copy.error?.code, code);
  });
}

test("budgets refuse copies, rate limits of callers do not count them, and keys do not pay for them", async () => {
  const conditions = [{ key: "virtual_key", value: "candidate" }];
  const budget = { conditions, group_by: [{ key: "virtual_key" }], type: "cost", credit_limit: 0.000_001 };
  const everyone = [{ key: "organisation_id", value: "*" }];
  const rate = {
    conditions: everyone,
    group_by: [{ key: "organisation_id" }],
    type: "requests",
    unit: "rpm",
    value: 2,
  };
  const policies = [
    ["usage-limits", await done(call<{ id: string }>(gateway, "POST /policies/usage-limits", { key, body: budget }))],
    ["rate-limits", await done(call<{ id: string }>(gateway, "POST /policies/rate-limits", { key, body: rate }))],
  ] as const;
  const made = await done(
    call<{ key: string; id: string }>(gateway, "POST /api-keys/workspace/service", {
      key: adminKey,
      body: {
        name: "Limited",
        workspace_id: "default",
        scopes: ["completions.write"],
        rate_limits: [{ type: "requests", unit: "rpm", value: 2 }],
      },
    }),
  );
  const first = await ask({ key: made.key });
  const rows = [await pair(first.trace)];
  const second = await ask({ key: made.key });
  rows.push(await pair(second.trace));
  for (const [name, { id }] of policies) await done(call(gateway, `DELETE /policies/${name}/${id}`, { key }));
  assert.deepEqual([first.status, second.status], [200, 200]);
  assert.deepEqual(
    rows.map(({ copy }) => copy.status),
    [412, 412],
  );
});

test("prompts are copied as the chat that they make", async () => {
  const body = {
    name: "Shadowed",
    collection_id: (await done(call<{ id: string }>(gateway, "POST /collections", { key, body: { name: "Shadowed" } })))
      .id,
    string: JSON.stringify([{ role: "user", content: [{ type: "text", text: "Hello {{name}}" }] }]),
    parameters: { name: "" },
    model: "gpt-4o",
    virtual_key: "main",
  };
  const { slug } = await done(call<{ slug: string }>(gateway, "POST /prompts", { key, body }));
  const { status, text, trace } = await ask({
    path: `/v1/prompts/${slug}/completions`,
    body: { variables: { name: "Ann" }, model: undefined },
  });
  assert.equal(status, 200, text);
  const { copy } = await pair(trace);
  assert.deepEqual([copy.status, copy.operation], [200, "chat"]);
  assert.ok(JSON.stringify(asked.at(-1)?.body).includes("Hello Ann"));
});

test("saved configs with copies hide their credentials, and explain shows where copies go", async () => {
  const target = { provider: "openai", api_key: "fake-shadow-credential", override_params: { model: "gpt-4o-mini" } };
  const body = { name: "Shadowed", config: { provider: "@main", shadow: { target, share: 0.25 } } };
  const { slug } = await done(call<{ slug: string }>(gateway, "POST /configs", { key, body }));
  const shown = JSON.stringify((await call(gateway, `GET /configs/${slug}`, { key })).body);
  assert.ok(shown.includes("shadow") && !shown.includes("fake-shadow-credential"));
  const request = { body: { model: "gpt-4o", messages }, path: "/v1/chat/completions" };
  const explained = await done(
    call<{ attempts: { model: string }[]; shadow: { share: number; attempts: { provider: string; model: string }[] } }>(
      gateway,
      "POST /configs/explain",
      { key, body: { config: slug, request } },
    ),
  );
  const [attempt = assert.fail()] = explained.shadow.attempts;
  assert.deepEqual([explained.shadow.share, attempt.provider, attempt.model], [0.25, "openai", "gpt-4o-mini"]);
  assert.deepEqual(
    explained.attempts.map(({ model }) => model),
    ["gpt-4o"],
  );
});

for (const [given, path, message] of [
  [{ share: 1 }, "shadow.target", /must be given/],
  [{ target: candidate }, "shadow.share", /must be given/],
  [{ target: candidate, share: 0 }, "shadow.share", /must be above 0/],
  [{ target: candidate, share: 1.5 }, "shadow.share", /must be at most 1/],
  [{ target: candidate, share: "1" }, "shadow.share", /must be a number/],
  [{ target: { passthrough: true }, share: 1 }, "shadow.target.passthrough", /name a provider/],
  [{ target: { ...candidate, prompt_id: "a" }, share: 1 }, "shadow.target.prompt_id", /text of the original/],
  [{ target: { request_timeout: 1 }, share: 1 }, "shadow.target.provider", /must be given/],
  [{ target: { ...candidate, shadow }, share: 1 }, "shadow.target.shadow", /at the root/],
  [{ target: { ...candidate, custom_host: "http://169.254.169.254" }, share: 1 }, "shadow.target.custom_host", /./],
  [{ target: { ...candidate, input_guardrails: ["no-such-guardrail"] }, share: 1 }, "", /no-such-guardrail/],
  [{ target: candidate, share: 1, other: 1 }, "shadow.other", /./],
  ["always", "shadow", /./],
] as const) {
  test(`saving a config is refused with shadow ${JSON.stringify(given)}`, async () => {
    const body = { name: "Wrong", config: { provider: "@main", shadow: given } };
    const { status, body: answer } = await call(gateway, "POST /configs", { key, body });
    assert.equal(status, 400);
    assert.match(JSON.stringify(answer), message);
    assert.ok(JSON.stringify(answer).includes(path), JSON.stringify(answer));
  });
}

test("metrics count copies by what became of them", async () => {
  const { trace } = await ask();
  await pair(trace);
  const response = await gateway.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } });
  assert.match(await response.text(), /gateway_shadow_requests_total\{outcome="sent"\} [1-9]/);
});

test("a gateway that stops copies nothing any more", async () => {
  const stopping = await createTestGateway();
  const own = { provider: "echo", shadow: { target: { provider: "echo" }, share: 1 } };
  const headers = {
    "content-type": "application/json",
    "x-gateway-api-key": key,
    "x-gateway-trace-id": "stopping",
    "x-gateway-config": JSON.stringify(own),
  };
  await stopping.gateway.drain(100);
  const body = JSON.stringify({ model: "echo-1", messages });
  const response = await stopping.fetch("/v1/chat/completions", { method: "POST", headers, body });
  await response.text();
  const metrics = await stopping.fetch("/metrics", { headers: { "x-gateway-api-key": adminKey } });
  const text = await metrics.text();
  await stopping.close();
  if (response.status === 200) assert.match(text, /gateway_shadow_requests_total\{outcome="stopped"\} 1/);
  assert.ok(!text.includes('outcome="sent"'));
});
