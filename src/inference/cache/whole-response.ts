import { shelterIntegers } from "../../lib/exact-numbers.ts";
import { isObject, objectsIn, parseJson } from "../../lib/json.ts";
import { readEvents } from "../../lib/sse.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { trimPlaces } from "../../schemas/content-blocks.ts";
import {
  InexactError,
  type Join,
  joinLists,
  joinMembers,
  joinObjects,
  joinText,
  refuseInexact,
  takeLast,
  takeOnly,
} from "./join-pieces.ts";

// The whole response that a stream adds up to. Unlike the assembly for logs it loses nothing: what it does not know how
// to put together is not stored.

type Body = Record<string, unknown>;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Entries of a list by their index. */
class Indexed {
  readonly #entries = new Map<number, Body>();

  at(index: unknown): Body {
    const place = index ?? 0;
    if (typeof place !== "number" || !Number.isSafeInteger(place) || place < 0) return refuseInexact("index");
    const known = this.#entries.get(place) ?? {};
    this.#entries.set(place, known);
    return known;
  }

  list(): [index: number, entry: Body][] {
    return [...this.#entries].sort(([one], [other]) => one - other);
  }
}

/** How members of a tool call grow. */
const callJoins: Readonly<Record<string, Join>> = {
  function: joinObjects({ name: joinText, arguments: joinText }),
  custom: joinObjects({ name: joinText, input: joinText }),
};

/** Tool calls grow by their index; they come without it in a whole response. */
const joinCalls: Join = (known, pieces, name) => {
  if (pieces === null || pieces === undefined) return known;
  if (!Array.isArray(pieces)) return refuseInexact(name);
  const calls = known instanceof Indexed ? known : new Indexed();
  for (const piece of pieces) {
    if (!isObject(piece)) return refuseInexact(name);
    const { index, ...members } = piece;
    joinMembers(calls.at(index), members, { joins: callJoins, other: takeOnly });
  }
  return calls;
};

const blockJoins: Readonly<Record<string, Join>> = {
  text: joinText,
  thinking: joinText,
  signature: joinText,
  partial_json: joinText,
  citation: (known, piece) => [...(Array.isArray(known) ? known : []), piece],
};

/** A block whose deltas have all come. */
function toBlock({ partial_json: json, citation, ...block }: Body): Body {
  const cited = Array.isArray(citation) ? { ...block, citations: [...toList(block.citations), ...citation] } : block;
  if (json === undefined || json === "") return cited;
  // numbers that JavaScript cannot represent would change
  const input = typeof json === "string" && !/\d{16}/.test(json) ? parseJson(json) : undefined;
  return isObject(input) ? { ...cited, input } : refuseInexact("partial_json");
}

const toList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Blocks of a chat message grow by their index, as those of the Messages API do. */
const joinBlocks: Join = (known, pieces, name) => {
  if (pieces === null || pieces === undefined) return known;
  if (!Array.isArray(pieces)) return refuseInexact(name);
  const blocks = known instanceof Indexed ? known : new Indexed();
  for (const piece of pieces) {
    if (!isObject(piece) || !isObject(piece.delta)) return refuseInexact(name);
    joinMembers(blocks.at(piece.index), piece.delta, { joins: blockJoins, other: takeOnly });
  }
  return blocks;
};

/** A block of a chat message: some providers do not name its type in streams. */
function toChatBlock(members: Body): Body {
  const block = toBlock(members);
  if (typeof block.type === "string") return block;
  const type = ["thinking", "text"].find((name) => typeof block[name] === "string");
  return type === undefined ? refuseInexact("content_blocks") : { type, ...block };
}

const deltaJoins: Readonly<Record<string, Join>> = {
  role: takeLast,
  content: joinText,
  refusal: joinText,
  reasoning_content: joinText,
  reasoning: joinText,
  tool_calls: joinCalls,
  function_call: joinObjects({ name: joinText, arguments: joinText }),
  audio: joinObjects({ data: joinText, transcript: joinText }, takeLast),
  annotations: joinLists,
  content_blocks: joinBlocks,
};

/** Members of a delta that nobody knows how to put together, unless they come once. */
const unknownDelta: Join = takeOnly;

const tokenLists = ["content", "refusal", "tokens", "token_logprobs", "top_logprobs", "text_offset"];
const logprobs = joinObjects(Object.fromEntries(tokenLists.map((name) => [name, joinLists])));

const choiceJoins: Readonly<Record<string, Join>> = { text: joinText, logprobs, index: takeOnly };

interface Choice {
  members: Body;
  message: Body;
}

function toMessage(message: Body): Body {
  const { tool_calls: calls, content_blocks: blocks, ...said } = message;
  return {
    role: "assistant",
    ...said,
    content: message.content ?? null,
    ...(blocks instanceof Indexed && {
      content_blocks: trimPlaces(blocks.list().map(([, block]) => toChatBlock(block))),
    }),
    ...(calls instanceof Indexed && { tool_calls: calls.list().map(([, call]) => call) }),
  };
}

/** Chunks of chats and completions (https://platform.openai.com/docs/api-reference/chat-streaming). */
function assembleChunks(events: readonly Body[], { usage, isChat }: { usage: unknown; isChat: boolean }): Body {
  const head: Body = {};
  const choices = new Map<number, Choice>();
  for (const { choices: pieces, usage: _, obfuscation: __, object: ___, ...members } of events) {
    joinMembers(head, members, { joins: {}, other: takeLast });
    for (const piece of objectsIn(pieces)) {
      const { delta, ...rest } = piece;
      const index = typeof piece.index === "number" ? piece.index : 0;
      const choice = choices.get(index) ?? { members: { index }, message: {} };
      choices.set(index, choice);
      joinMembers(choice.members, rest, { joins: choiceJoins, other: takeLast });
      if (isObject(delta)) joinMembers(choice.message, delta, { joins: deltaJoins, other: unknownDelta });
    }
  }
  const list = [...choices].sort(([one], [other]) => one - other).map(([, choice]) => choice);
  return {
    ...head,
    object: isChat ? "chat.completion" : "text_completion",
    choices: list.map(({ members, message }) => (isChat ? { ...members, message: toMessage(message) } : members)),
    ...(isObject(usage) && { usage }),
  };
}

const otherMessageEvents = new Set(["content_block_stop", "message_stop", "ping"]);

/** Events of the Messages API (https://docs.claude.com/en/docs/build-with-claude/streaming). */
function assembleMessage(events: readonly Body[]): Body {
  const message: Body = {};
  const blocks = new Indexed();
  for (const { type, index, message: begun, content_block: block, delta, usage } of events) {
    if (type === "message_start" && isObject(begun)) Object.assign(message, begun);
    else if (type === "content_block_start" && isObject(block)) Object.assign(blocks.at(index), block);
    else if (type === "content_block_delta" && isObject(delta)) {
      const { type: _, ...members } = delta;
      joinMembers(blocks.at(index), members, {
        joins: blockJoins,
        other: (_known, _piece, name) => refuseInexact(name),
      });
    } else if (type === "message_delta" && isObject(delta)) {
      const counts = { ...(isObject(message.usage) && message.usage), ...(isObject(usage) && usage) };
      Object.assign(message, delta, { usage: counts });
    } else if (!otherMessageEvents.has(String(type))) refuseInexact(String(type));
  }
  return { ...message, content: blocks.list().map(([, block]) => toBlock(block)) };
}

/** Events of the Responses API: the last one holds the response. */
function assembleResponse(events: readonly Body[]): Body {
  const response = events.findLast(({ type }) => type === "response.completed")?.response;
  const items = events.filter(({ type }) => type === "response.output_item.done").length;
  if (!isObject(response) || objectsIn(response.output).length !== items) return refuseInexact("output");
  return response;
}

/** Members of a part that is plain text. */
const textPart = new Set(["text", "thought"]);

/** Adds the parts of a content; text goes on where only text came before. */
function addParts(parts: Body[], content: unknown): void {
  const added = isObject(content) ? objectsIn(content.parts) : [];
  for (const part of added) {
    const last = parts.at(-1);
    const isText = Object.keys(part).every((name) => textPart.has(name)) && typeof part.text === "string";
    const goesOn = isText && typeof last?.text === "string" && last.thought === part.thought;
    if (goesOn && Object.keys(last).every((name) => textPart.has(name))) last.text = `${last.text}${part.text}`;
    else parts.push({ ...part });
  }
}

/** Chunks of the Gemini API (https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent). */
function assembleContents(events: readonly Body[]): Body {
  const head: Body = {};
  const candidates = new Indexed();
  const parts = new Map<Body, Body[]>();
  const others: Readonly<Record<string, Join>> = {
    finishReason: takeLast,
    safetyRatings: takeLast,
    tokenCount: takeLast,
  };
  for (const { candidates: pieces, ...members } of events) {
    joinMembers(head, members, { joins: {}, other: takeLast });
    for (const { content, ...piece } of objectsIn(pieces)) {
      const candidate = candidates.at(piece.index);
      joinMembers(candidate, piece, { joins: others, other: takeOnly });
      const known = parts.get(candidate) ?? [];
      parts.set(candidate, known);
      addParts(known, content);
    }
  }
  const list = candidates.list().map(([, candidate]) => {
    return { content: { role: "model", parts: parts.get(candidate) ?? [] }, ...candidate };
  });
  return { ...head, candidates: list };
}

function assemble(operation: OperationName, events: readonly Body[], usage: unknown): Body {
  switch (operation) {
    case "chat":
    case "complete":
      return assembleChunks(events, { usage, isChat: operation === "chat" });
    case "messages":
      return assembleMessage(events);
    case "responses":
      return assembleResponse(events);
    case "generateContent":
      return assembleContents(events);
    default:
      return refuseInexact(operation);
  }
}

/**
 * The JSON of the response that a stream adds up to; undefined where it cannot be put together without loss.
 *
 * @param stream A complete stream as its client would get it.
 * @param usage What its observer read, in the shape of the route.
 */
export function toWholeResponse(operation: OperationName, stream: string, usage: unknown): string | undefined {
  const sheltered = shelterIntegers(encoder.encode(stream));
  const text = sheltered ? decoder.decode(sheltered.bytes) : stream;
  const events: Body[] = [];
  for (const { data } of readEvents(text)) {
    const event = data === "[DONE]" ? {} : parseJson(data);
    if (!isObject(event)) return undefined;
    if (data !== "[DONE]") events.push(event);
  }
  try {
    const whole = JSON.stringify(assemble(operation, events, usage));
    return sheltered ? sheltered.numbers.restore(whole) : whole;
  } catch (error) {
    if (error instanceof InexactError) return undefined;
    throw error;
  }
}
