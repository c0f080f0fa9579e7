import { parseExact } from "../../lib/exact-numbers.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { doneEvent, encodeEvent, readEvents, someEvent } from "../../lib/sse.ts";
import type { ChunkCorrector } from "../../providers/core/types.ts";
import { chunkSays, dataSays } from "./says.ts";
import type { StreamObserver } from "./stages.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const byteDecoder = new TextDecoder("latin1");

/** What was found in events. */
interface EventScan {
  /** Index of the first `[DONE]`, usage object, error or null in place of arguments; -1 when nothing was found. */
  at: number;
  /** Whether a finish reason stands before it. */
  finishes: boolean;
}

/** One character for each byte: the engine searches in strings much faster than a loop over bytes. */
export const toByteText = (bytes: Uint8Array): string => byteDecoder.decode(bytes);

const doneData = "[DONE]";
// each on its own: the engine searches for the letters that all matches of an expression share
const usageField = /"usage"[ \t\n\r]*:[ \t\n\r]*\{/;
const errorField = /"error"[ \t\n\r]*:[ \t\n\r]*[{"]/;
// some hosts write no arguments as null, which clients add to a string
const nullArguments = /"arguments"[ \t\n\r]*:[ \t\n\r]*null/;
const finishField = /"finish_reason"[ \t\n\r]*:[ \t\n\r]*"/;

/** Position of the quote after the name of the first field that fits; -1 without one. */
function findField(text: string, form: RegExp): number {
  const start = text.search(form);
  return start < 0 ? -1 : text.indexOf('"', start + 1);
}

/** The smaller of two positions; -1 stands for none. */
const nearer = (one: number, other: number): number => (one < 0 ? other : other < 0 ? one : Math.min(one, other));

/** Whether a text has a null in place of arguments. */
const hasNullArguments = (text: string): boolean => nullArguments.test(text);

/** Finds the events of a stream that have to be parsed in a string of `toByteText`. Other data may match too. */
export function scanEvents(text: string): EventScan {
  const start = text.indexOf(doneData);
  const doneAt = start < 0 ? -1 : start + doneData.length - 1;
  const reported = nearer(findField(text, usageField), findField(text, errorField));
  const at = nearer(nearer(doneAt, reported), findField(text, nullArguments));
  const finishAt = findField(text, finishField);
  return { at, finishes: finishAt >= 0 && (at < 0 || finishAt < at) };
}

/** String fields whose values differ from event to event: what a model generates, and the padding beside it. */
const varying = /("(?:content|reasoning_content|reasoning|refusal|arguments|text|obfuscation)": ?")(?:[^"\\]|\\.)*"/g;

const lineEnd = /[\r\n]/;

/** Longest event that is learned, in bytes. */
const maxLearnedBytes = 4_096;
/** After so many events in a row that were unlike the one before, a stream is searched without learning. */
const maxUnlike = 4;

/** The parts of an event around the values of its varying fields. */
function splitAround(event: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (const { 0: field, 1: opening = "", index } of event.matchAll(varying)) {
    parts.push(event.slice(from, index + opening.length));
    from = index + field.length - 1;
  }
  parts.push(event.slice(from));
  return parts;
}

/** End of the event at `start` if it consists of these parts around its values; -1 if not. */
function endOfEqual(text: string, start: number, parts: readonly string[]): number {
  let index = start;
  for (let order = 0; order < parts.length; order++) {
    const part = parts[order] ?? "";
    if (order > 0) {
      const value = index;
      index = text.indexOf('"', value);
      // a line that ends within a value may end the event
      if (index < 0 || lineEnd.test(text.slice(value, index))) return -1;
    }
    if (text.slice(index, index + part.length) !== part) return -1;
    index += part.length;
  }
  return index;
}

/**
 * An event of a stream in which nothing had to be read. Most events of a stream differ from the one before only in the
 * strings that the model generates. Such an event needs no search: comparing is about four times faster.
 */
export class KnownEvent {
  #parts: readonly string[] | undefined;
  #unlike = 0;

  /** Index behind the events at `from` that equal the known one but for the values of varying fields. */
  skip(text: string, from: number): number {
    const parts = this.#parts;
    if (parts === undefined) return from;
    let end = from;
    for (;;) {
      const next = endOfEqual(text, end, parts);
      if (next < 0) break;
      end = next;
    }
    if (end > from) this.#unlike = 0;
    return end;
  }

  /** End of the next part of a block to search: of one event while events are learned, else of the block. */
  endOfPart(text: string, from: number): number {
    const end = this.#unlike < maxUnlike ? text.indexOf("\n\n", from) : -1;
    return end < 0 ? text.length : end + 2;
  }

  /** Learns an event in which nothing had to be read. */
  learn(event: Uint8Array): void {
    if (this.#unlike >= maxUnlike) return;
    this.#unlike++;
    const isLearned = this.#unlike < maxUnlike && event.length <= maxLearnedBytes;
    // its own string, as a part of the block's would keep all of the block in memory
    this.#parts = isLearned ? splitAround(toByteText(event)) : undefined;
  }

  /** Drops what was learned. */
  forget(): void {
    this.#parts = undefined;
  }
}

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
export class CompletionObserver implements StreamObserver {
  readonly #options: CompletionObserverOptions;
  readonly #known = new KnownEvent();
  state: StreamObserver["state"] = "open";
  hasSpoken = false;
  usage: unknown;
  model: string | undefined;
  tier: unknown;
  #isDone = false;
  /** The error for an unusable chunk: thrown once what came before it was sent. */
  #failure: unknown;
  /** Trailing chunk for usage that came with content. */
  #owed: Chunk | undefined;

  constructor(options: CompletionObserverOptions) {
    this.#options = options;
  }

  push(block: Uint8Array): Uint8Array | undefined {
    this.hasSpoken ||= someEvent(block, ({ data }) => dataSays(data, chunkSays));
    const start = this.#findFirstRead(block);
    if (start === undefined) return block;
    // what is read may change what the corrector looks for
    this.#known.forget();
    const came = decoder.decode(block.subarray(start));
    const sent = this.#rewrite(came);
    if (sent === came) return block;
    const output = join(block.subarray(0, start), sent);
    if (this.#failure !== undefined && output === undefined) throw this.#failure;
    return output;
  }

  isOver(): boolean {
    // what came before the failure was sent by now
    if (this.#failure !== undefined) throw this.#failure;
    return this.#isDone || this.state === "failed";
  }

  end(): Uint8Array | undefined {
    return this.#isDone ? undefined : encoder.encode(this.#takeOwed().map(encodeData).join("") + doneEvent);
  }

  failure(body: object): Uint8Array {
    return encoder.encode(encodeEvent(body));
  }

  /** Index of the first event that has to be read; undefined when all are forwarded as they came. */
  #findFirstRead(block: Uint8Array): number | undefined {
    if (this.#isDone) return 0;
    const { corrector } = this.#options;
    const known = this.#known;
    const text = toByteText(block);
    for (let from = known.skip(text, 0); from < text.length; ) {
      const end = known.endOfPart(text, from);
      const part = block.subarray(from, end);
      const { at, finishes } = scanEvents(text.slice(from, end));
      if (finishes) this.#finish();
      const isEnding = finishes || at >= 0;
      if (corrector !== undefined && ((isEnding && !corrector.isLocal) || corrector.concerns(part))) return from;
      if (at >= 0) return from + startOfEvent(part, at);
      if (!finishes) known.learn(part);
      from = known.skip(text, end);
    }
    return undefined;
  }

  #rewrite(text: string): string {
    let output = "";
    for (const { event, data } of readEvents(text)) {
      for (const one of this.#read(data)) {
        if (event !== "") output += `event: ${event}\n`;
        output += encodeData(one);
      }
    }
    return output;
  }

  /** Data to send in place of an event's. */
  #read(came: string): readonly string[] {
    if (came === doneData) return this.#endWithDone();
    const data = hasNullArguments(came) ? toStringArguments(came) : came;
    if (this.#isDone || this.#failure !== undefined) return [];
    if (finishField.test(data)) this.#finish();
    const { corrector } = this.#options;
    if (!corrector && !usageField.test(data) && !errorField.test(data)) return [data];
    const chunk = parseJson(data);
    if (!isObject(chunk)) return [data];
    if (isObject(chunk.error) || typeof chunk.error === "string") {
      this.state = "failed";
      return [data];
    }
    return corrector ? this.#correct(chunk, data, corrector) : this.#takeUsage(chunk) ? [data] : [];
  }

  /** The response is complete, unless its provider reported a failure. */
  #finish(): void {
    if (this.state === "open") this.state = "complete";
  }

  #endWithDone(): readonly string[] {
    if (this.#isDone || this.state === "failed" || this.#failure !== undefined) return [];
    this.#isDone = true;
    this.#finish();
    return [...this.#takeOwed(), doneData];
  }

  /** The trailing chunk with the usage, where the client requested one. */
  #takeOwed(): readonly string[] {
    const owed = this.#options.includeUsage ? this.#owed : undefined;
    this.#owed = undefined;
    return owed ? [JSON.stringify(owed)] : [];
  }

  #correct(chunk: Chunk, data: string, corrector: ChunkCorrector): readonly string[] {
    let corrected: Chunk | undefined;
    try {
      corrected = corrector.correct(chunk);
    } catch (cause) {
      this.#failure = cause;
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
