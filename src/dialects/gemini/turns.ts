import { isObject, nonEmptyString } from "../../lib/json.ts";
import { isMarked, readMarkedSignature } from "../../lib/signature-mark.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { callPlace, trimPlaces } from "../../schemas/content-blocks.ts";
import { type Part, toContent } from "../chat-writer.ts";
import type { DialectOptions } from "../types.ts";
import { toMedia } from "./media.ts";
import { itemsOf, type Members, membersOf } from "./members.ts";

type Message = ChatRequest["messages"][number];

const textPart = (text: string): Part => ({ type: "text", text });

/** Fields that identify the kind of a part, for reporting dropped ones. */
const kinds = ["executableCode", "codeExecutionResult", "toolCall", "toolResponse", "inlineData", "fileData"];

function dropPart(part: Members, { drop }: DialectOptions): void {
  const kind = kinds.find((name) => part[name] !== undefined);
  if (kind !== undefined) drop(`contents.${kind}`);
}

/** Text and media of a turn; parts without a counterpart are left out. */
function toParts(parts: readonly Members[], options: DialectOptions): Part[] {
  return parts.flatMap((part): Part[] => {
    const text = nonEmptyString(part.text);
    if (text !== undefined) return [textPart(text)];
    const media = toMedia(part);
    if (!media) dropPart(part, options);
    return media ?? [];
  });
}

/** Ids of calls: a conversation may match calls and results by name and order only. */
class CallIds {
  #made = 0;
  /** Ids of calls without a result yet. */
  readonly #open = new Set<string>();
  /** Ids of calls by name, in order, and the index of the first that may be open. */
  readonly #byName = new Map<string, { ids: string[]; next: number }>();

  /** The id of a call. */
  call(name: string, given: string | undefined): string {
    const id = given ?? `call_${++this.#made}`;
    this.#open.add(id);
    const known = this.#byName.get(name);
    if (known) known.ids.push(id);
    else this.#byName.set(name, { ids: [id], next: 0 });
    return id;
  }

  /** The id of the call a result belongs to. */
  result(name: string, given: string | undefined): string {
    const id = given ?? this.#oldest(name) ?? `call_${++this.#made}`;
    this.#open.delete(id);
    return id;
  }

  #oldest(name: string): string | undefined {
    const calls = this.#byName.get(name);
    while (calls && calls.next < calls.ids.length) {
      const id = calls.ids[calls.next++];
      if (id !== undefined && this.#open.has(id)) return id;
    }
    return undefined;
  }
}

/** Text of a result: a function response with a single string is that string. */
function toResultText(response: unknown): string {
  if (!isObject(response)) return JSON.stringify(response ?? {});
  const { output, ...rest } = response;
  return typeof output === "string" && Object.keys(rest).length === 0 ? output : JSON.stringify(response);
}

/** Messages of a user turn: results of calls first, as separate messages. */
function toUserMessages(parts: readonly Members[], ids: CallIds, options: DialectOptions): Message[] {
  const shown: Part[] = [];
  const results = parts.flatMap((part): Message[] => {
    if (!part.functionResponse) return [];
    const { id, name, response, parts: media } = membersOf(part.functionResponse);
    const callId = ids.result(nonEmptyString(name) ?? "", nonEmptyString(id));
    const held = toParts(itemsOf(media), options);
    // tool messages accept text only
    if (held.length > 0) shown.push(textPart(`Shown by the tool call ${callId}:`), ...held);
    return [{ role: "tool", tool_call_id: callId, content: toResultText(response) }];
  });
  const said = toParts(
    parts.filter((part) => !part.functionResponse),
    options,
  );
  const all = [...shown, ...said];
  return all.length === 0 ? results : [...results, { role: "user", content: toContent(all) }];
}

/** Reasoning of a turn: signed parts as blocks, others as text. */
class ReasoningParts {
  /** Signed reasoning, text and the places of calls in order. */
  readonly blocks: Part[] = [];
  #text = "";
  #isSigned = false;

  add(part: Members, { drop }: DialectOptions): void {
    this.#text += nonEmptyString(part.text) ?? "";
    const { thoughtSignature: given } = part;
    const signature = readMarkedSignature(given);
    if (signature === undefined && nonEmptyString(given) !== undefined) drop("contents.thoughtSignature");
    if (signature) this.#isSigned = true;
    if (signature?.kind === "signature") {
      this.blocks.push({ type: "thinking", thinking: this.#text, signature: signature.text });
      this.#text = "";
    }
    if (signature?.kind === "redacted") this.blocks.push({ type: "redacted_thinking", data: signature.text });
  }

  toMembers(): Part {
    if (this.#isSigned) return { content_blocks: trimPlaces(this.blocks) };
    return this.#text === "" ? {} : { reasoning_content: this.#text };
  }
}

function toCall(part: Members, ids: CallIds, { drop }: DialectOptions): Part {
  const { id, name, args } = membersOf(part.functionCall);
  const { thoughtSignature: given } = part;
  const { text: signature, id: marked } = readMarkedSignature(given) ?? {};
  if (!isMarked(given) && nonEmptyString(given) !== undefined) drop("contents.thoughtSignature");
  return {
    id: ids.call(nonEmptyString(name) ?? "", nonEmptyString(id) ?? nonEmptyString(marked)),
    type: "function",
    function: { name: nonEmptyString(name) ?? "", arguments: JSON.stringify(isObject(args) ? args : {}) },
    ...(signature && { thought_signature: signature }),
  };
}

function toModelMessages(parts: readonly Members[], ids: CallIds, options: DialectOptions): Message[] {
  const thoughts = new ReasoningParts();
  const said: Part[] = [];
  const calls: Part[] = [];
  for (const part of parts) {
    const text = nonEmptyString(part.text);
    if (part.thought === true) thoughts.add(part, options);
    else if (part.functionCall) {
      const call = toCall(part, ids, options);
      calls.push(call);
      thoughts.blocks.push(callPlace(call.id));
    } else {
      if (text === undefined) dropPart(part, options);
      else {
        said.push(textPart(text));
        thoughts.blocks.push(textPart(text));
      }
      if (nonEmptyString(part.thoughtSignature) && !isMarked(part.thoughtSignature))
        options.drop("contents.thoughtSignature");
    }
  }
  const kept = thoughts.toMembers();
  if (said.length === 0 && calls.length === 0 && Object.keys(kept).length === 0) return [];
  const joined = said.length === 0 ? null : said.map(({ text }) => String(text)).join("");
  return [{ role: "assistant", content: joined, ...kept, ...(calls.length > 0 && { tool_calls: calls }) }];
}

interface Turn {
  role: string;
  parts: Members[];
}

/** Turns of a conversation; adjacent model turns are merged. */
function readTurns(contents: unknown): Turn[] {
  const turns: Turn[] = [];
  for (const { role: given, parts } of itemsOf(contents)) {
    const role = given === "model" || given === "system" ? given : "user";
    const last = turns.at(-1);
    const items = itemsOf(parts);
    // pushed one by one: the number of arguments of a call is limited
    if (last?.role === "model" && role === "model") for (const item of items) last.parts.push(item);
    else turns.push({ role, parts: items });
  }
  return turns;
}

/**
 * Messages of a chat from the turns of a conversation.
 *
 * @throws {InvalidRequestError} If only Google can read a file in it.
 */
export function toMessages(contents: unknown, options: DialectOptions): Message[] {
  const ids = new CallIds();
  return readTurns(contents).flatMap(({ role, parts }): Message[] => {
    if (role === "model") return toModelMessages(parts, ids, options);
    return role === "system" ? toSystem({ parts }, options) : toUserMessages(parts, ids, options);
  });
}

/** The system message of a conversation. */
export function toSystem(instruction: unknown, options: DialectOptions): Message[] {
  const parts = toParts(itemsOf(membersOf(instruction).parts), options);
  return parts.length === 0 ? [] : [{ role: "system", content: toContent(parts) }];
}
