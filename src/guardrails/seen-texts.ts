import { type JsonPieces, readJsonPieces } from "./json-pieces.ts";
import type { Leaves } from "./leaves.ts";
import type { Subject } from "./subject.ts";
import { holdsTokens, readRest, readText, toWholeText } from "./texts.ts";
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
  texts: readonly string[];
  text: string;
  /** What each string holds beyond that part; empty where all of it is seen. */
  rests: readonly string[];
  /** The text is not its strings, but JSON that holds them: it writes some of their characters in another way. */
  isJson: boolean;
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

function toVisibleText({ texts: all, joined, length }: KnownTexts): VisibleText {
  const isJson = joined !== undefined;
  if (length <= maxTextLength) return { texts: all, text: joined ?? joinTexts(all), rests: noTexts, isJson };
  const texts = cut(all);
  const rests = all.map((text, index) => text.slice(texts[index]?.length));
  return { texts, text: (joined ?? texts.join("\n")).slice(0, maxTextLength), rests, isJson };
}

/** The strings of a body, read once for all checks of a phase. */
export class SeenTexts {
  readonly #subject: Subject;
  /** Strings of the body when they were last read, by scope. */
  readonly #known = new Map<Scope, KnownTexts>();
  /** The rest of the body when it was last read. */
  #rest: { body: Body; leaves: Leaves; length: number } | undefined;

  constructor(subject: Subject) {
    this.#subject = subject;
  }

  #read(scope: Scope, { body, work }: Pick<Look, "body" | "work">): KnownTexts {
    const found = this.#known.get(scope);
    if (found?.body === body) return found;
    const subject = this.#subject;
    const read = work.spend((): KnownTexts => {
      const texts = readText(subject, body, scope);
      const joined = toWholeText(subject, body);
      const length = Math.max(lengthOf(texts), joined?.length ?? 0);
      return { body, texts, joined, length, isInTokens: holdsTokens(subject, body) };
    });
    this.#known.set(scope, read);
    return read;
  }

  /** Reads the text; long text only at its beginning, which fails a denying hook. */
  look(look: Look): VisibleText {
    const { hook, bound, work } = look;
    const known = this.#read(bound.scope, look);
    if (hook.deny && known.isInTokens) throw new CheckError("Cannot check: the text is given as tokens");
    if (hook.deny && known.length > maxTextLength) throw tooLong();
    known.visible ??= work.spend(() => toVisibleText(known));
    return known.visible;
  }

  #readRest(look: Look) {
    const { body, work } = look;
    if (this.#rest?.body === body) return this.#rest;
    const { texts } = this.#read("all", look);
    const leaves = work.spend(() => readRest(this.#subject, body, texts));
    this.#rest = { body, leaves, length: lengthOf(leaves.texts) };
    return this.#rest;
  }

  /** The rest of the request as a check sees it; a denying hook fails where it is incomplete or unreadable. */
  rest(look: Look): readonly string[] {
    const { deny, allowsUninspected } = look.hook;
    const { response, requestType } = this.#subject;
    const hasRest = response === undefined || requestType === "mcpToolCall";
    if (look.bound.scope !== "all" || !hasRest) return noTexts;
    const { leaves, length } = this.#readRest(look);
    if (deny && leaves.hasOpaque && !allowsUninspected) {
      throw new CheckError("Cannot check: the request holds a document that is not text");
    }
    if (length <= maxTextLength) return leaves.texts;
    if (deny) throw tooLong();
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

  /** The JSON in the text. */
  async pieces(look: Look, { text }: VisibleText): Promise<JsonPieces> {
    const known = this.#read(look.bound.scope, look);
    known.pieces ??= look.work.run(readJsonPieces(text));
    return known.pieces;
  }
}

const noTexts: readonly string[] = [];

const tooLong = (): CheckError => new CheckError(`Cannot check: the text is longer than ${maxTextLength} characters`);
