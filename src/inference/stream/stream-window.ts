import {
  dropTokens,
  readEventStrings,
  type StringPlace,
  stringAt,
  writeString,
} from "../../guardrails/strings/event-strings.ts";
import type { RequestStrings } from "../../guardrails/strings/member-kinds.ts";
import type { Body, RequestType } from "../../guardrails/types.ts";
import type { Span, StreamText, WindowChecks } from "../../guardrails/window.ts";
import { parseExact } from "../../lib/exact-numbers.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { decodeJsonText, type JsonPlace, jsonStart, readJsonText } from "../../lib/json-text.ts";
import { cleanEvent, dataOf, isEvent, lineEnds, splitEvents } from "./clean-event.ts";

/** Most characters of events that wait behind a text. */
const maxWaiting = 1024 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A string of a waiting event. */
interface Segment {
  readonly text: StreamText;
  /** Its characters in the text. */
  readonly start: number;
  readonly end: number;
  /** Where in JSON text it begins; undefined for plain text. */
  readonly json: JsonPlace | undefined;
}

/** An event that waits until its text is settled. */
interface WaitingEvent {
  readonly written: string;
  readonly data: string;
  readonly segments: readonly Segment[];
}

/** A server-sent event with other data. */
function withData(written: string, data: string): string {
  const lines = written.replace(lineEnds, "").split(/\r\n|\n|\r/);
  const kept = lines.filter((line) => line !== "" && !line.startsWith("data"));
  return `${[...kept, `data: ${data}`].join("\n")}\n\n`;
}

/** The replacement of a span, once. */
function take(span: Span): string {
  const { isWritten, replacement } = span;
  span.isWritten = true;
  return isWritten ? "" : replacement;
}

const spanAt = (spans: readonly Span[], at: number): Span | undefined =>
  spans.find(({ start, end }) => start <= at && at < end);

/** A string with its spans replaced. */
function rewritePlain(
  text: string,
  { start, end, spans }: Pick<Segment, "start" | "end"> & { spans: readonly Span[] },
  isJson = false,
): string {
  let changed = "";
  let from = start;
  for (const span of spans) {
    if (span.end <= from || span.start >= end) continue;
    changed += text.slice(from - start, Math.max(span.start, from) - start);
    changed += isJson ? JSON.stringify(take(span)).slice(1, -1) : take(span);
    from = Math.min(end, span.end);
  }
  return changed + text.slice(from - start);
}

/** What JSON text has in no place beside strings: other characters than those of marks, numbers and literals. */
const noJson = /[^\s{}[\]:,"+\-.0-9eEtrufalsn]/g;

/** As `rewritePlain`, for JSON text, which stays valid: quotes and the like stay, and digits of numbers become nines. */
function rewriteJson(text: string, { start, json = jsonStart }: Segment, spans: readonly Span[]): string {
  let at = start;
  let changed = "";
  for (const { text: read, written, isInside } of readJsonText(text, json).characters) {
    const span = spanAt(spans, at);
    at += read.length;
    if (!span) changed += written;
    else if (isInside) changed += JSON.stringify(take(span)).slice(1, -1);
    else changed += written.replace(/[0-9]/g, "9").replace(noJson, "");
  }
  return changed;
}

const isOpen = ({ text, end }: Segment): boolean => !text.isEnded && end > text.settled;

/** An event with text alone, of which the next one often differs in nothing but the text. */
class EventForm {
  readonly text: StreamText;
  readonly #before: string;
  readonly #after: string;

  constructor(text: StreamText, before: string, after: string) {
    this.text = text;
    this.#before = before;
    this.#after = after;
  }

  /** The form of an event; undefined where it holds more than one piece of plain text, or does not show which it is. */
  static of(data: string, places: readonly StringPlace[], segments: readonly Segment[]): EventForm | undefined {
    const [place, other] = places;
    const [segment] = segments;
    if (!place || !segment || other || place.name === undefined) return undefined;
    if (place.isJson || place.isRepeat || place.stands) return undefined;
    // the same text may be written in several ways
    if (data.includes("\\")) return undefined;
    const piece = JSON.stringify(place.holder[place.key]);
    const start = data.indexOf(piece);
    if (start < 0 || data.indexOf(piece, start + 1) >= 0) return undefined;
    return new EventForm(segment.text, data.slice(0, start + 1), data.slice(start + piece.length - 1));
  }

  /** The text of an event of this form; undefined for another one, and for text with escapes. */
  read(data: string): string | undefined {
    if (!data.endsWith(this.#after) || !data.startsWith(this.#before)) return undefined;
    const piece = data.slice(this.#before.length, -this.#after.length);
    return piece === "" || special.test(piece) ? undefined : piece;
  }
}

/** Characters that end a JSON string or are escaped in it (RFC 8259, section 7). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they must not stand in a JSON string
const special = /["\\\u0000-\u001f]/;

/** Writes an event with other data. */
type WriteEvent = (written: string, data: string) => string;

/** The route of a stream, and the request it answers. */
interface WindowSource {
  readonly requestType: RequestType;
  readonly request: RequestStrings;
  /** Its plain text is JSON, as the request asked for: replacements are escaped. Absent: it is not. */
  readonly isJson?: boolean;
}

/** Holds the events of a response back until the checks of its guardrails have seen enough of their text. */
export class EventWindow {
  readonly #checks: WindowChecks;
  readonly #source: WindowSource;
  readonly #writeEvent: WriteEvent;
  /** Where pieces of JSON text stand, by text. */
  readonly #places = new Map<StreamText, JsonPlace>();
  /** The form of the last event, which the next one often has. */
  #form: EventForm | undefined;
  #waiting: WaitingEvent[] = [];
  #waitingLength = 0;
  /** What is to be looked at, and whether it ended. */
  readonly #due = new Map<StreamText, { isEnd: boolean; isRepeat: boolean }>();

  constructor(checks: WindowChecks, source: WindowSource, writeEvent: WriteEvent = (_, data) => data) {
    this.#checks = checks;
    this.#source = source;
    this.#writeEvent = writeEvent;
  }

  /** The events that may be sent now that others were added. */
  async release(): Promise<readonly string[]> {
    await this.#lookAtDue();
    return this.#release(false);
  }

  /** The events that still wait, at the end of the response. */
  async finish(): Promise<readonly string[]> {
    this.#endStrings("");
    await this.#lookAtDue();
    return this.#release(true);
  }

  /** The events whose text can begin no finding, while the provider says nothing. */
  releaseQuiet(): readonly string[] {
    for (const { segments } of this.#waiting) {
      for (const { text } of segments) if (!text.isEnded) this.#checks.settleQuiet(text);
    }
    return this.#checks.isDenied ? [] : this.#takeSettled(false).released;
  }

  /** Adds an event: as it is written, and its data. */
  add(written: string, data: string): void {
    this.#waitingLength += written.length;
    const like = this.#form?.read(data);
    if (this.#form && like !== undefined) {
      const segment = this.#grow(this.#form.text, like);
      this.#waiting.push({ written, data, segments: [segment] });
      return;
    }
    const event = data === "[DONE]" ? undefined : parseJson(data);
    if (data === "[DONE]") this.#endStrings("");
    if (!isObject(event)) {
      const segments = data === "[DONE]" ? [] : [this.#addWhole(data)];
      this.#waiting.push({ written, data, segments });
      return;
    }
    const { places, ends } = readEventStrings(this.#source.requestType, event, this.#source.request);
    const segments = places.map((place) => this.#addText(place));
    this.#waiting.push({ written, data, segments });
    this.#form = ends.length === 0 ? EventForm.of(data, places, segments) : undefined;
    for (const name of ends) this.#endStrings(name);
  }

  #addText(place: StringPlace): Segment {
    const { name, isJson, isRepeat } = place;
    const written = stringAt(place);
    if (name === undefined) return this.#addWhole(written, { isJson, isRepeat });
    const text = this.#checks.textOf(name);
    if (!isJson) return this.#grow(text, written, isRepeat);
    const start = text.end;
    const json = isJson ? (this.#places.get(text) ?? jsonStart) : undefined;
    const decoded = json ? decodeJsonText(written, json) : undefined;
    if (decoded) this.#places.set(text, decoded.place);
    this.#checks.grow(text, decoded?.text ?? written);
    if (this.#checks.isDue(text)) this.#due.set(text, { isEnd: false, isRepeat });
    // the beginning of an escape sequence waits for its character
    const end = decoded && decoded.place.escape !== "" ? text.end + 1 : text.end;
    return { text, start, end, json };
  }

  #addWhole(written: string, { isJson, isRepeat } = { isJson: false, isRepeat: false }): Segment {
    const text = this.#checks.createWhole(isJson ? decodeJsonText(written, jsonStart).text : written);
    text.isEnded = true;
    this.#due.set(text, { isEnd: true, isRepeat });
    return { text, start: 0, end: text.end, json: isJson ? jsonStart : undefined };
  }

  /** Adds a piece of plain text. */
  #grow(text: StreamText, piece: string, isRepeat = false): Segment {
    const start = text.end;
    this.#checks.grow(text, piece);
    if (this.#checks.isDue(text)) this.#due.set(text, { isEnd: false, isRepeat });
    return { text, start, end: text.end, json: undefined };
  }

  #endStrings(name: string): void {
    for (const text of this.#checks.startingWith(name)) {
      if (text.isEnded) continue;
      text.isEnded = true;
      this.#due.set(text, { isEnd: true, isRepeat: false });
    }
  }

  /** Looks at what came. */
  async #lookAtDue(): Promise<void> {
    for (const [text, { isEnd, isRepeat }] of this.#due) {
      this.#due.delete(text);
      await this.#checks.look(text, isEnd, isRepeat);
    }
  }

  /** The events at the front whose text is settled. */
  async #release(isAll: boolean): Promise<readonly string[]> {
    if (this.#checks.isDenied) return [];
    const { released, open } = this.#takeSettled(isAll);
    const isLate = open && (this.#waitingLength > maxWaiting || this.#checks.isQuiet(open.text));
    if (!isLate) return released;
    // its text is looked at as if it had ended
    await this.#checks.look(open.text, true);
    open.text.isEnded = true;
    return [...released, ...(await this.#release(false))];
  }

  /** Takes the events up to the first one with text that is not settled. */
  #takeSettled(isAll: boolean): { released: string[]; open: Segment | undefined } {
    const released: string[] = [];
    let open: Segment | undefined;
    for (const event of this.#waiting) {
      open = isAll ? undefined : event.segments.find(isOpen);
      if (open) break;
      this.#waitingLength -= event.written.length;
      released.push(this.#write(event));
    }
    if (released.length > 0) this.#waiting = this.#waiting.slice(released.length);
    return { released, open };
  }

  /** An event as it is sent: as it came, unless something in it is replaced. */
  #write({ written, data, segments }: WaitingEvent): string {
    let isChanged = false;
    for (const { text, start, end } of segments) {
      if (text.spans.length > 0) isChanged ||= text.spans.some((span) => span.start < end && span.end > start);
    }
    const sent = isChanged ? this.#writeEvent(written, this.#rewrite(data, segments)) : written;
    for (const { text, end } of segments) text.trim(end);
    return sent;
  }

  #rewrite(data: string, segments: readonly Segment[]): string {
    const [whole] = segments;
    if (whole && !isObject(parseJson(data))) return rewritePlain(data, { ...whole, spans: whole.text.spans });
    const { value, write } = parseExact(data);
    // the same object was read when the event came
    const event = value as Body;
    const { places } = readEventStrings(this.#source.requestType, event, this.#source.request);
    for (const [index, place] of places.entries()) {
      const segment = segments[index];
      if (!segment) continue;
      const spans = [...segment.text.spans].sort((one, other) => one.start - other.start);
      const before = stringAt(place);
      const { start, end } = segment;
      const isJson = this.#source.isJson === true;
      const rewritten = segment.json
        ? rewriteJson(before, segment, spans)
        : rewritePlain(before, { start, end, spans }, isJson);
      writeString(place, rewritten);
    }
    dropTokens(event, places);
    return write(event);
  }
}

const encode = (events: readonly string[]): Uint8Array | undefined =>
  events.length === 0 ? undefined : encoder.encode(events.join(""));

/** An `EventWindow` for server-sent events. */
export class StreamWindow {
  readonly #events: EventWindow;

  constructor(checks: WindowChecks, source: WindowSource) {
    this.#events = new EventWindow(checks, source, withData);
  }

  /** Takes whole events and returns those that may be sent; undefined for none. */
  async push(block: Uint8Array): Promise<Uint8Array | undefined> {
    this.#add(block);
    return encode(await this.#events.release());
  }

  /** The events that need not wait while the provider says nothing. */
  releaseQuiet(): Uint8Array | undefined {
    return encode(this.#events.releaseQuiet());
  }

  /** The events that still wait, at the end of the response, and those that end it. */
  async finish(ending?: Uint8Array): Promise<Uint8Array | undefined> {
    if (ending) this.#add(ending);
    return encode(await this.#events.finish());
  }

  #add(block: Uint8Array): void {
    const text = decoder.decode(block);
    const isOne = text.indexOf("\n\n") === text.length - 2 && !text.includes("\r");
    for (const written of isOne ? [text] : splitEvents(text)) {
      const data = dataOf(written);
      const clean = cleanEvent(written, data);
      // a client of the API shows no other lines
      if (clean !== "" && isEvent(data)) this.#events.add(clean, data);
    }
  }
}
