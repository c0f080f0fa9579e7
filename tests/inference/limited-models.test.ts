import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { Transport, TransportInit } from "../../src/lib/outbound.ts";
import { recordAnswers } from "../support/batches.ts";
import { call, done } from "../support/control.ts";
import {
  createTestGateway,
  type HeaderChanges,
  readJson,
  requestHeaders,
  type TestGateway,
  workspaceKey,
} from "../support/gateway.ts";
import { answerChat } from "../support/limited.ts";
import { handshakeHeaders } from "../support/websocket-upstream.ts";

/** What the upstream received. */
const received: { url: string; bytes: number }[] = [];

async function countBytes(body: TransportInit["body"]): Promise<number> {
  return body === undefined ? 0 : (await new Response(body as BodyInit).arrayBuffer()).byteLength;
}

const transport: Transport = {
  async send(url, { body }) {
    received.push({ url, bytes: await countBytes(body) });
    if (url.endsWith("/files")) return Response.json(recordAnswers.file);
    return url.endsWith("/transcriptions") ? Response.json({ text: "a" }) : answerChat();
  },
  openSocket(url) {
    received.push({ url, bytes: 0 });
    throw new TypeError("nobody is here");
  },
};

let gateway: TestGateway;
before(async () => {
  gateway = await createTestGateway({ transport, limits: { jsonBodyBytes: 2 ** 20, formBodyBytes: 2 * 2 ** 20 } });
  const integration = { name: "main", slug: "main", ai_provider_id: "openai", key: "sk-obviously-fake" };
  await done(call(gateway, "POST /integrations", { body: { ...integration, workspace_id: "default" } }));
});
after(() => gateway.close());

interface Policy {
  conditions?: object[];
  group_by?: object[];
  value?: number;
}

const named = { key: "model", value: "gpt-4o" };

/** Runs work while a rate policy holds; by default it refuses every request for gpt-4o. */
async function withPolicy(work: () => Promise<void>, policy: Policy = {}): Promise<void> {
  const body = {
    workspace_id: "default",
    conditions: [named],
    group_by: [{ key: "workspace_id" }],
    type: "requests",
    unit: "rpd",
    value: 0,
    ...policy,
  };
  const { id } = await done(call<{ id: string }>(gateway, "POST /policies/rate-limits", { body }));
  try {
    await work();
  } finally {
    await done(call(gateway, `DELETE /policies/rate-limits/${id}`));
  }
}

interface Asked {
  path?: string;
  body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
  headers?: HeaderChanges;
  method?: string;
}

/** Sends a request; returns its status, or the code of a 400, and whether the provider was called. */
async function ask({ path = "/v1/anything", body, headers = {}, method = "POST" }: Asked): Promise<string> {
  received.length = 0;
  const length = typeof body === "string" || body instanceof Uint8Array ? String(new Blob([body]).size) : null;
  const sent = requestHeaders({
    "x-gateway-provider": "openai",
    authorization: "Bearer provider-key",
    "content-length": length,
    ...headers,
  });
  const streamed = body instanceof ReadableStream ? ({ duplex: "half" } as const) : {};
  const response = await gateway.fetch(path, { method, headers: sent, ...(body && { body }), ...streamed });
  const text = await response.text();
  const called = received.length > 0 ? "called" : "not called";
  const code = response.status === 400 ? ` ${JSON.parse(text).error.code}` : "";
  return `${response.status}${code}, ${called}`;
}

const met = "429, not called";
const unclear = "400 model_unclear, not called";
const passed = "200, called";
const filler = "a".repeat(300_000);
const json = (value: object) => JSON.stringify(value);

function* pieces(text: string): Generator<Uint8Array> {
  for (let at = 0; at < text.length; at += 10_000) yield new TextEncoder().encode(text.slice(at, at + 10_000));
}

/** A body of unknown length. */
function stream(text: string): ReadableStream<Uint8Array> {
  const chunks = pieces(text);
  return new ReadableStream({
    pull(controller) {
      const { done: isOver, value } = chunks.next();
      if (isOver) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** A form whose first part is a file. */
function form(
  fields: readonly (readonly [name: string, value: string])[],
  file = filler,
): Pick<Asked, "body" | "headers"> {
  const head = (disposition: string) => `--b\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`;
  const parts = fields.map(([name, value]) => `${head(`name="${name}"`)}${value}\r\n`);
  const body = `${head('name="file"; filename="a.wav"')}${file}\r\n${parts.join("")}--b--\r\n`;
  return { body, headers: { "content-type": "multipart/form-data; boundary=b" } };
}

const forms = { path: "/v1/audio/transcriptions" };
const sse = { "x-gateway-provider": "openai", "content-type": null };

const cases: readonly (readonly [what: string, asked: Asked, outcome: string])[] = [
  ["a small body", { body: json({ model: "gpt-4o" }) }, met],
  ["a small body for another model", { body: json({ model: "gpt-4" }) }, passed],
  ["a body without a model", { body: json({ name: "Notes" }) }, passed],
  ["a body above 256 KiB", { body: json({ filler, model: "gpt-4o" }) }, met],
  ["a body above 256 KiB for another model", { body: json({ filler, model: "gpt-4" }) }, passed],
  ["a body of unknown length", { body: stream(json({ filler, model: "gpt-4o" })) }, met],
  ["a body of unknown length for another model", { body: stream(json({ model: "gpt-4", filler })) }, passed],
  ["a body too long to be read", { body: json({ filler: filler.repeat(4), model: "gpt-4" }) }, unclear],
  ["escapes in the name of the field", { body: '{"mod\\u0065l":"gpt-4o"}' }, met],
  ["escapes in the model", { body: '{"model":"gpt\\u002d4o"}' }, met],
  ["the field in other letters", { body: json({ Model: "gpt-4o" }) }, met],
  ["the model in other letters", { body: json({ model: " GPT-4o" }) }, met],
  ["the field twice", { body: '{"model":"gpt-4","model":"gpt-4o"}' }, unclear],
  ["the field twice, the other way round", { body: '{"model":"gpt-4o","model":"gpt-4"}' }, unclear],
  ["the field twice, once with escapes", { body: '{"model":"gpt-4","mod\\u0065l":"gpt-4o"}' }, unclear],
  ["the field twice in a long body", { body: `{"model":"gpt-4","filler":"${filler}","model":"gpt-4o"}` }, unclear],
  ["an object that repeats a field", { body: '{"session":{"model":"gpt-4o"},"session":{}}' }, unclear],
  ["a field further inside", { body: json({ session: { model: "gpt-4o" } }) }, met],
  ["a second choice of models", { body: json({ model: "gpt-4", models: ["gpt-4o"] }) }, met],
  ["a prompt that mentions the model", { body: json({ model: "gpt-4", input: '"model":"gpt-4o"' }) }, passed],
  [
    "a compressed body",
    { body: new Uint8Array(gzipSync(json({ model: "gpt-4" }))), headers: { "content-encoding": "gzip" } },
    unclear,
  ],
  ["a body that is not JSON", { body: "model=gpt-4", headers: { "content-type": "text/plain" } }, unclear],
  ["lines of JSON", { body: '{"model":"gpt-4"}\n{"model":"gpt-4o"}' }, unclear],
  ["JSON of another content type", { body: json({ model: "gpt-4o" }), headers: { "content-type": "text/plain" } }, met],
  ["an object as model", { body: json({ model: { of: "gpt-4o" } }) }, unclear],
  [
    "fields in the form of addresses",
    { body: "a=1&model=gpt%2D4o", headers: { "content-type": "application/x-www-form-urlencoded" } },
    met,
  ],
  ["a model in the path", { path: "/v1/proxy/v1beta/models/gpt-4o:generateContent", body: "{}" }, met],
  ["an encoded model in the path", { path: "/v1/proxy/v1beta/models/gpt%2D4o:generateContent", body: "{}" }, met],
  ["a model in the query", { path: "/v1/anything?model=gpt-4o", body: "{}" }, met],
  ["a model in a header", { body: "{}", headers: { "x-amzn-sagemaker-target-model": "gpt-4o" } }, met],
  ["no body", { method: "GET", headers: sse }, passed],
  [
    "a batch of a file",
    { path: "/v1/batches", body: json({ input_file_id: "file-1", endpoint: "/v1/responses" }) },
    unclear,
  ],
  ["an upload", { path: "/v1/files", ...form([["purpose", "batch"]]) }, passed],
  ["a field of a unified form", { ...forms, ...form([["model", "gpt-4o"]]) }, met],
  ["a field of a unified form for another model", { ...forms, ...form([["model", "gpt-4"]]) }, passed],
  ["a field of a forwarded form", form([["model", "gpt-4o"]]), met],
  ["a field of a short forwarded form", form([["model", "gpt-4o"]], "a"), met],
  ["a field of a forwarded form for another model", form([["model", "gpt-4"]]), passed],
  [
    "the second field of a form",
    form([
      ["model", "gpt-4"],
      ["model", "gpt-4o"],
    ]),
    met,
  ],
  ["a list in a form", form([["model[]", "gpt-4o"]]), met],
  ["JSON in a form", form([["session", json({ type: "realtime", model: "gpt-4o" })]]), met],
  ["JSON with repeated fields in a form", form([["session", '{"model":"a","model":"b"}']]), unclear],
  ["metadata of a form", form([["metadata[model]", "gpt-4o"]]), passed],
  ["a form that is cut off", { ...form([["model", "gpt-4"]]), body: "--b\r\ncontent-disposition: form-data" }, unclear],
  ["a form too long to be read", form([["model", "gpt-4"]], filler.repeat(8)), unclear],
  ["a form without a boundary", { ...form([]), headers: { "content-type": "multipart/form-data" } }, unclear],
  [
    "no further model of a unified request that another answers",
    {
      path: "/v1/chat/completions",
      body: json({ model: "gpt-4", models: ["gpt-4o"], messages: [{ role: "user", content: "Hi" }] }),
    },
    passed,
  ],
  [
    "a further model of a unified request whose turn comes",
    {
      path: "/v1/chat/completions",
      body: json({ models: ["gpt-4o"], messages: [{ role: "user", content: "Hi" }] }),
    },
    met,
  ],
];

for (const [what, asked, outcome] of cases) {
  test(`a limit on a model meets ${what}: ${outcome}`, () =>
    withPolicy(async () => {
      assert.equal(await ask(asked), outcome);
    }));
}

test("a session that names the model in its query meets the limit before it is opened", () =>
  withPolicy(async () => {
    const credentials = { "x-gateway-api-key": workspaceKey, authorization: "Bearer provider-key" };
    const headers = { ...handshakeHeaders, ...credentials, "x-gateway-provider": "openai" };
    const upgrade = () => assert.fail();
    const open = (query: string) => gateway.fetch(`/v1/realtime?${query}`, { headers }, { upgrade });
    received.length = 0;
    assert.equal((await open("model=gpt-4o")).status, 429);
    assert.equal((await open("model=gpt-4&deployment=gpt-4o")).status, 429);
    assert.equal(received.length, 0);
    await open("model=gpt-4");
    assert.equal(received.length, 1);
  }));

test("requests whose model is unclear pass where the limit cannot be theirs", async () => {
  const compressed = cases.find(([what]) => what === "a compressed body")?.[1] ?? assert.fail();
  const long = { body: json({ filler: filler.repeat(4), model: "gpt-4" }) };
  for (const policy of [
    { conditions: [named, { key: "provider", value: "anthropic" }] },
    { conditions: [{ key: "provider", value: "openai" }], value: 1_000 },
  ]) {
    await withPolicy(async () => {
      assert.deepEqual([await ask(compressed), await ask(long)], [passed, passed]);
    }, policy);
  }
  await withPolicy(async () => assert.equal(await ask(compressed), unclear), {
    conditions: [{ key: "provider", value: "openai" }],
    group_by: [{ key: "model" }],
    value: 1_000,
  });
});

test("a long body that was read reaches the provider complete", () =>
  withPolicy(async () => {
    const body = json({ filler, model: "gpt-4" });
    await ask({ body: stream(body) });
    assert.equal(received[0]?.bytes, body.length);
  }));

test("an exclusion does not hold for a request that also names another model", () =>
  withPolicy(
    async () => {
      assert.equal(await ask({ body: json({ model: "gpt-4o-mini" }) }), passed);
      assert.equal(await ask({ body: json({ model: "gpt-4o-mini", models: ["gpt-4o"] }) }), met);
    },
    { conditions: [{ key: "model", value: "gpt-4o*", excludes: "gpt-4o-mini" }] },
  ));

test("all spellings of a model share a counter, and so does what a config makes of a request", () =>
  withPolicy(
    async () => {
      const chat = (model: string, headers: HeaderChanges = {}) =>
        ask({
          path: "/v1/chat/completions",
          body: json({ model, messages: [{ role: "user", content: "Hi" }] }),
          headers,
        });
      const { data } = await done(call<{ data: { slug: string }[] }>(gateway, "GET /providers?workspace_id=default"));
      const provider = `@${data[0]?.slug}`;
      const stored: HeaderChanges = { "x-gateway-provider": provider, authorization: null };
      assert.equal(await chat("gpt-4o", stored), passed);
      assert.equal(await chat(`${provider}/gpt-4o`, { ...stored, "x-gateway-provider": null }), met);
      assert.equal(await chat("GPT-4o", stored), met);
      assert.equal(await chat("gpt-4o"), met);
      const config = json({ provider: "openai", api_key: "sk-obviously-fake", override_params: { model: "gpt-4o" } });
      assert.equal(await chat("another", { "x-gateway-config": config }), met);
      assert.equal(await chat("another", stored), passed);
    },
    { conditions: [{ key: "provider", value: "openai" }], group_by: [{ key: "model" }], value: 1 },
  ));

test("the refusal of an unclear model says what to send", () =>
  withPolicy(async () => {
    const headers = requestHeaders({
      "x-gateway-provider": "openai",
      authorization: "Bearer provider-key",
      "content-length": "3",
    });
    const response = await gateway.fetch("/v1/anything", { method: "POST", headers, body: "{,}" });
    const { error } = await readJson<{ error: { param: string; message: string } }>(response);
    assert.equal(error.param, "model");
    assert.match(error.message, /JSON body without duplicate fields/);
  }));
