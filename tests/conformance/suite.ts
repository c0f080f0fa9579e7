import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { GatewayError } from "../../src/errors.ts";
import { CompletionObserver } from "../../src/inference/stream/completion-observer.ts";
import { MappedObserver } from "../../src/inference/stream/mapped-observer.ts";
import { createCutter } from "../../src/inference/stream/stream-framing.ts";
import { toBase64 } from "../../src/lib/base64.ts";
import { isObject } from "../../src/lib/json.ts";
import { readEvents } from "../../src/lib/sse.ts";
import { BinaryAnswer, FormRequest, type OperationName } from "../../src/providers/core/operations.ts";
import type { ConversionOptions, OperationAdapter, Provider } from "../../src/providers/core/types.ts";
import { repository } from "../support/source-files.ts";

/** A JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined };

interface CaseBase {
  name: string;
  operation?: OperationName;
  /** What a client sends. */
  request: object;
  /** Settings by their header's name without prefix, such as `azure-resource-name`. */
  settings?: Readonly<Record<string, string>>;
  strict?: boolean;
  /** Headers of the client, by their names in lower case. */
  headers?: Readonly<Record<string, string>>;
  /** Headers of the upstream's answer, by their names in lower case. */
  answerHeaders?: Readonly<Record<string, string>>;
  /** What the upstream is sent: its path and, but for methods without one, its body; `{ form }` where that is a form. */
  sent?: { path?: string; body?: unknown };
  /** Fields that are dropped and reported. */
  dropped?: readonly string[];
}

/** A request that is refused before it is sent. */
export interface RefusedCase extends CaseBase {
  refused: RegExp;
}

/** An answer that comes whole. */
export interface WholeCase extends CaseBase {
  /** JSON, or a `BinaryAnswer`. */
  answer: unknown;
  /**
   * What the client gets; `*` stands for any value, such as a time or a random id. Answers that are no JSON are seen as
   * `{ type, base64 }`.
   */
  wanted: unknown;
}

/** An answer that is streamed. */
export interface StreamCase extends CaseBase {
  /** Text of the stream, or its bytes where they are framed otherwise. */
  stream: string | Uint8Array;
  /** Chunks the client gets, without the trailing usage and `[DONE]`; `*` stands for any value. */
  chunks: readonly unknown[];
  usage?: unknown;
}

export type ConformanceCase = RefusedCase | WholeCase | StreamCase;

/** A recorded answer of `tests/fixtures/<slug>/`. */
export function fixture(slug: string, name: string): string {
  return readFileSync(join(repository, "tests/fixtures", slug, name), "utf8");
}

/** A recorded answer as a value. */
export function jsonFixture(slug: string, name: string): unknown {
  return JSON.parse(fixture(slug, name));
}

/** Puts `*` wherever it is wanted, so that the rest can be compared exactly. */
function relax(found: unknown, wanted: unknown): unknown {
  if (wanted === "*") return found === undefined ? undefined : "*";
  if (Array.isArray(found) && Array.isArray(wanted)) return found.map((item, index) => relax(item, wanted[index]));
  if (typeof found !== "object" || found === null || typeof wanted !== "object" || wanted === null) return found;
  return Object.fromEntries(
    Object.entries(found).map(([name, value]) => [name, relax(value, Reflect.get(wanted, name))]),
  );
}

/** A value as it looks after it was sent as JSON. */
function sentForm(value: unknown): unknown {
  if (value instanceof FormRequest) return { form: sentForm(value.members) };
  if (value instanceof BinaryAnswer) return { type: value.type, base64: toBase64(value.bytes) };
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

function requireSame(found: unknown, wanted: unknown): void {
  assert.deepEqual(relax(sentForm(found), sentForm(wanted)), sentForm(wanted));
}

/** A time that the gateway gives to responses without one, Unix seconds. */
const created = 1_764_000_000;

/** A converted chat as it is wanted: messages have all fields of OpenAI's. */
function withRefusal(wanted: unknown): unknown {
  const answer = sentForm(wanted);
  if (!isObject(answer) || !Array.isArray(answer.choices)) return answer;
  const choices = answer.choices.map((choice) =>
    isObject(choice?.message) ? { ...choice, message: { refusal: null, ...choice.message } } : choice,
  );
  return { ...answer, choices };
}

/** Requires a time in every response that has one in OpenAI's API. */
function requireTime(answers: readonly unknown[]): void {
  for (const answer of answers) {
    if (!isObject(answer) || !String(answer.object).startsWith("chat.completion")) continue;
    assert.ok(typeof answer.created === "number" && answer.created > 0, `created: ${String(answer.created)}`);
  }
}

interface Bound {
  adapter: OperationAdapter<OperationName>;
  options: ConversionOptions;
  dropped: string[];
}

function bind(
  provider: Provider,
  { operation = "chat", settings = {}, strict = true, headers = {}, answerHeaders = {} }: CaseBase,
): Bound {
  const bound = provider.bind((name) => settings[name] ?? null);
  const adapter = bound.operations[operation];
  assert.ok(adapter, `${provider.slug} has no ${operation}`);
  const dropped: string[] = [];
  const options = {
    strict,
    drop: (member: string) => void (dropped.includes(member) || dropped.push(member)),
    clientHeader: (name: string) => headers[name],
    answerHeader: (name: string) => answerHeaders[name],
  };
  // the suite calls each adapter with requests of its operation
  return { adapter: adapter as OperationAdapter<OperationName>, options, dropped };
}

function checkRequest(one: ConformanceCase, { adapter, options, dropped }: Bound): void {
  const request = structuredClone(one.request);
  const body = adapter.toUpstream ? adapter.toUpstream(request as never, options) : request;
  assert.deepEqual(request, one.request, "toUpstream changed its argument");
  if (one.sent?.path !== undefined) assert.equal(adapter.path(request as never), one.sent.path);
  if (one.sent && "body" in one.sent) assert.deepEqual(sentForm(body), sentForm(one.sent.body));
  assert.deepEqual(dropped.toSorted(), (one.dropped ?? []).toSorted());
}

function checkWhole({ answer, wanted, request }: WholeCase, { adapter, options }: Bound): void {
  const copy = sentForm(answer);
  const isBytes = answer instanceof BinaryAnswer;
  const read = isBytes
    ? adapter.fromBytes?.(answer, request as never, options)
    : adapter.fromUpstream?.(answer, request as never, options);
  const found = read ?? answer;
  assert.deepEqual(sentForm(answer), copy, "fromUpstream changed its argument");
  // hosts of OpenAI's format respond as they do; one that is converted all the same has the field too
  const hasForm =
    isObject(answer) && Array.isArray(answer.choices) && !JSON.stringify(read ?? null).includes('"refusal":');
  const isConverted = isObject(read) && read.object === "chat.completion" && !hasForm;
  requireSame(found, isConverted ? withRefusal(wanted) : wanted);
  if (isConverted && !isBytes) requireTime([adapter.fromUpstream?.(answer, request as never, { ...options, created })]);
}

/** Names of objects that hold counts of tokens. */
const countHolders = /^(?:usage|usageMetadata|tokens|billed_units)$/;

/** A response whose counts of tokens are written as text, or as a word, as some hosts do. */
function withCounts(value: unknown, write: (count: number) => unknown, isInside = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withCounts(item, write, isInside));
  if (typeof value === "number") return isInside ? write(value) : value;
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withCounts(item, write, isInside || countHolders.test(name))]),
  );
}

const hasNoUsage = (value: unknown): unknown => {
  const { usage: _, meta: __, ...rest } = Object(sentForm(value));
  return rest;
};

/** Counts that are no numbers make no response unusable. Those in digits are counts. */
function checkCounts({ answer, wanted, request, operation = "chat" }: WholeCase, { adapter, options }: Bound): void {
  if (!isObject(answer) || answer instanceof BinaryAnswer || !adapter.fromUpstream || operation === "countTokens")
    return;
  const read = (given: unknown) => adapter.fromUpstream?.(given, request as never, options) ?? given; // the request is of the operation that is tested
  requireSame(hasNoUsage(read(withCounts(answer, () => "many"))), hasNoUsage(read(answer)));
  const found = Object(read(withCounts(answer, String)));
  const { usage } = Object(wanted);
  // hosts of OpenAI's format are forwarded as they came: text counts nothing there
  if (isObject(usage) && !isObject(answer.usage)) requireSame(found.usage, usage);
}

/** What a client gets when a stream arrives in these pieces. */
function replay(pieces: readonly Uint8Array[], one: StreamCase, { adapter, options }: Bound) {
  const corrector = adapter.chunkCorrector?.(one.request as never, options);
  const mapper = corrector ? undefined : adapter.streamMapper?.(one.request as never, options);
  const observer = mapper
    ? new MappedObserver({ mapper, provider: "tested", includeUsage: false })
    : new CompletionObserver({ corrector, includeUsage: false });
  const cutter = createCutter(adapter.framing);
  const decoder = new TextDecoder();
  let text = "";
  const pass = (block: Uint8Array | undefined) => {
    const kept = block && !observer.isOver() && observer.push(block);
    if (kept) text += decoder.decode(kept);
  };
  for (const piece of pieces) pass(cutter.push(piece));
  pass(cutter.takeRest());
  const datas = readEvents(text).map(({ data }) => data);
  const chunks = datas
    .filter((data) => data !== "[DONE]")
    .map((data) => {
      const { provider: _, ...chunk } = JSON.parse(data);
      return chunk;
    });
  return { chunks, usage: observer.usage, state: observer.state };
}

function checkStream(one: StreamCase, bound: Bound): void {
  const bytes = typeof one.stream === "string" ? new TextEncoder().encode(one.stream) : one.stream;
  const whole = replay([bytes], one, bound);
  requireSame(whole.chunks, one.chunks);
  if (one.usage !== undefined) requireSame(whole.usage, one.usage);
  assert.equal(whole.state, "complete");
  if (bound.adapter.streamMapper && !one.stream.includes('"chat.completion.chunk"' as never)) {
    requireTime(replay([bytes], one, { ...bound, options: { ...bound.options, created } }).chunks);
  }
  // ids and times are made anew in each replay where the upstream gives none
  const plain = (result: typeof whole) => relax(sentForm(result.chunks), sentForm(one.chunks));
  const single = Array.from(bytes, (byte) => Uint8Array.of(byte));
  assert.deepEqual(plain(replay(single, one, bound)), plain(whole), "byte by byte");
  const step = Math.max(1, Math.floor(bytes.length / 200));
  for (let cut = 1; cut < bytes.length; cut += step) {
    const halves = [bytes.slice(0, cut), bytes.slice(cut)];
    assert.deepEqual(plain(replay(halves, one, bound)), plain(whole), `cut at ${cut}`);
  }
}

/** Tests of one provider: what is sent, what comes back, whole and in pieces. */
export function testConformance(provider: Provider, cases: readonly ConformanceCase[]): void {
  for (const one of cases) {
    test(`${provider.slug} conforms: ${one.name}`, () => {
      if ("refused" in one) {
        assert.throws(
          () => checkRequest(one, bind(provider, one)),
          (error) => error instanceof GatewayError && error.status === 400 && one.refused.test(error.message),
        );
        return;
      }
      checkRequest(one, bind(provider, one));
      if ("stream" in one) checkStream(one, bind(provider, one));
      else {
        checkWhole(one, bind(provider, one));
        checkCounts(one, bind(provider, one));
      }
    });
  }
}
