import type { Budget } from "./budget.ts";
import { parseJson } from "./json.ts";

/** One server-sent event (WHATWG HTML, section 9.2.6). */
export interface SseEvent {
  /** Its `event` field; empty if absent. */
  event: string;
  /** Its `data` lines, joined by line feeds. */
  data: string;
}

/** Largest event in bytes; a larger one ends the stream. */
export const maxEventBytes = 4 * 1024 * 1024;

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** An event exceeds `maxEventBytes`. */
export class EventTooLongError extends Error {
  override readonly name = "EventTooLongError";
  constructor(maxBytes: number = maxEventBytes) {
    super(`Cannot read event stream: one event is longer than ${maxBytes} bytes`);
  }
}

/** Index after the last blank line that ends at or after `from`; 0 without one. */
function endOfLastEvent(bytes: Uint8Array, from: number): number {
  for (let index = bytes.length - 1; index > 0 && index >= from; index--) {
    const byte = bytes[index];
    if (byte !== lineFeed && byte !== carriageReturn) continue;
    let before = bytes[index - 1];
    if (byte === lineFeed && before === carriageReturn) before = bytes[index - 2];
    if (before === lineFeed || before === carriageReturn) return index + 1;
  }
  return 0;
}

/** Splits a byte stream into blocks of complete server-sent events. */
export interface EventCutter {
  /** Events that `chunk` completes; undefined if none. */
  push(chunk: Uint8Array): Uint8Array | undefined;
  /** The incomplete rest at the end of the stream. */
  takeRest(): Uint8Array | undefined;
}

/** Splits a byte stream into blocks of complete events and buffers the incomplete rest. */
export class EventBlocks implements EventCutter {
  readonly #maxBytes: number;
  #rest: Uint8Array | undefined;
  /** Growing buffer of the rest, which is at its start. Absent while the rest is part of a chunk. */
  #room: Uint8Array | undefined;

  /** @param maxBytes Most bytes of one event. */
  constructor(maxBytes: number = maxEventBytes) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes of the incomplete event. */
  get pending(): number {
    return this.#rest?.length ?? 0;
  }

  /**
   * Events that `chunk` completes; undefined if none. Bytes are not copied if a chunk ends with an event.
   *
   * @throws {EventTooLongError} If an event is too long.
   */
  push(chunk: Uint8Array): Uint8Array | undefined {
    const known = this.pending;
    const bytes = this.#rest ? this.#append(this.#rest, chunk) : chunk;
    const end = endOfLastEvent(bytes, known);
    if (end === bytes.length && end > 0) {
      this.takeRest();
      return bytes;
    }
    this.#rest = bytes.subarray(end);
    if (this.#rest.length > this.#maxBytes) throw new EventTooLongError(this.#maxBytes);
    if (end === 0) return undefined;
    // returned memory must not be written to
    this.#room = undefined;
    return bytes.subarray(0, end);
  }

  /** The rest followed by a chunk. The buffer doubles, so that an event in many small pieces is not copied for each. */
  #append(rest: Uint8Array, chunk: Uint8Array): Uint8Array {
    const length = rest.length + chunk.length;
    if (this.#room === undefined || this.#room.length < length) {
      this.#room = new Uint8Array(Math.max(length, rest.length * 2));
      this.#room.set(rest);
    }
    this.#room.set(chunk, rest.length);
    return this.#room.subarray(0, length);
  }

  /** The incomplete rest at the end of the stream. */
  takeRest(): Uint8Array | undefined {
    const rest = this.#rest;
    this.#rest = undefined;
    this.#room = undefined;
    return rest;
  }
}

/** The value of a field in the line from `start` to `end`; undefined where the line has another field or is a comment. */
function fieldValue(field: string, text: string, start: number, end: number): string | undefined {
  if (!text.startsWith(field, start)) return undefined;
  const colon = start + field.length;
  if (colon === end) return "";
  if (text[colon] !== ":") return undefined;
  return text.slice(text[colon + 1] === " " ? colon + 2 : colon + 1, end);
}

/** An event from the lines between two blank lines; undefined for comments and empty blocks. */
export function readEvent(block: string): SseEvent | undefined {
  let event = "";
  let data: string | undefined;
  for (let start = 0; start < block.length; ) {
    const end = endOfLine(block, start);
    const value = fieldValue("data", block, start, end);
    if (value === undefined) event = fieldValue("event", block, start, end) ?? event;
    else data = data === undefined ? value : `${data}\n${value}`;
    start = end + 1;
  }
  return data === undefined ? undefined : { event, data };
}

function endOfLine(block: string, start: number): number {
  const end = block.indexOf("\n", start);
  return end < 0 ? block.length : end;
}

/** A text whose lines end with line feeds; a leading byte order mark is skipped. */
function toPlainLines(text: string): string {
  const marked = text.startsWith("\ufeff") ? text.slice(1) : text;
  return marked.includes("\r") ? marked.replace(/\r\n?/g, "\n") : marked;
}

/** Events of a complete text, with any line ends; a leading byte order mark is skipped. */
export function readEvents(text: string): SseEvent[] {
  const events: SseEvent[] = [];
  const lines = toPlainLines(text);
  for (let start = 0; start < lines.length; ) {
    const blank = lines.indexOf("\n\n", start);
    const end = blank < 0 ? lines.length : blank;
    const event = readEvent(lines.slice(start, end));
    if (event) events.push(event);
    start = end + 2;
  }
  return events;
}

/** Characters of events that are read in one go. */
const pieceLength = 16 * 1024;

/** Cuts a complete text into pieces that end where an event ends, so that reading a long one can give way. */
export function* cutEvents(text: string): Generator<string, void> {
  const blankLine = /\n\n|\r\n\r\n|\r\r/g;
  for (let start = 0; start < text.length; ) {
    blankLine.lastIndex = start + pieceLength;
    const end = start + pieceLength < text.length && blankLine.test(text) ? blankLine.lastIndex : text.length;
    yield text.slice(start, end);
    start = end;
  }
}

/** Characters of events that are split and decoded in one step, and steps of an event whatever it holds. */
const charactersPerStep = 8;
const stepsPerEvent = 200;

/**
 * Events of a complete text from others: each counts as a value, and others have a turn between them.
 *
 * @param read Reads the events of a piece.
 * @throws {ExcessError}
 */
export async function* eventsWithin<Event>(
  text: string,
  budget: Budget,
  read: (piece: string) => readonly Event[],
): AsyncGenerator<Event, void> {
  for (const piece of cutEvents(text)) {
    budget.step(Math.ceil(piece.length / charactersPerStep));
    for (const event of read(piece)) {
      budget.value();
      budget.step(stepsPerEvent);
      yield event;
      await budget.pause();
    }
    await budget.pause();
  }
}

/** The first event of a complete text. */
export function readFirstEvent(text: string): SseEvent | undefined {
  let start = text.startsWith("\ufeff") ? 1 : 0;
  // blocks end at a blank line of plain line feeds; text with other line ends is parsed as a whole
  for (let end = text.indexOf("\n\n", start); end >= 0; end = text.indexOf("\n\n", start)) {
    const block = text.slice(start, end);
    if (block.includes("\r")) break;
    const event = readEvent(block);
    if (event) return event;
    start = end + 2;
  }
  return readEvents(text)[0];
}

/** Whether a string is one event whose data is JSON, or the end of a stream. */
export function isWholeEvent(text: string): boolean {
  const data = readFirstEvent(text)?.data;
  return data !== undefined && (data === "[DONE]" || parseJson(data) !== undefined);
}

const decoder = new TextDecoder();

const colon = 0x3a;

/** Index after leading blank lines and comments; other line ends than line feeds stop the search. */
function endOfComments(bytes: Uint8Array): number {
  let index = 0;
  for (;;) {
    if (bytes[index] === lineFeed) index++;
    else if (bytes[index] !== colon) return index;
    else {
      const end = bytes.indexOf(lineFeed, index);
      if (end < 0 || bytes.subarray(index, end).includes(carriageReturn)) return index;
      index = end + 1;
    }
  }
}

/** The first event of complete events in bytes; the rest is not decoded. */
export function readFirstEventOf(given: Uint8Array): SseEvent | undefined {
  const bytes = given.subarray(endOfComments(given));
  if (bytes.length === 0) return undefined;
  const head = decoder.decode(bytes.subarray(0, endOfFirstBlock(bytes)));
  return (head.includes("\r") ? undefined : readFirstEvent(head)) ?? readFirstEvent(decoder.decode(bytes));
}

/** Index after the first blank line of plain line feeds; the length without one. */
export function endOfFirstBlock(bytes: Uint8Array): number {
  for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, end + 1)) {
    if (bytes[end + 1] === lineFeed) return end + 2;
  }
  return bytes.length;
}

/** Whether an event of complete events in bytes passes a test; what follows the first that does is not decoded. */
export function someEvent(bytes: Uint8Array, test: (event: SseEvent) => boolean): boolean {
  for (let start = 0; start < bytes.length; ) {
    const rest = bytes.subarray(start);
    const end = endOfFirstBlock(rest);
    const block = decoder.decode(rest.subarray(0, end));
    // only blank lines of plain line feeds end a block
    if (block.includes("\r")) return readEvents(decoder.decode(rest)).some(test);
    const event = readFirstEvent(block);
    if (event && test(event)) return true;
    start += end;
  }
  return false;
}

/** Serialises an event with a JSON payload, in one `data` line. */
export function encodeEvent(payload: unknown, event?: string): string {
  const data = JSON.stringify(payload);
  return event === undefined ? `data: ${data}\n\n` : `event: ${event.replace(/[\r\n\0]/g, " ")}\ndata: ${data}\n\n`;
}

/** Ends a chat or completions stream that completed. */
export const doneEvent = "data: [DONE]\n\n";
