import { gzipSync } from "node:zlib";
import * as v from "valibot";
import { checkJsonSteps } from "../../packages/json-schema/src/check.ts";
import { JsonSchemaError, readJsonSchema } from "../../packages/json-schema/src/schema.ts";
import { compilePattern, PatternSum } from "../../packages/patterns/src/pattern.ts";
import { FrameReader, SocketProtocolError } from "../../packages/websocket-frames/src/frames.ts";
import { toListOptions } from "../../src/admin/scim/filter.ts";
import { readKeySet } from "../../src/auth/jwks.ts";
import { readClaims, readHeader } from "../../src/auth/jwt-claims.ts";
import { createDocumentFetcher } from "../../src/control/fetch-document.ts";
import { GatewayError } from "../../src/errors.ts";
import { readKeys } from "../../src/guardrails/jwt-keys.ts";
import { readExportRequest } from "../../src/inference/ingest/otlp-protobuf.ts";
import { findChunks } from "../../src/inference/vectors/chunks.ts";
import { readFilters } from "../../src/inference/vectors/filters.ts";
import { createFileBudget, readText, UnreadableFile } from "../../src/inference/vectors/read-text.ts";
import { AddressRefusedError, createAddressGuard } from "../../src/lib/address.ts";
import { audioSeconds } from "../../src/lib/audio-duration.ts";
import { AwsEventBlocks, DamagedMessageError } from "../../src/lib/aws-events.ts";
import { toBase64Url } from "../../src/lib/base64.ts";
import { BodyError, inflate } from "../../src/lib/body.ts";
import { Budget, ExcessError } from "../../src/lib/budget.ts";
import { readCookie } from "../../src/lib/cookies.ts";
import { readDataUrl } from "../../src/lib/data-url.ts";
import { parseExactBytes } from "../../src/lib/exact-numbers.ts";
import { findJsonExcess, hasRepeatedName, isObject, parseJson } from "../../src/lib/json.ts";
import { JsonLineBlocks } from "../../src/lib/json-lines.ts";
import { readBaggage, readMetadata, readTraceparent } from "../../src/lib/metadata.ts";
import { boundaryOf, FormError, readForm } from "../../src/lib/multipart.ts";
import { MultipartError, readMultipart } from "../../src/lib/multipart-stream.ts";
import { maxConfigPatterns } from "../../src/lib/pattern-limits.ts";
import { bytesField, numberField, ProtobufError } from "../../src/lib/protobuf.ts";
import { EventBlocks, EventTooLongError, eventsWithin, readEvents, readFirstEventOf } from "../../src/lib/sse.ts";
import { assembleSteps } from "../../src/logs/assemble.ts";
import { readAnswerMessage } from "../../src/mcp/answer.ts";
import { readMessage } from "../../src/mcp/message.ts";
import { createGuardedFetch } from "../../src/mcp/registry/oauth/guarded-fetch.ts";
import { createUpstreamDiscovery } from "../../src/mcp/registry/oauth/upstream-discovery.ts";
import { readUpstreamSettings } from "../../src/mcp/registry/oauth/upstream-settings.ts";
import { DocumentReader } from "../../src/mcp/registry/openapi/schemas.ts";
import { readOpenapiTools } from "../../src/mcp/registry/openapi/tools.ts";
import { readStreamEvents } from "../../src/mcp/sse-fields.ts";
import { readPromptTemplate, renderPrompt } from "../../src/prompts/prompt.ts";
import { createRenderBudget, maxRenderedLength } from "../../src/prompts/render.ts";
import { ClientMetadata } from "../../src/schemas/oauth.ts";
import { mcpServer } from "../mcp/support.ts";
import { message as awsMessage } from "../support/aws-message.ts";
import { fittingCases } from "./fitting-cases.ts";
import type { Grammar } from "./mutations.ts";
import { operatorCases } from "./operator-cases.ts";

/** A parser of bytes from others. */
export interface ParserCase extends Grammar {
  readonly name: string;
  /** Bytes that it may make of an input of any size. */
  readonly madeBytes?: number;
  /** A command, a start or a separate thread reads it: nobody waits for its loop. */
  readonly isAlone?: true;
  /** Reads an input; the budget that counted, where the parser takes one. */
  parse(input: Uint8Array): Promise<Budget | undefined>;
  /** Errors by which it refuses input. */
  readonly refusals: readonly (abstract new (
    ...parts: never[]
  ) => Error)[];
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const bytesOf = (text: string) => encoder.encode(text);
const all = (...inputs: readonly string[]) => inputs.map(bytesOf);
const megabyte = 2 ** 20;
const ofCaller = { source: "caller", what: "the input" } as const;
const ofUpstream = { source: "upstream", what: "the input" } as const;
const jsonTokens = all(
  "{",
  "}",
  "[",
  "]",
  '"',
  ",",
  ":",
  "[]",
  "{}",
  '{"a":',
  "[[",
  "null",
  "1e999",
  "-0",
  "\\u0000",
  "12345678901234567890",
);

/** A body in chunks, as a network would bring it. */
function inChunks(bytes: Uint8Array, size: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
}

const guard = createAddressGuard({ trustedHosts: [] });
/** An authorization server that answers everything with the input. */
const answering = (bytes: Uint8Array, status = 200, headers: Record<string, string> = {}) =>
  createGuardedFetch({
    outbound: async () => new Response(Uint8Array.from(bytes), { status, headers }),
    guard,
  });

const attribute = [...bytesField(1, "k"), ...bytesField(2, bytesField(1, "v"))];
const nestedValue = bytesField(5, bytesField(1, bytesField(6, bytesField(1, attribute))));
const span = [
  ...bytesField(
    1,
    Array.from({ length: 16 }, (_, index) => index),
  ),
  ...bytesField(
    2,
    Array.from({ length: 8 }, (_, index) => index),
  ),
  ...bytesField(5, "name"),
  ...bytesField(9, attribute),
  ...bytesField(9, [...bytesField(1, "n"), ...bytesField(2, nestedValue)]),
  ...bytesField(11, [...bytesField(2, "event"), ...bytesField(3, attribute)]),
];
const traces = bytesField(1, [
  ...bytesField(1, bytesField(1, attribute)),
  ...bytesField(2, [...bytesField(2, span), ...bytesField(2, span)]),
]);

const rpc = '{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}';
const notification = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}';
const chunk =
  'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi","tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}\n\n';
const gemini = 'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}]}}],"usageMetadata":{"a":1}}\n\n';
const claude =
  'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":1}}}\n\n' +
  'event: message_delta\ndata: {"type":"message_delta","delta":{},"usage":{"output_tokens":2}}\n\n';
const eventTokens = all(
  "data: ",
  "data\n",
  "event: x\n",
  "id: 1\n",
  "retry: 1\n",
  ":\n\n",
  "\n\n",
  "\r\r",
  "\r\n\r\n",
  "\ufeff",
  ": ",
  "data: {}\n\n",
);

const form =
  '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n' +
  '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\nHello\r\n--b--\r\n';
const formTokens = all(
  "--b",
  "\r\n--b",
  "\r\n",
  "--b--",
  ' ; name="',
  '"',
  "\\",
  "content-disposition: form-data",
  "; filename*=utf-8''%41",
  "\r\n\r\n",
  "--b\r\n\r\n\r\n",
);

const clientDocument = JSON.stringify({
  client_id: "https://client.example/id",
  client_name: "Client",
  redirect_uris: ["https://client.example/back", "http://localhost/back", "app.example:/back"],
  grant_types: ["authorization_code"],
  token_endpoint_auth_method: "none",
  jwks_uri: "https://client.example/keys",
});
const keySet = JSON.stringify({
  keys: [
    { kty: "RSA", kid: "a", alg: "RS256", use: "sig", n: "x".repeat(342), e: "AQAB" },
    { kty: "EC", kid: "b", crv: "P-256", x: "x".repeat(43), y: "y".repeat(43) },
    { kty: "OKP", kid: "c", crv: "Ed25519", x: "x".repeat(43) },
  ],
});
const discovery = JSON.stringify({
  resource: "https://server.example/mcp",
  authorization_servers: ["https://server.example"],
  issuer: "https://server.example",
  authorization_endpoint: "https://server.example/authorize",
  token_endpoint: "https://server.example/token",
  code_challenge_methods_supported: ["S256"],
  scopes_supported: ["a", "b"],
});
const challenge = 'Bearer realm="r", error="invalid_token", resource_metadata="https://server.example/m", scope="a b"';

const openapiFields = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`f${index}`, { type: "string" }]));
const openapi = JSON.stringify({
  openapi: "3.1.0",
  info: { title: "API", version: "1", description: "An API" },
  servers: [{ url: "https://api.example/{v}", variables: { v: { default: "v1" } } }],
  paths: {
    "/a/{id}": {
      parameters: [{ $ref: "#/components/parameters/id" }],
      get: {
        operationId: "readA",
        parameters: [{ name: "q", in: "query", schema: { $ref: "#/components/schemas/a" } }],
      },
      post: { requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/a" } } } } },
    },
    "/b": { $ref: "#/paths/~1a~1{id}" },
  },
  components: {
    parameters: { id: { name: "id", in: "path", required: true, schema: { type: "string", nullable: true } } },
    schemas: { a: { type: "object", properties: { ...openapiFields, a: { $ref: "#/components/schemas/a" } } } },
  },
});

const schema = JSON.stringify({
  type: "object",
  $defs: { a: { type: "array", items: { $ref: "#/$defs/a" }, uniqueItems: true } },
  properties: { a: { $ref: "#/$defs/a" }, b: { type: "string", pattern: "^(a|b)+$", format: "email" } },
  patternProperties: { "^x": { anyOf: [{ type: "string" }, { minimum: 2 }] } },
  unevaluatedProperties: false,
});
const schemaValue = { a: [[[], [[]]], []], b: "abab", x1: 3, x2: ["q"] };

const part = (value: unknown) => toBase64Url(bytesOf(JSON.stringify(value)));
const token = `${part({ alg: "RS256", kid: "a", typ: "JWT" })}.${part({ sub: "u", iss: "https://i.example", exp: 1, scope: "a b" })}.c2ln`;

const awsSeeds = [
  awsMessage({ ":message-type": "event", ":event-type": "chunk" }, '{"bytes":"e30="}'),
  awsMessage({ ":message-type": "exception", ":exception-type": "throttlingException" }, '{"message":"slow"}'),
].map((bytes) => Uint8Array.from(bytes));

const zeros = (count: number) => new Array<number>(count).fill(0);
const letters = (text: string) => [...bytesOf(text)];
/** The header of a frame of MP3 with 128 kbit/s. */
const audioFrame = Uint8Array.from([0xff, 0xfb, 0x90, 0x00]);
const audioSeeds = [
  [
    ...letters("RIFF"),
    ...zeros(4),
    ...letters("WAVEfmt "),
    16,
    ...zeros(11),
    1,
    ...zeros(7),
    ...letters("data"),
    ...zeros(9),
  ],
  [...letters("fLaC"), ...zeros(14), 10, 196, 66, 240, 0, 0, 1, 0],
  [...letters("OggS"), ...zeros(22), 1, 19, ...letters("OpusHead"), ...zeros(12), ...letters("OggS"), ...zeros(24)],
  [...letters("ID3"), ...zeros(7), ...audioFrame, ...zeros(32), ...letters("Xing"), 0, 0, 0, 1, 0, 0, 1, 0],
].map((bytes) => Uint8Array.from(bytes));

/** Frames of a server: a text, a fragmented message, a ping, and a close. */
const frameSeeds = [
  [0x81, 2, 0x48, 0x69],
  [0x01, 1, 0x48, 0x80, 1, 0x69],
  [0x89, 0],
  [0x88, 2, 3, 232],
  [0x82, 126, 0, 200, ...Array.from({ length: 200 }, () => 7)],
].map((bytes) => Uint8Array.from(bytes));

const prompt = JSON.stringify([
  { role: "system", content: "{{#a}}{{b}}{{/a}}{{^c}}none{{/c}}" },
  { role: "user", content: "{{> p}} {{{d.e}}} {{! note }}" },
]);
const list = Array.from({ length: 300 }, (_, index) => ({ b: index, a: [1, 2, 3], l: ["x", "y"] }));
const promptValues = { a: list, l: list, b: "text", d: { e: list.slice(0, 20) } };

async function readTraces(input: Uint8Array): Promise<Budget> {
  const budget = new Budget(ofCaller);
  await budget.run(readExportRequest(input, budget, 2_048));
  return budget;
}

async function readMcpEvents(input: Uint8Array): Promise<Budget> {
  const budget = new Budget({ ...ofUpstream, unit: "messages", values: 10_000 });
  const blocks = new EventBlocks();
  const text = decoder.decode(blocks.push(input) ?? blocks.takeRest());
  for await (const { data } of eventsWithin(text, budget, readStreamEvents)) {
    const read = readAnswerMessage(bytesOf(data ?? ""));
    if (read) readMessage(read.value);
  }
  return budget;
}

async function renderTemplate(input: Uint8Array): Promise<Budget> {
  const budget = createRenderBudget();
  const parsed = readPromptTemplate(decoder.decode(input));
  if ("problem" in parsed) throw budget.excess(parsed.problem);
  const partials = new Map([["p", ["[", { kind: "variable", path: ["b"] } as const, "]"]]]);
  const rendered = await budget.run(renderPrompt(parsed, { variables: promptValues, partials }, budget));
  if ("problem" in rendered) throw budget.excess(rendered.problem);
  return budget;
}

async function checkSchema(input: Uint8Array): Promise<Budget> {
  const budget = new Budget({ ...ofCaller, bytes: megabyte });
  const read = readJsonSchema(budget.json(input));
  await budget.run(budget.count(checkJsonSteps(read, schemaValue)));
  return budget;
}

const patternText = `${"abc ".repeat(2_000)}${"a".repeat(2_000)}b`;

async function searchPattern(input: Uint8Array): Promise<Budget> {
  const budget = new Budget(ofCaller);
  const pattern = compilePattern(decoder.decode(input), new PatternSum(maxConfigPatterns));
  if (typeof pattern === "string") throw budget.excess(pattern);
  await budget.run(budget.count(pattern.find(patternText)));
  return budget;
}

async function readOpenapi(input: Uint8Array): Promise<Budget> {
  const document = new Budget({ ...ofCaller, bytes: 4 * megabyte }).json(input);
  const budget = new Budget({ ...ofCaller, bytes: 4 * megabyte });
  if (!isObject(document)) return budget;
  await budget.run(readOpenapiTools(new DocumentReader(document, budget), document));
  return budget;
}

const jsonRefusals = [ExcessError, SyntaxError, TypeError];

/** Parsers of bytes from others. Those with a budget say how long they hold the loop; others are bounded by their input. */
export const parserCases: readonly ParserCase[] = [
  ...fittingCases,
  ...operatorCases,
  {
    name: "Protocol Buffers",
    seeds: [Uint8Array.from(traces), Uint8Array.from(bytesField(1, bytesField(2, bytesField(2, span))))],
    tokens: [[10, 0], [18, 0], [74, 0], [10, 128, 128, 128, 128, 1], numberField(99, 1), [255, 255], span].map(
      (bytes) => Uint8Array.from(bytes),
    ),
    maxBytes: 8 * megabyte,
    parse: readTraces,
    refusals: [ExcessError, ProtobufError],
  },
  {
    name: "reported streams",
    seeds: all(chunk, gemini, claude, `${chunk}${chunk}data: [DONE]\n\n`),
    tokens: [...eventTokens, ...jsonTokens, ...all(chunk, gemini, claude)],
    maxBytes: 4 * megabyte,
    async parse(input) {
      const budget = new Budget(ofCaller);
      await budget.run(assembleSteps(decoder.decode(input), budget));
      return budget;
    },
    refusals: [ExcessError],
  },
  {
    name: "events of MCP servers",
    seeds: all(`data: ${rpc}\n\n`, `id: 1\nevent: message\ndata: ${notification}\n\ndata: ${rpc}\n\n`),
    tokens: [...eventTokens, ...jsonTokens, ...all(`data: ${notification}\n\n`)],
    maxBytes: 4 * megabyte,
    parse: readMcpEvents,
    refusals: [ExcessError, EventTooLongError, GatewayError],
  },
  {
    name: "events of providers",
    seeds: all(chunk, claude, `: ping\n\n${chunk}data: [DONE]\n\n`),
    tokens: [...eventTokens, ...all(chunk)],
    maxBytes: megabyte,
    async parse(input) {
      const blocks = new EventBlocks();
      for (let at = 0; at < input.length; at += 64 * 1024) {
        const block = blocks.push(input.slice(at, at + 64 * 1024));
        if (!block) continue;
        readFirstEventOf(block);
        for (const { data } of readEvents(decoder.decode(block))) parseJson(data);
        await undefined;
      }
      blocks.takeRest();
      return undefined;
    },
    refusals: [EventTooLongError],
  },
  {
    name: "forms",
    seeds: all(form),
    tokens: formTokens,
    maxBytes: 4 * megabyte,
    async parse(input) {
      boundaryOf(`multipart/form-data; boundary=${decoder.decode(input.subarray(0, 200))}`);
      readForm(input, "b");
      return undefined;
    },
    refusals: [FormError],
  },
  {
    name: "forms in pieces",
    seeds: all(form),
    tokens: formTokens,
    maxBytes: 4 * megabyte,
    async parse(input) {
      for await (const { body } of readMultipart(inChunks(input, 16 * 1024), "b")) for await (const _piece of body);
      return undefined;
    },
    refusals: [MultipartError, FormError],
  },
  {
    name: "templates",
    madeBytes: maxRenderedLength,
    seeds: all(prompt, "{{#a}}{{#l}}{{b}}{{/l}}{{/a}}", "Hello {{b}}, {{d.e}}!"),
    tokens: all(
      "{{#a}}",
      "{{/a}}",
      "{{b}}",
      "{{#l}}",
      "{{/l}}",
      "{{> p}}",
      "{{",
      "}}",
      "{{{",
      "}}}",
      "{{^c}}",
      "{{!",
      "\n",
      "{{.}}",
      '"',
    ),
    maxBytes: megabyte,
    parse: renderTemplate,
    refusals: [ExcessError],
  },
  {
    name: "OpenAPI documents",
    isJson: true,
    seeds: all(openapi),
    tokens: [
      ...jsonTokens,
      ...all(
        '"$ref":"#/components/schemas/a"',
        '"/c":{"$ref":"#/paths/~1b"},',
        '"allOf":[{"$ref":"#/components/schemas/a"}],',
        '{"$ref":"#/components/parameters/id"},',
        '"f":{"$ref":"#/components/schemas/a"},',
      ),
    ],
    maxBytes: megabyte,
    parse: readOpenapi,
    refusals: jsonRefusals,
  },
  {
    name: "client documents",
    isJson: true,
    seeds: all(clientDocument),
    tokens: [...jsonTokens, ...all('"redirect_uris":["', "https://a.example/", "app.example:/", "?x=")],
    maxBytes: 256 * 1024,
    async parse(input) {
      const outbound = async () => new Response(Uint8Array.from(input));
      const fetchDocument = createDocumentFetcher({ outbound, guard });
      const read = await fetchDocument("https://client.example/id", { maxBytes: 256 * 1024, timeoutMs: 5_000 });
      v.safeParse(ClientMetadata, read.document);
      return undefined;
    },
    refusals: [...jsonRefusals, BodyError, AddressRefusedError],
  },
  {
    name: "key sets",
    isJson: true,
    seeds: all(keySet),
    tokens: [...jsonTokens, ...all('{"kty":"RSA","kid":"', '"n":"', "A".repeat(400))],
    maxBytes: 256 * 1024,
    async parse(input) {
      const budget = new Budget({ ...ofUpstream, values: 20_000, keys: 1_000, depth: 16 });
      const document = budget.json(input);
      readKeySet(document);
      readKeys(document);
      return budget;
    },
    refusals: jsonRefusals,
  },
  {
    name: "discovery documents",
    isJson: true,
    seeds: all(discovery),
    tokens: [...jsonTokens, ...all('"https://server.example/', '"scopes_supported":["a"]', "http://[::1]/")],
    maxBytes: 256 * 1024,
    async parse(input) {
      const server = mcpServer("https://server.example/mcp", { authType: "oauth_auto" });
      const clock = { now: () => 0, monotonic: () => 0 };
      const find = createUpstreamDiscovery({ fetch: answering(input), guard, clock });
      await find.find(server, await readUpstreamSettings(server)).catch(unwrap);
      return undefined;
    },
    refusals: [...jsonRefusals, BodyError, AddressRefusedError],
  },
  {
    name: "challenges",
    seeds: all(challenge),
    tokens: all('="', '",', ", ", "Bearer ", "resource_metadata=", "\\", " ", "a=b,"),
    maxBytes: 16 * 1024,
    async parse(input) {
      const header = decoder.decode(input).replace(/[^\x20-\x7e]/g, "");
      const server = mcpServer("https://server.example/mcp", { authType: "oauth_auto" });
      const clock = { now: () => 0, monotonic: () => 0 };
      const fetch = answering(bytesOf(discovery), 401, { "www-authenticate": header });
      await createUpstreamDiscovery({ fetch, guard, clock })
        .find(server, await readUpstreamSettings(server))
        .catch(unwrap);
      return undefined;
    },
    refusals: [...jsonRefusals, BodyError, AddressRefusedError],
  },
  {
    name: "SCIM filters",
    seeds: all(
      'userName eq "ada"',
      'emails[type eq "work"].value eq "a@b.example" and active eq true',
      'urn:ietf:params:scim:schemas:core:2.0:User:userName eq "a"',
    ),
    tokens: all(" eq ", " and ", '"', "\\", "[", "]", "urn:", ":", "a.", "userName", " ", "true"),
    maxBytes: 16 * 1024,
    async parse(input) {
      toListOptions(decoder.decode(input), { username: () => ({}), active: () => ({}) });
      return undefined;
    },
    refusals: [GatewayError],
  },
  {
    name: "messages of AWS",
    seeds: awsSeeds,
    tokens: [...awsSeeds, Uint8Array.from([0, 0, 0, 16, 0, 0, 0, 0]), Uint8Array.from([7, 255, 255])],
    maxBytes: megabyte,
    async parse(input) {
      const blocks = new AwsEventBlocks();
      for (let at = 0; at < input.length; at += 64 * 1024) {
        blocks.push(input.slice(at, at + 64 * 1024));
        await undefined;
      }
      blocks.takeRest();
      return undefined;
    },
    refusals: [DamagedMessageError, EventTooLongError],
  },
  {
    name: "audio files",
    seeds: audioSeeds,
    tokens: [...all("RIFF", "WAVE", "fmt ", "data", "OggS", "OpusHead", "ID3", "Xing", "fLaC"), audioFrame],
    maxBytes: 4 * megabyte,
    async parse(input) {
      audioSeconds(input);
      return undefined;
    },
    refusals: [],
  },
  {
    name: "frames of WebSockets",
    seeds: frameSeeds,
    tokens: [...frameSeeds, Uint8Array.from([0x00, 0]), Uint8Array.from([0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0])],
    maxBytes: megabyte,
    async parse(input) {
      const reader = new FrameReader({ expectsMask: false, maxMessageBytes: 8 * megabyte });
      for (let at = 0; at < input.length; at += 64 * 1024) {
        for (const _event of reader.push(input.slice(at, at + 64 * 1024)));
        await new Promise<void>((resolve) => setTimeout(resolve, 0));
      }
      return undefined;
    },
    refusals: [SocketProtocolError],
  },
  {
    name: "JSON",
    isJson: true,
    seeds: all(rpc, clientDocument, '{"n":12345678901234567890,"f":1e400,"s":"\\ud83d\\ude00","a":[[],{},null,true]}'),
    tokens: jsonTokens,
    maxBytes: 2 * megabyte,
    async parse(input) {
      if (findJsonExcess(input) !== undefined) throw new SyntaxError("excess");
      const { value, write } = parseExactBytes(input);
      write(value);
      hasRepeatedName(decoder.decode(input));
      return undefined;
    },
    refusals: [SyntaxError, TypeError],
  },
  {
    name: "JSON lines",
    seeds: all('{"a":1}\n{"b":2}\n', "data: {}\n\n[DONE]\n"),
    tokens: all("\n", "{", "data:", "}\n", "[DONE]\n"),
    maxBytes: megabyte,
    async parse(input) {
      const blocks = new JsonLineBlocks();
      for (let at = 0; at < input.length; at += 64 * 1024) {
        blocks.push(input.slice(at, at + 64 * 1024));
        await undefined;
      }
      blocks.takeRest();
      return undefined;
    },
    refusals: [EventTooLongError],
  },
  {
    name: "JSON schemas",
    isJson: true,
    seeds: all(schema),
    tokens: [
      ...jsonTokens,
      ...all('"$ref":"#"', '"anyOf":[{"$ref":"#"}]', '"allOf":[{', '"not":{', '"pattern":"(a+)+"', '"items":{'),
    ],
    maxBytes: 512 * 1024,
    parse: checkSchema,
    refusals: [...jsonRefusals, JsonSchemaError],
  },
  {
    name: "patterns",
    seeds: all("^(([a-z]+)\\s?)+$", "(a|b)*c{2,5}[^x-z]", "\\bfoo(?:bar)?\\d{3}$", "(?i)a.*?b"),
    tokens: all("(", ")", "[", "]", "{1000}", "*", "+", "?", "|", "\\p{L}", ".*", "(?:", "[^a]", "{2,}", "\\b"),
    maxBytes: 4 * 1024,
    parse: searchPattern,
    refusals: [ExcessError],
  },
  {
    name: "compressed bodies",
    madeBytes: 20 * megabyte,
    seeds: [gzipSync("x".repeat(100_000)), gzipSync(rpc)].map((bytes) => Uint8Array.from(bytes)),
    tokens: [Uint8Array.from([0x1f, 0x8b, 8, 0]), Uint8Array.from([0, 0, 255, 255])],
    maxBytes: 256 * 1024,
    async parse(input) {
      const endless = Number.POSITIVE_INFINITY;
      await inflate(input, "gzip", { bytes: 20 * megabyte, totalMs: endless, silenceMs: endless });
      return undefined;
    },
    refusals: [BodyError],
  },
  {
    name: "tokens",
    seeds: all(token),
    tokens: all(".", "..", "e30", "eyJ", "=", "-_"),
    maxBytes: 16 * 1024,
    async parse(input) {
      const text = decoder.decode(input);
      readHeader(text);
      readClaims(text);
      return undefined;
    },
    refusals: [GatewayError],
  },
  {
    name: "headers with a structure",
    seeds: all(
      "a=1,b=2;p=3",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "{'a':'b'}",
      "a=b; c=d",
      "data:text/plain;base64,SGk=",
    ),
    tokens: all(",", ";", "=", "%41", "-", "'", '"', "data:", ";base64,", "{", "\\"),
    maxBytes: 64 * 1024,
    async parse(input) {
      const text = decoder.decode(input);
      readBaggage(text);
      readTraceparent(text);
      readMetadata(text);
      readCookie(text, "c");
      readDataUrl(text);
      return undefined;
    },
    refusals: [],
  },
  {
    name: "files of vector stores",
    seeds: all(
      "# Notes\n\nThe harbour opens at six.\n\nThe ferry leaves at seven.",
      "<!doctype html><title>T</title><style>p{}</style><p>Fish &amp; <b>bread</b> &#8212; 3 &lt; 4</p><!-- x --><td>y",
    ),
    tokens: all(
      "<",
      ">",
      "<script>",
      "</script",
      "<!--",
      "-->",
      "&#x1F600;",
      "&amp;",
      " ",
      "\n\n",
      ". ",
      "港",
      "😀",
      "\u0000",
    ),
    maxBytes: 64 * 1024,
    async parse(input) {
      const [budget, file] = [createFileBudget(), { filename: "page.html", bytes: input.length }];
      const text = await readText(
        file,
        (async function* () {
          yield input;
        })(),
        budget,
      );
      const chunks = await budget.run(findChunks(text, { tokens: 100, overlap: 50 }, { budget, most: 100_000 }));
      for (const [index, { start, end }] of chunks.entries()) {
        const before = chunks[index - 1];
        if (start >= end || end > text.length || (before && start <= before.start))
          throw new Error("chunks stand still");
      }
      return budget;
    },
    refusals: [ExcessError, UnreadableFile],
  },
  {
    name: "filters of vector stores",
    seeds: all(
      '{"type":"and","filters":[{"type":"eq","key":"a","value":1},{"type":"or","filters":[{"type":"in","key":"b","value":["c"]}]}]}',
      '{"type":"gte","key":"a","value":"b"}',
    ),
    tokens: all('{"type":"and","filters":[', "]}", '"nin"', '"lt"', "[", "]", "null", "1e400", '"__proto__"'),
    maxBytes: 16 * 1024,
    async parse(input) {
      const value = parseJson(decoder.decode(input));
      readFilters(value)({ a: 1, b: "c" });
      return undefined;
    },
    refusals: [GatewayError],
  },
];

/** A failure to discover is no fault; what caused it may be. */
function unwrap(error: unknown): never {
  throw error instanceof Error && error.cause instanceof Error ? error.cause : new SyntaxError("refused");
}
