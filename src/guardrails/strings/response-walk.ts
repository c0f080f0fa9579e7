import { toBase64 } from "../../lib/base64.ts";
import { parseExact } from "../../lib/exact-numbers.ts";
import { isObject, isTooComplex, objectsIn } from "../../lib/json.ts";
import type { Replace } from "../../lib/json-strings.ts";
import type { Body } from "../types.ts";
import { decodeFile, isCoded, isTextType, statedType } from "./coded-files.ts";
import {
  type Holder,
  hasOwnNames,
  isNameText,
  isNoText,
  isWholeResponse,
  jsonMembers,
  maskNumber,
  mayEcho,
  type RequestStrings,
  readTokens,
  tokenMembers,
} from "./member-kinds.ts";
import { StringWalk } from "./string-walk.ts";

/**
 * Walks over every string of a response that a client may show, whichever member holds it: members and kinds that
 * nobody knows too. Keywords, ids and media are left out, and so are settings that the response repeats of its request.
 */
export class ResponseWalk extends StringWalk {
  readonly #replace: Replace;
  readonly #request: RequestStrings;
  /** The value may repeat the request. */
  #isEcho = false;
  /** The object is a whole response of the Responses API. */
  #isResponse = false;

  constructor(replace: Replace, request: RequestStrings) {
    super();
    this.#replace = replace;
    this.#request = request;
  }

  protected override ownsNames(name: string, value: object): boolean {
    return isObject(value) && hasOwnNames(name, value);
  }

  protected override object(holder: Body, outer: string): Body {
    const wasResponse = this.#isResponse;
    this.#isResponse = isWholeResponse(holder);
    const changed = super.object(holder, outer);
    this.#isResponse = wasResponse;
    return changed;
  }

  protected override name(name: string): string {
    if (!isNameText(name, this.isOwn) || tokenMembers.includes(name)) return name;
    const isKnown = (this.#isEcho || this.#isResponse) && this.#request.has(name);
    return isKnown ? name : this.#replace(name);
  }

  protected override member(name: string, value: unknown, holder: Body): unknown {
    const isRead = typeof value === "string" || (typeof value === "object" && value !== null) || this.isOwn;
    if (!isRead) return value;
    if (tokenMembers.includes(name)) return this.#tokens(name, value);
    const wasEcho = this.#isEcho;
    this.#isEcho ||= mayEcho(name, this.#isResponse);
    const after = this.value(value, name, holder);
    this.#isEcho = wasEcho;
    return after;
  }

  /** What repeats a text token by token: it stays as it is, or goes. */
  #tokens(name: string, value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    const { chosen, others } = readTokens(value);
    const isClean = [chosen, others].every((text) => text === "" || this.#replace(text) === text);
    return isClean ? value : withoutTokens(name, value);
  }

  protected override string(string: string, name: string, holder: Holder): string {
    if (!this.isOwn && isNoText(name, string, holder)) return string;
    if (this.#isEcho && this.#request.has(string)) return string;
    const type = name === "data" ? statedType(holder) : undefined;
    if (type !== undefined && !this.isOwn && isCoded(string)) return this.#file(string, type);
    if (jsonMembers.has(name) && string.includes("\\")) return this.#json(string, holder);
    return this.#replace(string);
  }

  /** A number that a model or a tool chose. */
  protected override number(value: number): number {
    const text = String(value);
    return this.#replace(text) === text ? value : maskNumber(value);
  }

  /** A file that is text, such as what code has made. */
  #file(data: string, type: string): string {
    const text = isTextType(type) ? decodeFile(data) : undefined;
    if (text === undefined) {
      this.hasOpaque = true;
      return data;
    }
    const changed = this.#replace(text);
    return changed === text ? data : toBase64(new TextEncoder().encode(changed));
  }

  /** JSON text: as it is written, and as it reads. */
  #json(text: string, holder: Holder): string {
    const written = this.#replace(text);
    if (written !== text) return written;
    if (isTooComplex(text)) {
      this.hasOpaque = true;
      return text;
    }
    const wasOwn = this.isOwn;
    try {
      const { value, write } = parseExact(text);
      this.isOwn = true;
      const changed = this.value(value, "arguments", holder);
      return changed === value ? text : write(changed);
    } catch {
      return text;
    } finally {
      this.isOwn = wasOwn;
    }
  }
}

/** What takes the place of tokens that go. */
function withoutTokens(name: string, value: unknown): unknown {
  if (name !== "logprobs") return undefined;
  return Array.isArray(value) ? [] : null;
}

/** The text of the messages of a whole response, as `output_text` has it. */
function outputText({ output }: Body): string {
  const messages = objectsIn(output).filter(({ type }) => type === "message");
  const parts = messages.flatMap(({ content }) => objectsIn(content)).filter(({ type }) => type === "output_text");
  return parts.map(({ text }) => (typeof text === "string" ? text : "")).join("");
}

/**
 * What a change of a response leaves behind: tokens beside a text that changed go, and `output_text` is made of the
 * output again.
 */
export function settleRepeats(before: unknown, now: unknown): unknown {
  if (before === now) return now;
  if (Array.isArray(before) && Array.isArray(now)) {
    const settled = now.map((item, index) => settleRepeats(before[index], item));
    return settled.some((item, index) => item !== now[index]) ? settled : now;
  }
  return isObject(before) && isObject(now) ? settleObject(before, now) : now;
}

function settleObject(before: Body, now: Body): Body {
  const names = Object.keys(now);
  const isTouched = names.some((name) => !tokenMembers.includes(name) && !isSame(before[name], now[name]));
  if (!isTouched) return now;
  const members = names.flatMap((name): [string, unknown][] => {
    const value = now[name];
    if (!tokenMembers.includes(name)) return [[name, settleRepeats(before[name], value)]];
    // what came with the change belongs to it
    const left = value && isSame(before[name], value) ? withoutTokens(name, value) : value;
    return left === undefined ? [] : [[name, left]];
  });
  const settled: Body = Object.fromEntries(members);
  const { output_text: said } = before;
  if (!isWholeResponse(now) || typeof said !== "string" || said !== outputText(before)) return settled;
  return settled.output_text === undefined ? settled : { ...settled, output_text: outputText(settled) };
}

/** Whether two JSON values are equal; most are the same object. */
function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
