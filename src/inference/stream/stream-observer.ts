import type { StreamError } from "../../dialects/types.ts";
import { parseExact } from "../../lib/exact-numbers.ts";
import { isObject, parseJson, stringOf } from "../../lib/json.ts";
import { doneEvent, encodeEvent, readEvents, someEvent } from "../../lib/sse.ts";
import type { ChunkCorrector } from "../../providers/core/types.ts";
import { KnownEvent } from "./known-event.ts";
import { chunkSays, dataSays } from "./says.ts";
import { hasNullArguments, scanEvents, toByteText } from "./sse-scan.ts";
import type { StreamObserver } from "./stages.ts";

/** The fields of the gateway's error body, for streams with error events in a form of the route. */
export function toStreamError(body: object, status: number): StreamError {
  const error: unknown = Reflect.get(body, "error");
  const { message, type, code, param } = isObject(error) ? error : {};
  const textOrNull = (value: unknown) => stringOf(value) ?? null;
  return {
    message: textOrNull(message) ?? "",
    type: textOrNull(type) ?? "api_error",
    code: textOrNull(code),
    param: textOrNull(param),
    status,
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const finishForm = /"finish_reason"\s*:\s*"/;
const usageForm = /"usage"\s*:\s*\{/;
const errorForm = /"error"\s*:\s*[{"]/;

const lineFeed = 0x0a;

/**
 * Start of the event that holds the byte at `index`. Where lines do not end with plain line feeds: start of all events.
 */
function startOfEvent(bytes: Uint8Array, index: number): number {
  if (bytes.includes(0x0d)) return 0;
  let end = bytes.lastIndexOf(lineFeed, index);
  while (end > 0 && bytes[end - 1] !== lineFeed) end = bytes.lastIndexOf(lineFeed, end - 1);
  return end > 0 ? end + 1 : 0;
}

function join(before: Uint8Array, text: string): Uint8Array | undefined {
  const behind = encoder.encode(text);
  if (before.length === 0) return behind.length === 0 ? undefined : behind;
  const joined = new Uint8Array(before.length + behind.length);
  joined.set(before);
  joined.set(behind, before.length);
  return joined;
}

/** Options of streams in OpenAI's shape. */
interface CompletionObserverOptions {
  /** The caller requested a trailing chunk with the usage. */
  includeUsage: boolean;
  /** Corrects malformed chunks. Absent: all are forwarded unchanged. */
  corrector?: ChunkCorrector | undefined;
}

type Chunk = Record<string, unknown>;

/** Decides about the events of one stream, one by one. */
class CompletionEvents {
  readonly #options: CompletionObserverOptions;
  finished = false;
  done = false;
  failed = false;
  usage: unknown;
  model: string | undefined;
  tier: unknown;
  /** The error for an unusable chunk: thrown once what came before it was sent. */
  failure: unknown;
  /** Trailing chunk for usage that came with content. */
  #owed: Chunk | undefined;

  constructor(options: CompletionObserverOptions) {
    this.#options = options;
  }

  /** Data to send in place of an event's. */
  pass(came: string): readonly string[] {
    if (came === "[DONE]") return this.#end();
    const data = hasNullArguments(came) ? toStringArguments(came) : came;
    if (this.done || this.failure !== undefined) return [];
    if (finishForm.test(data)) this.finished = true;
    const { corrector } = this.#options;
    if (!corrector && !usageForm.test(data) && !errorForm.test(data)) return [data];
    const chunk = parseJson(data);
    if (!isObject(chunk)) return [data];
    if (isObject(chunk.error) || typeof chunk.error === "string") {
      this.failed = true;
      return [data];
    }
    return corrector ? this.#correct(chunk, data, corrector) : this.#takeUsage(chunk) ? [data] : [];
  }

  /** The trailing chunk with the usage, where the client requested one. */
  takeOwed(): readonly string[] {
    const owed = this.#options.includeUsage ? this.#owed : undefined;
    this.#owed = undefined;
    return owed ? [JSON.stringify(owed)] : [];
  }

  #end(): readonly string[] {
    if (this.done || this.failed || this.failure !== undefined) return [];
    this.done = true;
    return [...this.takeOwed(), "[DONE]"];
  }

  #correct(chunk: Chunk, data: string, corrector: ChunkCorrector): readonly string[] {
    let corrected: Chunk | undefined;
    try {
      corrected = corrector.correct(chunk);
    } catch (cause) {
      this.failure = cause;
    }
    if (!corrected || !this.#takeUsage(corrected)) return [];
    if (corrector.isLocal || !isObject(corrected.usage) || isTrailer(corrected)) {
      return [corrected === chunk ? data : JSON.stringify(corrected)];
    }
    const { usage, ...rest } = corrected;
    this.#owed = { ...rest, choices: [], usage };
    return [JSON.stringify(rest)];
  }

  /** Records the usage of a chunk; false where it holds nothing else and the client did not request it. */
  #takeUsage(chunk: Chunk): boolean {
    if (!isObject(chunk.usage)) return true;
    this.usage = chunk.usage;
    if (typeof chunk.model === "string") this.model = chunk.model;
    this.tier = chunk.service_tier;
    if (!isTrailer(chunk)) return true;
    this.#owed = undefined;
    return this.#options.includeUsage;
  }
}

/** A chunk whose calls have a string in place of missing arguments. */
function toStringArguments(data: string): string {
  if (!isObject(parseJson(data))) return data;
  const chunk = parseExact(data);
  if (!isObject(chunk.value)) return data;
  const { choices } = chunk.value;
  for (const choice of Array.isArray(choices) ? choices : []) {
    const delta: unknown = isObject(choice) ? choice.delta : undefined;
    if (!isObject(delta)) continue;
    const calls: unknown[] = Array.isArray(delta.tool_calls) ? delta.tool_calls : [];
    const named = [delta.function_call, ...calls.map((call) => (isObject(call) ? call.function : undefined))];
    for (const one of named) if (isObject(one) && one.arguments === null) one.arguments = "";
  }
  return chunk.write(chunk.value);
}

const isTrailer = ({ choices }: Chunk): boolean => Array.isArray(choices) && choices.length === 0;

const encodeData = (data: string): string => `data: ${data.replaceAll("\n", "\ndata: ")}\n\n`;

/**
 * Observer of chat and text completion streams in OpenAI's shape. Sends `[DONE]` once, after a normal end, and removes
 * the trailing usage chunk for clients that did not request it. Events that need no inspection are forwarded as they
 * came.
 */
export function createCompletionObserver(options: CompletionObserverOptions): StreamObserver {
  const { corrector } = options;
  const events = new CompletionEvents(options);
  let hasSpoken = false;
  const known = new KnownEvent();

  /** Index of the first event that has to be read; undefined when all are forwarded as they came. */
  const findFirstRead = (block: Uint8Array): number | undefined => {
    if (events.done) return 0;
    const text = toByteText(block);
    for (let from = known.skip(text, 0); from < text.length; ) {
      const end = known.endOfPart(text, from);
      const part = block.subarray(from, end);
      const { at, finishes } = scanEvents(text.slice(from, end));
      if (finishes) events.finished = true;
      const isEnding = finishes || at >= 0;
      if (corrector !== undefined && ((isEnding && !corrector.isLocal) || corrector.concerns(part))) return from;
      if (at >= 0) return from + startOfEvent(part, at);
      if (!finishes) known.learn(part);
      from = known.skip(text, end);
    }
    return undefined;
  };

  const rewrite = (text: string): string => {
    let output = "";
    for (const { event, data } of readEvents(text)) {
      for (const one of events.pass(data)) {
        if (event !== "") output += `event: ${event}\n`;
        output += encodeData(one);
      }
    }
    return output;
  };

  return {
    push(block) {
      hasSpoken ||= someEvent(block, ({ data }) => dataSays(data, chunkSays));
      const start = findFirstRead(block);
      if (start === undefined) return block;
      // what is read may change what the corrector looks for
      known.forget();
      const came = decoder.decode(block.subarray(start));
      const sent = rewrite(came);
      if (sent === came) return block;
      const output = join(block.subarray(0, start), sent);
      if (events.failure !== undefined && output === undefined) throw events.failure;
      return output;
    },
    hasSpoken: () => hasSpoken,
    state: () => (events.failed ? "failed" : events.done || events.finished ? "complete" : "open"),
    isOver() {
      // what came before the failure was sent by now
      if (events.failure !== undefined) throw events.failure;
      return events.done || events.failed;
    },
    end: () => (events.done ? undefined : encoder.encode(events.takeOwed().map(encodeData).join("") + doneEvent)),
    failure: (body) => encoder.encode(encodeEvent(body)),
    usage: () => events.usage,
    model: () => events.model,
    tier: () => events.tier,
  };
}
