import { AnswerWalk, settleRepeats } from "./answer-strings.ts";
import { type JsonPieces, readJsonPieces } from "./json-pieces.ts";
import { type Leaves, readLeaves } from "./leaves.ts";
import { RequestStrings } from "./members.ts";
import type { Subject } from "./subject.ts";
import { holdsTokens, readText, type TextPlace, toWholeText, writeText } from "./texts.ts";
import { readToolRest } from "./tool-texts.ts";
import { type Body, type BoundCheck, CheckError, type Hook, type Scope } from "./types.ts";
import type { RunWork } from "./work.ts";

/** Longest text a check sees, in characters. */
const maxTextLength = 1024 * 1024;
/** Lists up to this length are searched without a set. */
const shortList = 16;

/** A check that looks at a body. */
export interface Look {
  readonly body: Body;
  readonly hook: Hook;
  readonly bound: BoundCheck;
  readonly work: RunWork;
}

function lengthOf(texts: readonly string[]): number {
  let sum = 0;
  for (const { length } of texts) sum += length;
  return sum;
}

/** The beginnings of strings: as many characters as checks see. */
function cut(texts: readonly string[]): string[] {
  let left = maxTextLength;
  return texts.map((text) => {
    const beginning = text.slice(0, left);
    left -= beginning.length;
    return beginning;
  });
}

/** Strings of a body, read once for all checks that look at them, and the part of them that checks see. */
export class ReadText {
  readonly body: Body;
  readonly all: readonly string[];
  readonly length: number;
  readonly texts: readonly string[];
  /** What each string holds beyond that part; empty where all of it is seen. */
  readonly rests: readonly string[] = noTexts;
  /** The text is not its strings, but JSON that holds them: it writes some of their characters in another way. */
  readonly isJson: boolean;
  /** The text with the rest of the body, for checks that look for forbidden content; set once one has looked. */
  whole?: string;
  pieces?: Promise<JsonPieces>;
  #text: string | undefined;

  /** @param joined The text as one, where it is more than its strings. */
  constructor(body: Body, all: readonly string[], joined: string | undefined) {
    this.body = body;
    this.all = all;
    this.isJson = joined !== undefined;
    this.length = Math.max(lengthOf(all), joined?.length ?? 0);
    this.#text = joined?.slice(0, maxTextLength);
    if (this.length <= maxTextLength) {
      this.texts = all;
      return;
    }
    const texts = cut(all);
    this.texts = texts;
    this.rests = all.map((text, index) => text.slice(texts[index]?.length));
  }

  /** Joined by line feeds for the first check that reads it as one. */
  get text(): string {
    const { texts } = this;
    this.#text ??= texts.length > 1 ? texts.join("\n").slice(0, maxTextLength) : (texts[0] ?? "");
    return this.#text;
  }
}

/** The strings beside the given ones, each once. */
function readRest(
  { phase, requestType }: TextPlace,
  body: Body,
  { known, request }: { known: readonly string[]; request: RequestStrings },
): Leaves {
  if (requestType === "mcpToolCall") return { texts: readToolRest(phase, body), hasOpaque: false };
  // of an event of a session everything is read that can be
  if (requestType === "realtime") return { texts: [], hasOpaque: false };
  const { texts, hasOpaque } = phase === "beforeRequestHook" ? readLeaves(body) : readAnswerLeaves(body, request);
  // a set reads its strings to their ends; short lists hold the same strings, which compare at once
  const seen = known.length > shortList ? new Set(known) : undefined;
  return { texts: texts.filter((text) => !(seen ? seen.has(text) : known.includes(text))), hasOpaque };
}

/** Every string of a response, each once. */
function readAnswerLeaves(body: Body, request: RequestStrings): Leaves {
  const found = new Set<string>();
  const collect = (text: string): string => {
    found.add(text);
    return text;
  };
  const walk = new AnswerWalk(collect, request);
  walk.walk(body);
  return { texts: [...found], hasOpaque: walk.hasOpaque };
}

/**
 * A response with strings replaced wherever it holds them; null leaves a string unchanged.
 *
 * @param known Its text, as `readText` has it, and then the rest.
 */
function writeAnswer(
  place: TextPlace,
  body: Body,
  { known, texts, request }: { known: readonly string[]; texts: readonly (string | null)[]; request: RequestStrings },
): Body {
  const changed = writeText(place, body, { scope: "all", texts });
  const replaced = new Map<string, string>();
  for (const [index, text] of texts.entries()) {
    const before = known[index];
    if (text !== null && before !== undefined && text !== before) replaced.set(before, text);
  }
  if (replaced.size === 0) return changed;
  return new AnswerWalk((text) => replaced.get(text) ?? text, request).walk(changed);
}

/** Strings that a check reads: of a request the turns in its scope; of a response its text, or everything. */
type Extent = Scope | "answer" | "whole";

/** The strings of a body, read once for all checks of a phase. */
export class SeenTexts {
  readonly #subject: Subject;
  readonly #request: RequestStrings;
  /** Strings of the body when they were last read, by extent. */
  readonly #known = new Map<Extent, ReadText>();
  /** The rest of the body when it was last read. */
  #rest: { body: Body; leaves: Leaves; length: number } | undefined;

  constructor(subject: Subject) {
    this.#subject = subject;
    this.#request = new RequestStrings(subject.request.body);
  }

  /** The strings a check reads. What changes a response may change all of it. */
  #extentOf({ check, parameters, scope }: BoundCheck): Extent {
    const { response, requestType } = this.#subject;
    if (response === undefined || requestType === "mcpToolCall") return scope;
    return check.changes?.(parameters) === true ? "whole" : "answer";
  }

  #textsOf(extent: Extent, look: Pick<Look, "body" | "work">): readonly string[] {
    if (extent === "whole") return [...this.#read("answer", look).all, ...this.#readRest(look).leaves.texts];
    return readText(this.#subject, look.body, extent === "answer" ? "all" : extent);
  }

  #read(extent: Extent, look: Pick<Look, "body" | "work">): ReadText {
    const { body, work } = look;
    const found = this.#known.get(extent);
    if (found?.body === body) return found;
    const read = work.spend(() => new ReadText(body, this.#textsOf(extent, look), toWholeText(this.#subject, body)));
    this.#known.set(extent, read);
    return read;
  }

  /** Reads the text; long text only at its beginning, which fails a denying hook. */
  look(look: Look): ReadText {
    const { hook, bound, body } = look;
    const extent = this.#extentOf(bound);
    const read = this.#read(extent, look);
    if (extent === "whole") this.#requireReadable(look);
    if (!hook.deny) return read;
    if (holdsTokens(this.#subject, body)) throw new CheckError("Cannot check: the text is given as tokens");
    if (read.length > maxTextLength) throw tooLong();
    return read;
  }

  #readRest(look: Pick<Look, "body" | "work">) {
    const { body, work } = look;
    if (this.#rest?.body === body) return this.#rest;
    const subject = this.#subject;
    const isAnswer = subject.response !== undefined && subject.requestType !== "mcpToolCall";
    const { all: known } = this.#read(isAnswer ? "answer" : "all", look);
    const leaves = work.spend(() => readRest(subject, body, { known, request: this.#request }));
    const { streamTexts = noTexts } = subject;
    const others = streamTexts.filter((text) => !known.includes(text) && !leaves.texts.includes(text));
    const all = others.length === 0 ? leaves : { ...leaves, texts: [...leaves.texts, ...others] };
    this.#rest = { body, leaves: all, length: lengthOf(all.texts) };
    return this.#rest;
  }

  /** @throws {CheckError} If a denying hook meets what cannot be read. */
  #requireReadable(look: Look): void {
    const { deny, allowsUninspected } = look.hook;
    if (!deny || allowsUninspected || !this.#readRest(look).leaves.hasOpaque) return;
    const what = this.#subject.response ? "response" : "request";
    throw new CheckError(`Cannot check: the ${what} holds a document that is not text`);
  }

  /** The rest of the body as a check sees it; a denying hook fails where it is incomplete or unreadable. */
  rest(look: Look): readonly string[] {
    const extent = this.#extentOf(look.bound);
    // what changes a response has it among its strings
    if (extent !== "all" && extent !== "answer") return noTexts;
    const { leaves, length } = this.#readRest(look);
    this.#requireReadable(look);
    if (length <= maxTextLength) return leaves.texts;
    if (look.hook.deny) throw tooLong();
    return cut(leaves.texts);
  }

  /** The rest of the request and the text that a check sees, as one. */
  whole(look: Look, read: ReadText): string {
    const rest = this.rest(look);
    const { texts, text, isJson } = read;
    if (rest.length === 0 && !isJson) return text;
    read.whole ??= [...rest, ...(isJson ? texts : noTexts), text].join("\n");
    return read.whole;
  }

  /** The body that a check leaves: another one, or this one with strings replaced; null leaves a string unchanged. */
  write(look: Look, body: Body | undefined, texts: readonly (string | null)[] | undefined): Body {
    const subject = this.#subject;
    const given = body ?? look.body;
    const extent = this.#extentOf(look.bound);
    if (extent !== "whole" && extent !== "answer")
      return texts === undefined ? given : writeText(subject, given, { scope: extent, texts });
    const known = this.#read(extent, look).all;
    const changed = texts === undefined ? given : writeAnswer(subject, given, { known, texts, request: this.#request });
    // events hold what the body lacks: another body takes their place
    if (changed === look.body) return { ...changed };
    return settleRepeats(look.body, changed) as Body; // an object stays one
  }

  /** The JSON in the text. */
  async pieces(look: Look, read: ReadText): Promise<JsonPieces> {
    read.pieces ??= look.work.run(readJsonPieces(read.text));
    return read.pieces;
  }
}

const noTexts: readonly string[] = [];

const tooLong = (): CheckError => new CheckError(`Cannot check: the text is longer than ${maxTextLength} characters`);
