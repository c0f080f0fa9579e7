import { settleRepeats } from "./answer-strings.ts";
import { type JsonPieces, readJsonPieces } from "./json-pieces.ts";
import type { Leaves } from "./leaves.ts";
import { RequestStrings } from "./members.ts";
import { readRest, writeAnswer } from "./rest-texts.ts";
import type { Subject } from "./subject.ts";
import { holdsTokens, readText, toWholeText, writeText } from "./texts.ts";
import { type Body, type BoundCheck, CheckError, type Hook, type Scope } from "./types.ts";
import type { RunWork } from "./work.ts";

/** Longest text a check sees, in characters. */
const maxTextLength = 1024 * 1024;

/** Computed once for all checks that look at the same text. */
interface KnownTexts {
  readonly body: Body;
  readonly texts: readonly string[];
  /** The text as one, where it is more than its strings. */
  readonly joined: string | undefined;
  readonly length: number;
  readonly isInTokens: boolean;
  visible?: VisibleText;
  pieces?: Promise<JsonPieces>;
}

/** The part of the text that a check sees. */
export interface VisibleText {
  readonly texts: readonly string[];
  readonly text: string;
  /** What each string holds beyond that part; empty where all of it is seen. */
  readonly rests: readonly string[];
  /** The text is not its strings, but JSON that holds them: it writes some of their characters in another way. */
  readonly isJson: boolean;
  /** The text with the rest of the body, for checks that look for forbidden content; set once one has looked. */
  whole?: string;
}

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

/** Strings as one, joined by line feeds. */
function joinTexts(texts: readonly string[]): string {
  const [first = ""] = texts;
  return texts.length > 1 ? texts.join("\n") : first;
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

/** All of the text. It is joined for the first check that reads it as one. */
class WholeText implements VisibleText {
  readonly texts: readonly string[];
  readonly rests = noTexts;
  readonly isJson: boolean;
  whole?: string;
  #text: string | undefined;

  constructor({ texts, joined }: KnownTexts) {
    this.texts = texts;
    this.isJson = joined !== undefined;
    this.#text = joined;
  }

  get text(): string {
    this.#text ??= joinTexts(this.texts);
    return this.#text;
  }
}

function toVisibleText(known: KnownTexts): VisibleText {
  const { texts: all, joined, length } = known;
  const isJson = joined !== undefined;
  if (length <= maxTextLength) return new WholeText(known);
  const texts = cut(all);
  const rests = all.map((text, index) => text.slice(texts[index]?.length));
  return { texts, text: (joined ?? texts.join("\n")).slice(0, maxTextLength), rests, isJson };
}

/** Strings that a check reads: of a request the turns in its scope; of a response its text, or everything. */
type Extent = Scope | "answer" | "whole";

/** The strings of a body, read once for all checks of a phase. */
export class SeenTexts {
  readonly #subject: Subject;
  readonly #request: RequestStrings;
  /** Strings of the body when they were last read, by extent. */
  readonly #known = new Map<Extent, KnownTexts>();
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
    if (extent === "whole") return [...this.#read("answer", look).texts, ...this.#readRest(look).leaves.texts];
    return readText(this.#subject, look.body, extent === "answer" ? "all" : extent);
  }

  #read(extent: Extent, look: Pick<Look, "body" | "work">): KnownTexts {
    const { body, work } = look;
    const found = this.#known.get(extent);
    if (found?.body === body) return found;
    const subject = this.#subject;
    const read = work.spend((): KnownTexts => {
      const texts = this.#textsOf(extent, look);
      const joined = toWholeText(subject, body);
      const length = Math.max(lengthOf(texts), joined?.length ?? 0);
      return { body, texts, joined, length, isInTokens: holdsTokens(subject, body) };
    });
    this.#known.set(extent, read);
    return read;
  }

  /** Reads the text; long text only at its beginning, which fails a denying hook. */
  look(look: Look): VisibleText {
    const { hook, bound, work } = look;
    const extent = this.#extentOf(bound);
    const known = this.#read(extent, look);
    if (extent === "whole") this.#requireReadable(look);
    if (hook.deny && known.isInTokens) throw new CheckError("Cannot check: the text is given as tokens");
    if (hook.deny && known.length > maxTextLength) throw tooLong();
    known.visible ??= work.spend(() => toVisibleText(known));
    return known.visible;
  }

  #readRest(look: Pick<Look, "body" | "work">) {
    const { body, work } = look;
    if (this.#rest?.body === body) return this.#rest;
    const subject = this.#subject;
    const isAnswer = subject.response !== undefined && subject.requestType !== "mcpToolCall";
    const { texts: known } = this.#read(isAnswer ? "answer" : "all", look);
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
  whole(look: Look, visible: VisibleText): string {
    const rest = this.rest(look);
    const { texts, text, isJson } = visible;
    if (rest.length === 0 && !isJson) return text;
    visible.whole ??= [...rest, ...(isJson ? texts : noTexts), text].join("\n");
    return visible.whole;
  }

  /** The body that a check leaves: another one, or this one with strings replaced; null leaves a string unchanged. */
  write(look: Look, body: Body | undefined, texts: readonly (string | null)[] | undefined): Body {
    const subject = this.#subject;
    const given = body ?? look.body;
    const extent = this.#extentOf(look.bound);
    if (extent !== "whole" && extent !== "answer")
      return texts === undefined ? given : writeText(subject, given, { scope: extent, texts });
    const known = this.#read(extent, look).texts;
    const changed = texts === undefined ? given : writeAnswer(subject, given, { known, texts, request: this.#request });
    // events hold what the body lacks: another body takes their place
    if (changed === look.body) return { ...changed };
    return settleRepeats(look.body, changed) as Body; // an object stays one
  }

  /** The JSON in the text. */
  async pieces(look: Look, { text }: VisibleText): Promise<JsonPieces> {
    const known = this.#read(this.#extentOf(look.bound), look);
    known.pieces ??= look.work.run(readJsonPieces(text));
    return known.pieces;
  }
}

const noTexts: readonly string[] = [];

const tooLong = (): CheckError => new CheckError(`Cannot check: the text is longer than ${maxTextLength} characters`);
