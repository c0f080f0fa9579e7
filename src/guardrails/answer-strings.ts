import { toBase64 } from "../lib/base64.ts";
import { parseExact } from "../lib/exact-numbers.ts";
import { isObject, isTooComplex, objectsIn } from "../lib/json.ts";
import { decodeFile, isCoded, isTextType, statedType } from "./leaves.ts";
import {
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
} from "./members.ts";
import type { Body, Replace } from "./types.ts";

/** Deepest nesting that is read. */
const maxDepth = 128;

/** Where a walk is. */
interface Place {
  readonly name: string;
  readonly holder: Readonly<Record<string, unknown>>;
  readonly depth: number;
  /** A model or a tool chose the names around it. */
  readonly isOwn: boolean;
  /** It may repeat the request. */
  readonly isEcho: boolean;
}

const root: Place = { name: "", holder: {}, depth: 0, isOwn: false, isEcho: false };

/** Members of an object that change, or get another name. */
class Changes {
  readonly #holder: Body;
  #members: Map<string, readonly [name: string, value: unknown]> | undefined;

  constructor(holder: Body) {
    this.#holder = holder;
  }

  /** Undefined removes a member. */
  set(name: string, written: string, value: unknown): void {
    this.#members ??= new Map();
    this.#members.set(name, [written, value]);
  }

  /** The object with its changes; the same object without any. */
  apply(): Body {
    const members = this.#members;
    if (!members) return this.#holder;
    const entries = Object.entries(this.#holder).map(([name, value]) => members.get(name) ?? ([name, value] as const));
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
  }
}

/**
 * Walks over every string of a response that a client may show, whichever member holds it: members and kinds that
 * nobody knows too. Keywords, ids and media are left out, and so are settings that the response repeats of its request.
 */
export class AnswerWalk {
  readonly #replace: Replace;
  readonly #request: RequestStrings;
  /** It holds what cannot be read, such as a document that is not text. */
  hasOpaque = false;

  constructor(replace: Replace, request: RequestStrings) {
    this.#replace = replace;
    this.#request = request;
  }

  /** The body with its strings replaced; the same body if nothing changed. */
  walk(body: Body): Body {
    return this.#object(body, root);
  }

  #value(value: unknown, at: Place): unknown {
    if (typeof value === "string") return this.#text(value, at);
    if (typeof value === "number" && at.isOwn) return this.#number(value);
    if (typeof value !== "object" || value === null) return value;
    if (at.depth === maxDepth) {
      this.hasOpaque = true;
      return value;
    }
    if (Array.isArray(value)) return this.#list(value, { ...at, depth: at.depth + 1 });
    return isObject(value) ? this.#object(value, at) : value;
  }

  #list(list: readonly unknown[], at: Place): readonly unknown[] {
    let changed: unknown[] | undefined;
    for (let index = 0; index < list.length; index++) {
      const after = this.#value(list[index], at);
      if (after === list[index]) continue;
      changed ??= [...list];
      changed[index] = after;
    }
    return changed ?? list;
  }

  #object(holder: Body, { name: outer, depth, isOwn: isOwnAlready, isEcho }: Place): Body {
    const isOwn = isOwnAlready || hasOwnNames(outer, holder);
    const isResponse = isWholeResponse(holder);
    const changes = new Changes(holder);
    for (const name in holder) {
      const value = holder[name];
      if (tokenMembers.includes(name)) {
        const tokens = this.#tokens(name, value);
        if (tokens !== value) changes.set(name, name, tokens);
        continue;
      }
      const isKnown = (isEcho || isResponse) && this.#request.has(name);
      const written = isNameText(name, isOwn) && !isKnown ? this.#replace(name) : name;
      const isRead = typeof value === "string" || (typeof value === "object" && value !== null) || isOwn;
      const after = isRead
        ? this.#value(value, { name, holder, depth: depth + 1, isOwn, isEcho: isEcho || mayEcho(name, isResponse) })
        : value;
      if (after !== value || written !== name) changes.set(name, written, after);
    }
    return changes.apply();
  }

  /** What repeats a text token by token: it stays as it is, or goes. */
  #tokens(name: string, value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    const { chosen, others } = readTokens(value);
    const isClean = [chosen, others].every((text) => text === "" || this.#replace(text) === text);
    return isClean ? value : withoutTokens(name, value);
  }

  #text(text: string, at: Place): string {
    const { name, holder, isOwn, isEcho } = at;
    if (!isOwn && isNoText(name, text, holder)) return text;
    if (isEcho && this.#request.has(text)) return text;
    const type = name === "data" ? statedType(holder) : undefined;
    if (type !== undefined && !isOwn && isCoded(text)) return this.#file(text, type);
    if (jsonMembers.has(name) && text.includes("\\")) return this.#json(text, at);
    return this.#replace(text);
  }

  /** A number that a model or a tool chose. */
  #number(value: number): number {
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
  #json(text: string, at: Place): string {
    const written = this.#replace(text);
    if (written !== text) return written;
    if (isTooComplex(text)) {
      this.hasOpaque = true;
      return text;
    }
    try {
      const { value, write } = parseExact(text);
      const changed = this.#value(value, { ...at, name: "arguments", depth: at.depth + 1, isOwn: true });
      return changed === value ? text : write(changed);
    } catch {
      return text;
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
