import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  ApiError,
  type Content,
  FunctionCallingConfigMode,
  GoogleGenAI,
  type Part,
  ThinkingLevel,
  Type,
} from "@google/genai";
import { answeredObject, recordedText, type Scenario, startNativeUpstream } from "../support/native-upstreams.ts";
import { type GatewayProcess, startGatewayProcess } from "../support/process.ts";
import { type ReceivedRequest, type RecordingUpstream, startRecordingUpstream } from "../support/upstream.ts";

/** The smallest bytes that look like an image. */
const pixel = "iVBORw0KGgo=";

const tools = [
  {
    functionDeclarations: [
      {
        name: "tide_table",
        description: "Tides of a port",
        parameters: { type: Type.OBJECT, properties: { port: { type: Type.STRING } }, required: ["port"] },
      },
      { name: "wind_speed", description: "Wind now" },
    ],
  },
];
const opening = {
  type: Type.OBJECT,
  properties: { opens: { type: Type.STRING }, berths: { type: Type.INTEGER } },
  required: ["opens", "berths"],
};

/** A provider's protocol. */
interface NativeCase {
  provider: string;
  model: string;
  headers?: Record<string, string>;
  /** The image in a request. */
  image: unknown;
  /** The request field that enables reasoning. */
  thinking: Readonly<Record<string, unknown>>;
  /** Roles and kinds of the turns of a conversation with calls. */
  turns: readonly string[];
  /** Turns of a request to it in short. */
  toTurns(body: Record<string, unknown>): string[];
  /** Token counts, non-streaming, streamed, and streamed with reasoning: input, output, reasoning, total. */
  tokens: Readonly<Record<"whole" | "streamed" | "reasoning", readonly (number | undefined)[]>>;
  /** Its models report the amount of reasoning, not its text. */
  isSilent?: boolean;
  /** It counts tokens. */
  count?: { path: string; answer: object };
  embed?: { path: string; answer: object };
}

type Block = Record<string, unknown>;
const blocksOf = (value: unknown): Block[] => (Array.isArray(value) ? value : [{ text: value }]);
const kindOf = (block: Block): string =>
  String(block.type ?? Object.keys(block).find((name) => name !== "thoughtSignature" && name !== "id"));

/** Turns of protocols whose messages hold blocks. */
const toBlockTurns = ({ messages }: Record<string, unknown>) =>
  (messages as { role: string; content: unknown }[]).map(
    ({ role, content }) => `${role}: ${blocksOf(content).map(kindOf)}`,
  );

const awsHeaders = {
  "x-gateway-aws-access-key-id": "AKIAFAKEFAKEFAKE0000",
  "x-gateway-aws-secret-access-key": "fake-secret-access-key-for-tests",
  "x-gateway-aws-region": "eu-west-3",
};

const cases: readonly NativeCase[] = [
  {
    provider: "openai",
    model: "gpt-5.1",
    isSilent: true,
    image: { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } },
    thinking: { reasoning_effort: "low" },
    turns: ["user", "assistant: 2 calls", "tool of call_fxA1", "tool of call_fxA2"],
    toTurns: ({ messages }) =>
      (messages as { role: string; tool_calls?: unknown[]; tool_call_id?: string }[]).map(
        ({ role, tool_calls: calls, tool_call_id: id }) =>
          role + (calls ? `: ${calls.length} calls` : "") + (id ? ` of ${id}` : ""),
      ),
    tokens: { whole: [1240, 7, 64, 1311], streamed: [21, 9, undefined, 30], reasoning: [1240, 7, 64, 1311] },
    embed: {
      path: "/embeddings",
      answer: { data: [{ index: 0, embedding: [0.5, -1] }], usage: { prompt_tokens: 2, total_tokens: 2 } },
    },
  },
  {
    provider: "anthropic",
    model: "claude-sonnet-4-6",
    image: { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } },
    thinking: { thinking: { type: "adaptive" }, output_config: { effort: "low" } },
    turns: ["user: text", "assistant: tool_use,tool_use", "user: tool_result,tool_result"],
    toTurns: toBlockTurns,
    tokens: {
      whole: [2066, 11, undefined, 2077],
      streamed: [2450, 12, undefined, 2462],
      reasoning: [1231, 12, 84, 1327],
    },
    count: { path: "/messages/count_tokens", answer: { input_tokens: 11 } },
  },
  {
    provider: "google",
    model: "gemini-3-flash",
    image: { inlineData: { mimeType: "image/png", data: pixel } },
    thinking: { generationConfig: { thinkingConfig: { includeThoughts: true, thinkingLevel: "LOW" } } },
    // as they came, slice by slice
    turns: ["user: text", "model: functionCall", "model: functionCall", "user: functionResponse,functionResponse"],
    toTurns: ({ contents }) =>
      (contents as { role: string; parts: Block[] }[]).map(({ role, parts }) => `${role}: ${parts.map(kindOf)}`),
    tokens: { whole: [1290, 7, 96, 1393], streamed: [21, 9, 40, 70], reasoning: [31, 6, 84, 121] },
    count: { path: "/v1beta/models/gemini-3-flash:countTokens", answer: { totalTokens: 11 } },
    embed: {
      path: "/v1beta/models/gemini-3-flash:batchEmbedContents",
      answer: { embeddings: [{ values: [0.5, -1] }] },
    },
  },
  {
    provider: "bedrock",
    model: "anthropic.claude-sonnet-4-6-v1:0",
    headers: awsHeaders,
    image: { image: { format: "png", source: { bytes: pixel } } },
    thinking: {
      additionalModelRequestFields: { thinking: { type: "adaptive" }, output_config: { effort: "low" } },
    },
    turns: ["user: text", "assistant: toolUse,toolUse", "user: toolResult,toolResult"],
    toTurns: toBlockTurns,
    tokens: {
      whole: [2066, 11, undefined, 2077],
      streamed: [2066, 12, undefined, 2078],
      reasoning: [1231, 96, undefined, 1327],
    },
    count: { path: "/model/anthropic.claude-sonnet-4-6-v1%3A0/count-tokens", answer: { inputTokens: 11 } },
  },
];

let gateway: GatewayProcess;
let upstream: RecordingUpstream;
let other: RecordingUpstream;
/** The next response of the other upstream. */
let next: { status: number; body: string; type?: string } = { status: 200, body: "{}" };
before(async () => {
  gateway = await startGatewayProcess();
  upstream = await startNativeUpstream();
  other = await startRecordingUpstream((_, response) =>
    response.writeHead(next.status, { "content-type": next.type ?? "application/json" }).end(next.body),
  );
});
after(async () => {
  await gateway.stop("SIGKILL");
  await upstream.close();
  await other.close();
});

/** The SDK as its users set it up, with the address and headers changed. */
function clientOf({ provider, headers }: NativeCase, host: string, apiVersion = "v1beta"): GoogleGenAI {
  return new GoogleGenAI({
    apiKey: "fake-provider-key",
    httpOptions: {
      baseUrl: gateway.url,
      apiVersion,
      timeout: 30_000,
      retryOptions: { attempts: 1 },
      headers: {
        "x-gateway-api-key": gateway.workspaceKey,
        "x-gateway-provider": provider,
        "x-gateway-custom-host": host,
        ...headers,
      },
    },
  });
}

const at = (one: NativeCase, scenario: Scenario, apiVersion?: string) =>
  clientOf(one, `${upstream.url}/${one.provider}/${scenario}`, apiVersion);

/** The body of the one request that was sent. */
function takeBody(): Record<string, unknown> {
  const requests: ReceivedRequest[] = upstream.requests.splice(0);
  assert.equal(requests.length, 1);
  const [{ text = "", rawHeaders = [], path = "" } = {}] = requests;
  assert.doesNotMatch(rawHeaders.join("\n"), new RegExp(`^x-gateway-|${gateway.workspaceKey}`, "im"));
  assert.doesNotMatch(path, /key=/);
  return JSON.parse(text);
}

type Usage = {
  promptTokenCount?: number;
  candidatesTokenCount?: number;
  thoughtsTokenCount?: number;
  totalTokenCount?: number;
};
const toCounts = (usage: Usage | undefined) => [
  usage?.promptTokenCount,
  usage?.candidatesTokenCount,
  usage?.thoughtsTokenCount,
  usage?.totalTokenCount,
];

/** Text of the reasoning parts, or of the others. */
const textOf = (parts: readonly Part[], thought: boolean) =>
  parts
    .filter((part) => (part.thought === true) === thought)
    .map((part) => part.text ?? "")
    .join("");

/** The body in an error's message, where the SDK puts it. */
function bodyOf(error: unknown): { error: Record<string, unknown>; [name: string]: unknown } {
  assert.ok(error instanceof ApiError, String(error));
  return JSON.parse(error.message.slice(error.message.indexOf("{")));
}

const asked = "When does it open?";

const runs: Readonly<Record<string, (one: NativeCase) => Promise<void>>> = {
  async generateContent(one) {
    const answer = await at(one, "text").models.generateContent({
      model: one.model,
      contents: asked,
      config: { systemInstruction: "Be brief", temperature: 1, maxOutputTokens: 2_000 },
    });
    assert.equal(answer.text, recordedText);
    assert.equal(answer.candidates?.[0]?.finishReason, "STOP");
    assert.deepEqual(toCounts(answer.usageMetadata), one.tokens.whole);
    const body = takeBody();
    assert.ok(JSON.stringify(body).includes(asked));
    assert.ok(JSON.stringify(body).includes("Be brief"));
    // the path names the model there, and the form of the answer
    if (one.provider === "google") assert.deepEqual([body.model, body.stream], [undefined, undefined]);
  },
  async "generateContent of the version v1"(one) {
    const answer = await at(one, "text", "v1").models.generateContent({ model: one.model, contents: asked });
    assert.equal(answer.text, recordedText);
    takeBody();
  },
  async generateContentStream(one) {
    const stream = await at(one, "text").models.generateContentStream({ model: one.model, contents: asked });
    const slices = await Array.fromAsync(stream);
    const parts = slices.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
    assert.equal(textOf(parts, false), "Tide rises – 3 m ☂.");
    assert.ok(slices.length > 2, "the text came in one piece");
    const last = slices.at(-1);
    assert.equal(last?.candidates?.[0]?.finishReason, "STOP");
    assert.deepEqual(toCounts(last?.usageMetadata), one.tokens.streamed);
    takeBody();
  },
  async tools(one) {
    const answer = await at(one, "tools").models.generateContent({
      model: one.model,
      contents: asked,
      config: { tools, toolConfig: { functionCallingConfig: { mode: FunctionCallingConfigMode.AUTO } } },
    });
    const calls = answer.functionCalls ?? [];
    assert.deepEqual(
      calls.map(({ name, args }) => [name, args?.port]),
      [
        ["tide_table", "Brest"],
        ["wind_speed", calls[1]?.args?.port],
      ],
    );
    assert.equal(new Set(calls.map(({ id }) => id)).size, 2);
    assert.equal(answer.candidates?.[0]?.finishReason, "STOP");
    takeBody();
  },
  async "a conversation with calls in a stream and their results"(one) {
    const chat = at(one, "tools").chats.create({ model: one.model, config: { tools } });
    const calls = (await Array.fromAsync(await chat.sendMessageStream({ message: asked }))).flatMap(
      ({ functionCalls }) => functionCalls ?? [],
    );
    takeBody();
    assert.deepEqual(
      calls.map(({ name, args }) => ({ name, args })),
      [
        { name: "tide_table", args: { port: "Brest" } },
        { name: "wind_speed", args: {} },
      ],
    );
    const history: Content[] = chat.getHistory(true);
    assert.ok(history.length >= 2, "the answer is part of the history");
    const more = at(one, "text").chats.create({ model: one.model, history, config: { tools } });
    const message = calls.map(
      ({ id, name }): Part => ({
        functionResponse: {
          ...(id !== undefined && { id }),
          ...(name !== undefined && { name }),
          response: { level: 3 },
        },
      }),
    );
    const answer = await more.sendMessage({ message });
    assert.equal(answer.text, recordedText);
    const body = takeBody();
    assert.deepEqual(one.toTurns(body), one.turns);
    assert.ok(JSON.stringify(body).includes("level"));
    assert.equal(JSON.stringify(body).includes("CsoBFxSigCall=="), one.provider === "google");
  },
  async "an object of a schema"(one) {
    const answer = await at(one, "object").models.generateContent({
      model: one.model,
      contents: asked,
      config: { responseMimeType: "application/json", responseSchema: opening },
    });
    assert.deepEqual(JSON.parse(answer.text ?? ""), answeredObject);
    assert.match(JSON.stringify(takeBody()), /berths/);
  },
  async "a picture"(one) {
    const answer = await at(one, "text").models.generateContent({
      model: one.model,
      contents: [{ text: "What is this?" }, { inlineData: { mimeType: "image/png", data: pixel } }],
    });
    assert.equal(answer.text, recordedText);
    assert.ok(JSON.stringify(takeBody()).includes(JSON.stringify(one.image)));
  },
  async thoughts(one) {
    const config = { thinkingConfig: { includeThoughts: true, thinkingLevel: ThinkingLevel.LOW } };
    const chat = at(one, "reasoning").chats.create({ model: one.model, config });
    const slices = await Array.fromAsync(await chat.sendMessageStream({ message: asked }));
    const parts = slices.flatMap(({ candidates }) => candidates?.[0]?.content?.parts ?? []);
    assert.deepEqual(
      [textOf(parts, true), textOf(parts, false)],
      [one.isSilent ? "" : "Check opening hours.", "It opens at six."],
    );
    assert.deepEqual(toCounts(slices.at(-1)?.usageMetadata), one.tokens.reasoning);
    const body = takeBody();
    assert.deepEqual(Object.fromEntries(Object.keys(one.thinking).map((name) => [name, body[name]])), one.thinking);
    if (one.isSilent) return;
    // reasoning signatures return to their provider
    const history = chat.getHistory(true);
    const more = at(one, "text").chats.create({ model: one.model, history, config });
    await more.sendMessage({ message: "Sure?" });
    assert.match(JSON.stringify(takeBody()), one.provider === "google" ? /"thought":true/ : /FxSignature/);
  },
  async countTokens(one) {
    const { models } = clientOf(one, other.url);
    next = { status: 200, body: JSON.stringify(one.count?.answer ?? {}) };
    other.requests.length = 0;
    const counted = models.countTokens({ model: one.model, contents: asked });
    if (!one.count) {
      const error = await counted.catch((thrown: unknown) => thrown);
      assert.deepEqual([bodyOf(error).error.code, bodyOf(error).error.status], [400, "INVALID_ARGUMENT"]);
      return assert.equal(other.requests.length, 0);
    }
    assert.equal((await counted).totalTokens, 11);
    assert.equal(other.requests[0]?.path, one.count.path);
  },
  async embedContent(one) {
    if (!one.embed) return;
    const { models } = clientOf(one, other.url);
    next = { status: 200, body: JSON.stringify(one.embed.answer) };
    other.requests.length = 0;
    const { embeddings } = await models.embedContent({ model: one.model, contents: asked });
    assert.deepEqual(
      embeddings?.map(({ values }) => values),
      [[0.5, -1]],
    );
    assert.equal(other.requests[0]?.path, one.embed.path);
    assert.ok(other.requests[0]?.text.includes(asked));
  },
  async errors(one) {
    const { models } = clientOf(one, other.url);
    next = { status: 429, body: JSON.stringify({ error: { message: "Slow down", type: "rate_limit_error" } }) };
    for (const call of [models.generateContent.bind(models), models.generateContentStream.bind(models)]) {
      const error = await call({ model: one.model, contents: asked }).then(undefined, (thrown: unknown) => thrown);
      const { error: shown, provider, ...others } = bodyOf(error);
      assert.deepEqual(
        [Reflect.get(Object(error), "status"), shown.code, shown.status, provider],
        [429, 429, "RESOURCE_EXHAUSTED", one.provider],
      );
      assert.match(String(shown.message), /Slow down/);
      // clients of Google read members at the top before those of the error
      assert.deepEqual(others, {});
    }
  },
  async "a key that is none"(one) {
    const client = new GoogleGenAI({
      apiKey: "no-key-of-the-gateway",
      httpOptions: { baseUrl: gateway.url, retryOptions: { attempts: 1 } },
    });
    const error = await client.models.generateContent({ model: one.model, contents: asked }).catch((thrown) => thrown);
    assert.deepEqual([bodyOf(error).error.code, bodyOf(error).error.status], [401, "UNAUTHENTICATED"]);
  },
};

for (const one of cases) {
  for (const [name, run] of Object.entries(runs)) {
    test(`@google/genai with ${one.provider}: ${name}`, async () => {
      upstream.requests.length = 0;
      await run(one);
    });
  }
}

test("@google/genai: a stream that breaks off throws", async () => {
  const [, anthropic] = cases;
  assert.ok(anthropic);
  const client = clientOf(anthropic, other.url);
  const start = { type: "message_start", message: { id: "m", model: "c", content: [], usage: { input_tokens: 1 } } };
  const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };
  const half = { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Half" } };
  const failure = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };
  const body = [start, block, half, failure]
    .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
  next = { status: 200, body, type: "text/event-stream" };
  const stream = await client.models.generateContentStream({ model: anthropic.model, contents: asked });
  const slices: unknown[] = [];
  const error = await (async () => {
    for await (const slice of stream) slices.push(slice);
  })().catch((thrown: unknown) => thrown);
  assert.ok(slices.length <= 1);
  assert.deepEqual([bodyOf(error).error.code, bodyOf(error).error.status], [529, "UNAVAILABLE"]);
});

test("@google/genai: the key of the gateway alone, models listed and shown", async () => {
  const client = new GoogleGenAI({
    apiKey: gateway.workspaceKey,
    httpOptions: { baseUrl: gateway.url, headers: { "x-gateway-provider": "echo" }, retryOptions: { attempts: 1 } },
  });
  assert.equal((await client.models.generateContent({ model: "echo-1", contents: "Hello" })).text, "Hello");
  const models = await Array.fromAsync(await client.models.list());
  assert.deepEqual(
    models.map(({ name }) => name),
    ["models/echo-1"],
  );
  assert.equal((await client.models.get({ model: "echo-1" })).displayName, "echo-1");
});

test("models of the workspace have their token limits in models.list and models.get", async () => {
  const post = (path: string, body: object, method = "POST") =>
    fetch(`${gateway.url}/v1${path}`, {
      method,
      headers: { "x-gateway-api-key": gateway.workspaceKey, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  const integration = { name: "listed", slug: "listed-i", ai_provider_id: "google", key: "fake-provider-key" };
  await post("/integrations", { ...integration, create_default_provider: true, default_provider_slug: "listed" });
  const models = ["gemini-3.5-flash", "gemini-embedding-001", "gemini-unknown"].map((slug) => ({
    slug,
    enabled: true,
  }));
  await post("/integrations/listed-i/models", { models, allow_all_models: false }, "PUT");
  for (const apiVersion of ["v1beta", "v1"]) {
    const client = new GoogleGenAI({
      apiKey: gateway.workspaceKey,
      httpOptions: { baseUrl: gateway.url, apiVersion, timeout: 30_000, retryOptions: { attempts: 1 } },
    });
    const listed = await Array.fromAsync(await client.models.list({ config: { pageSize: 2 } }));
    assert.deepEqual(
      listed.map(({ name, inputTokenLimit, outputTokenLimit }) => [name, inputTokenLimit, outputTokenLimit]),
      [
        ["models/@listed/gemini-3.5-flash", 1_048_576, 65_536],
        ["models/@listed/gemini-embedding-001", 2_048, undefined],
        ["models/@listed/gemini-unknown", undefined, undefined],
      ],
    );
    const one = await client.models.get({ model: "models/@listed/gemini-3.5-flash" });
    assert.deepEqual([one.inputTokenLimit, one.thinking], [1_048_576, true]);
    assert.deepEqual(one.supportedActions, ["generateContent", "streamGenerateContent", "countTokens"]);
  }
});
