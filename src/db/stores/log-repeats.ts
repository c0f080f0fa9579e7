import { BoundedMap } from "../../lib/bounded-map.ts";
import { randomBytes } from "../../lib/hash.ts";
import { timeOfId } from "../../lib/ids.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { LateBody, LateContent, LogBatch } from "../../schemas/logs.ts";

// Agents send their whole conversation with every request. A part of a body that an earlier batch of the same tenant has
// is stored as a reference to that batch: a JSON line with the numbers of these batches and the pieces of the contents in
// order, then the text that is stored here. A piece is a number of characters of this text, or a reference: index of the
// batch (-1: this one), and start and length in the text that is stored there. Contents without references are as
// `log-content.ts` describes them: they begin with another sign.

/** How much older than a batch those are at most that it refers to. Contents stay so much longer than their time. */
export const referredMs = 60 * 60_000;

/** Smaller bodies are stored as they are: most requests are small, and cost nothing here. */
const leastBody = 4_096;
/** Characters of a part: at least, and at most. Where the text lets it, it ends after about 3,000. */
const [leastPart, mostPart] = [1_024, 8_192];
/** Bits of the rolling hash that are zero where a part ends. */
const endBits = 11;
/** Parts that are remembered: those of the last turns of some hundred sessions, in about 10 MB. */
const mostKnown = 65_536;
/** Most batches to which one refers: a reader reads all of them. */
const mostBases = 128;
/** Characters of a digest: 132 bits. */
const digestLength = 22;

/** Spans of long bodies that are remembered, in about as much. */
const mostSpans = 32_768;

const encoder = new TextEncoder();

const formStart = '{"bases":';

/** What a stream of events begins with. */
const eventStart = ["data:", "event:", ":"] as const;

/** What an unkeyed table gives for each character, for the rolling hash. Where parts end is no secret. */
const gear = Int32Array.from({ length: 256 }, (_, code) => {
  const mixed = Math.imul(code + 1, 0x9e3779b1);
  return Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
});

/** Where a part is stored. */
interface Place {
  /** Number of the batch; 0: the one that is being shortened. */
  readonly seq: number;
  readonly start: number;
  /** Unix milliseconds of the last request of that batch. */
  readonly time: number;
}

/** A part that is stored with the batch itself. */
interface OwnPart {
  readonly digest: string;
  readonly start: number;
}

/** A part of a body that is stored. */
interface StoredPart extends Place {
  readonly length: number;
}

/** Contents as they are stored. */
export interface Shortened {
  readonly text: string;
  /** Numbers of the batches that it refers to. */
  readonly bases: readonly number[];
  /** What later batches may refer to. */
  readonly parts: readonly OwnPart[];
  /** Where the spans of long bodies are that were not known before, by their digests. */
  readonly spans: ReadonlyMap<string, readonly StoredPart[]>;
}

type Piece = number | [base: number, start: number, length: number];

/** Hosts with a synchronous implementation of a keyed digest. */
type Digest = (key: Uint8Array, text: string | Uint8Array) => string;

/**
 * Whether a body is a stream of short events. Each of them names its response, so no other body repeats any. Streams that
 * begin with a long event may repeat their request there, as those of the Responses API do.
 */
function isOfShortEvents(content: string, start: number): boolean {
  if (!eventStart.some((name) => content.startsWith(name, start))) return false;
  const end = content.indexOf("\n\n", start);
  return end >= 0 && end - start < leastPart;
}

/** Whether parts of a body may repeat others. */
function isLarge(content: string, start = 0, length = content.length): boolean {
  return length >= leastBody && !isOfShortEvents(content, start);
}

/** Starts and ends of the larger bodies of a batch that may repeat others, in characters. */
function largeBodies(content: string): [start: number, end: number][] {
  const lengthsEnd = content.indexOf("\n");
  let position = content.indexOf("\n", lengthsEnd + 1) + 1;
  if (content.length - position < leastBody) return [];
  const rows: unknown = parseJson(content.slice(0, lengthsEnd));
  const found: [number, number][] = [];
  for (const length of Array.isArray(rows) ? rows.flat() : []) {
    if (typeof length !== "number") continue;
    if (isLarge(content, position, length)) found.push([position, position + length]);
    position += length;
  }
  return found;
}

/** Where the part that begins at `start` ends: where the text is equal, the ends are too, whatever stands before. */
function endOfPart(text: string, start: number, limit: number): number {
  const last = Math.min(limit, start + mostPart);
  let hash = 0;
  let end = Math.min(last, start + leastPart);
  while (end < last) {
    hash = ((hash << 1) + (gear[text.charCodeAt(end++) & 255] ?? 0)) | 0;
    if (hash >>> (32 - endBits) === 0) break;
  }
  // both halves of a character beyond U+FFFF stay together
  return end < limit && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end + 1 : end;
}

/** Builds contents of pieces; pieces that continue each other become one. */
class PieceList {
  readonly bases: number[] = [];
  readonly pieces: Piece[] = [];
  readonly #literals: string[] = [];
  /** Characters that are stored here. */
  length = 0;

  addText(text: string): void {
    if (text === "") return;
    const last = this.pieces.at(-1);
    if (typeof last === "number") this.pieces[this.pieces.length - 1] = last + text.length;
    else this.pieces.push(text.length);
    this.#literals.push(text);
    this.length += text.length;
  }

  /** Returns false if there are too many batches already. */
  addReference({ seq, start }: Place, length: number): boolean {
    const base = seq === 0 ? -1 : this.#baseOf(seq);
    if (base === undefined) return false;
    const last = this.pieces.at(-1);
    if (typeof last === "object" && last[0] === base && last[1] + last[2] === start) last[2] += length;
    else this.pieces.push([base, start, length]);
    return true;
  }

  /** As `addReference`, for all parts of a text or none. */
  addReferences(parts: readonly StoredPart[]): boolean {
    const others = new Set(parts.map(({ seq }) => seq).filter((seq) => seq !== 0 && !this.bases.includes(seq)));
    if (this.bases.length + others.size > mostBases) return false;
    for (const part of parts) this.addReference(part, part.length);
    return true;
  }

  #baseOf(seq: number): number | undefined {
    const index = this.bases.indexOf(seq);
    if (index >= 0) return index;
    return this.bases.length < mostBases ? this.bases.push(seq) - 1 : undefined;
  }

  /** Puts a text before everything. */
  putFirst(text: string): void {
    const [first] = this.pieces;
    if (typeof first === "number") this.pieces[0] = first + text.length;
    else this.pieces.unshift(text.length);
    for (const piece of this.pieces) if (typeof piece === "object" && piece[0] === -1) piece[1] += text.length;
    this.#literals.unshift(text);
    this.length += text.length;
  }

  get text(): string {
    const text = this.#literals.join("");
    if (!this.pieces.some((piece) => typeof piece === "object")) return text;
    return `${JSON.stringify({ bases: this.bases, pieces: this.pieces })}\n${text}`;
  }
}

/** What is made of the contents of one batch. */
interface Draft {
  readonly list: PieceList;
  /** Parts and spans that are stored with the batch itself. */
  readonly parts: Map<string, Place>;
  readonly spans: Map<string, readonly StoredPart[]>;
  /** A tuple as JSON: parts of two tenants never have the same digest. */
  readonly tenant: string;
  /** Unix milliseconds of its last request. */
  readonly time: number;
}

/** Remembers which parts of bodies are stored where, by digests under a key that only this process has. */
export class LogRepeats {
  readonly #digest: Digest;
  readonly #key = randomBytes(32);
  readonly #known = new BoundedMap<string, Place>(mostKnown);
  readonly #spans = new BoundedMap<string, readonly StoredPart[]>(mostSpans);

  constructor(digest: Digest) {
    this.#digest = digest;
  }

  /** Contents with references in place of what is stored already; undefined where no body is large enough. */
  shorten(batch: LogBatch): Shortened | undefined {
    const { late, organisationId, workspaceId, lastId } = batch;
    const draft: Draft = {
      list: new PieceList(),
      parts: new Map(),
      spans: new Map(),
      tenant: JSON.stringify([organisationId, workspaceId]),
      time: timeOfId(lastId),
    };
    if (late) return this.#addLate(late, draft);
    const { content } = batch;
    const bodies = largeBodies(content);
    if (bodies.length === 0) return undefined;
    let position = 0;
    for (const [start, end] of bodies) {
      draft.list.addText(content.slice(position, start));
      this.#addParts(content.slice(start, end), draft);
      position = end;
    }
    draft.list.addText(content.slice(position));
    return toShortened(draft, 0);
  }

  /** Long bodies are looked up span by span. */
  #addLate({ heads, rows }: LateContent, draft: Draft): Shortened {
    const add = (body: string | LateBody | null): number | null => {
      if (body === null) return null;
      if (typeof body !== "string") return this.#addSpans(body, draft);
      if (isLarge(body)) this.#addParts(body, draft);
      else draft.list.addText(body);
      return body.length;
    };
    const lengths = rows.map((row) => row?.map(add) ?? null);
    const head = `${JSON.stringify(lengths)}\n${heads}\n`;
    draft.list.putFirst(head);
    return toShortened(draft, head.length);
  }

  /** Adds a long body; returns its length in characters. */
  #addSpans({ bytes, ends, rules, seal }: LateBody, draft: Draft): number {
    const key = encoder.encode(this.#digest(this.#key, `${draft.tenant}\n${rules}`));
    let length = 0;
    let start = 0;
    for (const end of ends) {
      const span = bytes.subarray(start, end);
      const digest = this.#digest(key, span).slice(0, digestLength);
      const known = draft.spans.get(digest) ?? this.#findSpan(digest, draft.time);
      const isReferred = known !== undefined && draft.list.addReferences(known);
      const parts = isReferred ? known : this.#addParts(seal(span), draft);
      if (!isReferred) draft.spans.set(digest, parts);
      for (const part of parts) length += part.length;
      start = end;
    }
    return length;
  }

  /** Adds a text part by part; returns where each is. */
  #addParts(text: string, { list, parts, tenant, time }: Draft): readonly StoredPart[] {
    const stored: StoredPart[] = [];
    for (let position = 0; position < text.length; ) {
      const end = endOfPart(text, position, text.length);
      const part = text.slice(position, end);
      const digest = this.#digest(this.#key, tenant + part).slice(0, digestLength);
      let place = parts.get(digest) ?? this.#find(digest, time);
      if (place === undefined || !list.addReference(place, part.length)) {
        place = { seq: 0, start: list.length, time };
        parts.set(digest, place);
        list.addText(part);
      }
      addPart(stored, place, part.length);
      position = end;
    }
    return stored;
  }

  #find(digest: string, time: number): Place | undefined {
    const place = this.#known.get(digest);
    return place && time - place.time <= referredMs ? place : undefined;
  }

  #findSpan(digest: string, time: number): readonly StoredPart[] | undefined {
    const parts = this.#spans.get(digest);
    return parts?.every((part) => time - part.time <= referredMs) ? parts : undefined;
  }

  /** Remembers the parts of a batch that is stored. */
  remember({ parts, spans }: Shortened, seq: number, lastId: string): void {
    const time = timeOfId(lastId);
    for (const { digest, start } of parts) this.#known.set(digest, { seq, start, time });
    for (const [digest, stored] of spans) {
      this.#spans.set(
        digest,
        stored.map((part) => (part.seq === 0 ? { ...part, seq, time } : part)),
      );
    }
  }

  /** Forgets everything: batches that it knows are gone. */
  clear(): void {
    this.#known.clear();
    this.#spans.clear();
  }
}

/** Adds where a part is stored; parts that continue each other become one. */
function addPart(stored: StoredPart[], { seq, start, time }: Place, length: number): void {
  const last = stored.at(-1);
  if (last && last.seq === seq && last.start + last.length === start)
    stored[stored.length - 1] = { ...last, length: last.length + length };
  else stored.push({ seq, start, time, length });
}

/** @param offset Characters that were put before everything. */
function toShortened({ list, parts, spans }: Draft, offset: number): Shortened {
  const moved = ({ seq, start, ...part }: StoredPart) => ({ ...part, seq, start: seq === 0 ? start + offset : start });
  return {
    text: list.text,
    bases: list.bases,
    parts: [...parts].map(([digest, { start }]) => ({ digest, start: start + offset })),
    spans: new Map([...spans].map(([digest, stored]) => [digest, stored.map(moved)])),
  };
}

/** The line before the text, if stored contents have one. */
function readForm(stored: string): { bases: unknown[]; pieces: unknown[]; text: string } | undefined {
  if (!stored.startsWith(formStart)) return undefined;
  const end = stored.indexOf("\n");
  const form = parseJson(stored.slice(0, end));
  const { bases, pieces } = isObject(form) ? form : {};
  if (!(Array.isArray(bases) && Array.isArray(pieces))) return undefined;
  return { bases, pieces, text: stored.slice(end + 1) };
}

/** Numbers of the batches that stored contents refer to. */
export function basesOf(stored: string | undefined): number[] {
  return (stored === undefined ? undefined : readForm(stored))?.bases.map(Number) ?? [];
}

/**
 * Whole contents.
 *
 * @param others What is stored of the batches of `basesOf`. Without one of them, there are no contents.
 */
export function expandRepeats(
  stored: string | undefined,
  others: ReadonlyMap<number, string | undefined>,
): string | undefined {
  const form = stored === undefined ? undefined : readForm(stored);
  if (form === undefined) return stored;
  const sources = form.bases.map((seq) => {
    const other = others.get(Number(seq));
    return other === undefined ? undefined : (readForm(other)?.text ?? other);
  });
  if (sources.includes(undefined)) return undefined;
  let position = 0;
  let whole = "";
  for (const piece of form.pieces) {
    if (Array.isArray(piece)) {
      const [base, start, length] = piece.map(Number);
      const text = base === -1 ? form.text : sources[base ?? 0];
      whole += text?.substring(start ?? 0, (start ?? 0) + (length ?? 0)) ?? "";
    } else {
      whole += form.text.substring(position, position + Number(piece));
      position += Number(piece);
    }
  }
  return whole;
}
