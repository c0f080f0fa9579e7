import { type JsonPieces, readJsonPieces } from "../json-pieces.ts";
import type { Subject } from "../subject.ts";
import { type Body, type BoundCheck, CheckError, type Hook, type Scope } from "../types.ts";
import type { RunWork } from "../work.ts";
import { type BodyPlace, holdsTokens, readStrings, toWholeText, writeStrings } from "./bodies.ts";
import { RequestStrings } from "./member-kinds.ts";
import { type FoundStrings, readRequest } from "./request-walk.ts";
import { ResponseWalk, settleRepeats } from "./response-walk.ts";
import { readToolRest } from "./tool-calls.ts";

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

function lengthOf(strings: readonly string[]): number {
  let sum = 0;
  for (const { length } of strings) sum += length;
  return sum;
}

/** The beginnings of strings: as many characters as checks see. */
function cut(strings: readonly string[]): string[] {
  let left = maxTextLength;
  return strings.map((text) => {
    const beginning = text.slice(0, left);
    left -= beginning.length;
    return beginning;
  });
}

/** Strings of a body, read once for all checks that look at them, and the part of them that checks see. */
export class ReadStrings {
  readonly body: Body;
  readonly all: readonly string[];
  readonly length: number;
  readonly strings: readonly string[];
  /** What each string holds beyond that part; empty where all of it is seen. */
  readonly rests: readonly string[] = noStrings;
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
      this.strings = all;
      return;
    }
    const strings = cut(all);
    this.strings = strings;
    this.rests = all.map((text, index) => text.slice(strings[index]?.length));
  }

  /** Joined by line feeds for the first check that reads it as one. */
  get text(): string {
    const { strings } = this;
    this.#text ??= strings.length > 1 ? strings.join("\n").slice(0, maxTextLength) : (strings[0] ?? "");
    return this.#text;
  }
}

/** The strings beside the given ones, each once. */
function readRest(
  { phase, requestType }: BodyPlace,
  body: Body,
  { known, request }: { known: readonly string[]; request: RequestStrings },
): FoundStrings {
  if (requestType === "mcpToolCall") return { strings: readToolRest(phase, body), hasOpaque: false };
  // of an event of a session everything is read that can be
  if (requestType === "realtime") return { strings: [], hasOpaque: false };
  const { strings, hasOpaque } = phase === "beforeRequestHook" ? readRequest(body) : readResponse(body, request);
  // a set reads its strings to their ends; short lists hold the same strings, which compare at once
  const seen = known.length > shortList ? new Set(known) : undefined;
  return { strings: strings.filter((text) => !(seen ? seen.has(text) : known.includes(text))), hasOpaque };
}

/** Every string of a response, each once. */
function readResponse(body: Body, request: RequestStrings): FoundStrings {
  const found = new Set<string>();
  const collect = (text: string): string => {
    found.add(text);
    return text;
  };
  const walk = new ResponseWalk(collect, request);
  walk.walk(body);
  return { strings: [...found], hasOpaque: walk.hasOpaque };
}

/**
 * A response with strings replaced wherever it holds them; null leaves a string unchanged.
 *
 * @param known Its text, as `readStrings` has it, and then the rest.
 */
function writeAnswer(
  place: BodyPlace,
  body: Body,
  {
    known,
    strings,
    request,
  }: { known: readonly string[]; strings: readonly (string | null)[]; request: RequestStrings },
): Body {
  const changed = writeStrings(place, body, { scope: "all", strings });
  const replaced = new Map<string, string>();
  for (const [index, text] of strings.entries()) {
    const before = known[index];
    if (text !== null && before !== undefined && text !== before) replaced.set(before, text);
  }
  if (replaced.size === 0) return changed;
  return new ResponseWalk((text) => replaced.get(text) ?? text, request).walk(changed);
}

/** Strings that a check reads: of a request the turns in its scope; of a response its text, or everything. */
type Extent = Scope | "answer" | "whole";

/** The strings of a body, read once for all checks of a phase. */
export class SeenStrings {
  readonly #subject: Subject;
  readonly #request: RequestStrings;
  /** Strings of the body when they were last read, by extent. */
  readonly #known = new Map<Extent, ReadStrings>();
  /** The rest of the body when it was last read. */
  #rest: { body: Body; found: FoundStrings; length: number } | undefined;

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

  #stringsOf(extent: Extent, look: Pick<Look, "body" | "work">): readonly string[] {
    if (extent === "whole") return [...this.#read("answer", look).all, ...this.#readRest(look).found.strings];
    return readStrings(this.#subject, look.body, extent === "answer" ? "all" : extent);
  }

  #read(extent: Extent, look: Pick<Look, "body" | "work">): ReadStrings {
    const { body, work } = look;
    const found = this.#known.get(extent);
    if (found?.body === body) return found;
    const read = work.spend(
      () => new ReadStrings(body, this.#stringsOf(extent, look), toWholeText(this.#subject, body)),
    );
    this.#known.set(extent, read);
    return read;
  }

  /** Reads the text; long text only at its beginning, which fails a denying hook. */
  look(look: Look): ReadStrings {
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
    const found = work.spend(() => readRest(subject, body, { known, request: this.#request }));
    const { streamStrings = noStrings } = subject;
    const others = streamStrings.filter((text) => !known.includes(text) && !found.strings.includes(text));
    const all = others.length === 0 ? found : { ...found, strings: [...found.strings, ...others] };
    this.#rest = { body, found: all, length: lengthOf(all.strings) };
    return this.#rest;
  }

  /** @throws {CheckError} If a denying hook meets what cannot be read. */
  #requireReadable(look: Look): void {
    const { deny, allowsUninspected } = look.hook;
    if (!deny || allowsUninspected || !this.#readRest(look).found.hasOpaque) return;
    const what = this.#subject.response ? "response" : "request";
    throw new CheckError(`Cannot check: the ${what} holds a document that is not text`);
  }

  /** The rest of the body as a check sees it; a denying hook fails where it is incomplete or unreadable. */
  rest(look: Look): readonly string[] {
    const extent = this.#extentOf(look.bound);
    // what changes a response has it among its strings
    if (extent !== "all" && extent !== "answer") return noStrings;
    const { found, length } = this.#readRest(look);
    this.#requireReadable(look);
    if (length <= maxTextLength) return found.strings;
    if (look.hook.deny) throw tooLong();
    return cut(found.strings);
  }

  /** The rest of the request and the text that a check sees, as one. */
  whole(look: Look, read: ReadStrings): string {
    const rest = this.rest(look);
    const { strings, text, isJson } = read;
    if (rest.length === 0 && !isJson) return text;
    read.whole ??= [...rest, ...(isJson ? strings : noStrings), text].join("\n");
    return read.whole;
  }

  /** The body that a check leaves: another one, or this one with strings replaced; null leaves a string unchanged. */
  write(look: Look, body: Body | undefined, strings: readonly (string | null)[] | undefined): Body {
    const subject = this.#subject;
    const given = body ?? look.body;
    const extent = this.#extentOf(look.bound);
    if (extent !== "whole" && extent !== "answer")
      return strings === undefined ? given : writeStrings(subject, given, { scope: extent, strings });
    const known = this.#read(extent, look).all;
    const changed =
      strings === undefined ? given : writeAnswer(subject, given, { known, strings, request: this.#request });
    // events hold what the body lacks: another body takes their place
    if (changed === look.body) return { ...changed };
    return settleRepeats(look.body, changed) as Body; // an object stays one
  }

  /** The JSON in the text. */
  async pieces(look: Look, read: ReadStrings): Promise<JsonPieces> {
    read.pieces ??= look.work.run(readJsonPieces(read.text));
    return read.pieces;
  }
}

const noStrings: readonly string[] = [];

const tooLong = (): CheckError => new CheckError(`Cannot check: the text is longer than ${maxTextLength} characters`);
