import type { CallerContext } from "../../context.ts";
import { replayEvents } from "../../dialects/responses/stored.ts";
import type { Body, RequestType } from "../../guardrails/types.ts";
import { parseExact } from "../../lib/exact-numbers.ts";
import { isObject, objectsIn, parseJson } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { doneEvent, encodeEvent } from "../../lib/sse.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import type { ResponsesResponse } from "../../schemas/responses.ts";
import { asksForUsage, operationFacts } from "../facts/operation-facts.ts";
import { isStrict } from "../target/target.ts";
import { withStreamResults } from "./guard-stages.ts";

/** Fields of a choice that belong to its end. */
function endOf({ finish_reason = null }: Body): Body {
  return { finish_reason };
}

/** Characters of a text in one event, roughly. */
const pieceLength = 500;

/** A text in pieces that do not cut a character. */
function toPieces(text: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    const end = start + pieceLength;
    // a low surrogate belongs to the character before it
    const isCut = /[\udc00-\udfff]/.test(text.charAt(end));
    pieces.push(text.slice(start, isCut ? end + 1 : end));
    start = isCut ? end + 1 : end;
  }
  return pieces;
}

/** Chunks of a chat: each message, then the end of each, then the counts. */
function toChunks({ choices, usage, ...head }: Body, includeUsage: boolean): Body[] {
  const { hook_results: _, object: __, ...shared } = head;
  const base = { ...shared, object: "chat.completion.chunk" };
  const chunk = (choice: Body): Body => ({ ...base, choices: [choice] });
  const listed = objectsIn(choices);
  const messages = listed.flatMap(({ index = 0, message, logprobs }) => {
    const { tool_calls: calls, content_blocks: blocks, ...said } = isObject(message) ? message : {};
    const tool_calls = objectsIn(calls).map((call, place) => ({ index: place, ...call }));
    const content_blocks = objectsIn(blocks).map((block, place) => ({ index: place, delta: block }));
    const [content = said.content, ...more] = typeof said.content === "string" ? toPieces(said.content) : [];
    const first = {
      index,
      delta: {
        ...said,
        ...(content !== undefined && { content }),
        ...(content_blocks.length > 0 && { content_blocks }),
        ...(tool_calls.length > 0 && { tool_calls }),
      },
      ...(isObject(logprobs) && { logprobs }),
      finish_reason: null,
    };
    return [first, ...more.map((piece) => ({ index, delta: { content: piece }, finish_reason: null }))].map(chunk);
  });
  const ends = listed.map((choice) => chunk({ index: choice.index ?? 0, delta: {}, ...endOf(choice) }));
  const counts = includeUsage && isObject(usage) ? [{ ...base, choices: [], usage }] : [];
  return [...messages, ...ends, ...counts];
}

/** Events of one content block of a message (https://docs.claude.com/en/docs/build-with-claude/streaming). */
export function toBlockEvents(block: Body, index: number): Body[] {
  const { text, thinking, signature, input } = block;
  const delta = (value: Body): Body => ({ type: "content_block_delta", index, delta: value });
  const start = (content_block: Body): Body => ({ type: "content_block_start", index, content_block });
  const stop = { type: "content_block_stop", index };
  if (typeof text === "string") {
    return [start({ ...block, text: "" }), delta({ type: "text_delta", text }), stop];
  }
  if (typeof thinking === "string") {
    const begun = start({ ...block, thinking: "", signature: "" });
    return [begun, delta({ type: "thinking_delta", thinking }), delta({ type: "signature_delta", signature }), stop];
  }
  if (input === undefined) return [start(block), stop];
  const partial_json = JSON.stringify(input);
  return [start({ ...block, input: {} }), delta({ type: "input_json_delta", partial_json }), stop];
}

/** Events of a message. */
function toMessageEvents({ content, stop_reason, stop_sequence = null, usage, ...head }: Body): Body[] {
  const { hook_results: _, ...message } = head;
  const begun = { ...message, content: [], stop_reason: null, stop_sequence: null, usage };
  return [
    { type: "message_start", message: begun },
    ...objectsIn(content).flatMap(toBlockEvents),
    { type: "message_delta", delta: { stop_reason, stop_sequence }, usage },
    { type: "message_stop" },
  ];
}

const writeNamed = (events: readonly Body[]): string =>
  events.map((event) => encodeEvent(event, String(event.type))).join("");

/**
 * A non-streaming response as the text of a stream of its route, each part in one event.
 *
 * @param options Whether counts are included on routes that report them only when requested.
 */
export function replay(requestType: RequestType, answer: Body, { includeUsage }: { includeUsage: boolean }): string {
  switch (requestType) {
    case "chatComplete":
      return (
        toChunks(answer, includeUsage)
          .map((chunk) => encodeEvent(chunk))
          .join("") + doneEvent
      );
    case "messages":
      return writeNamed(toMessageEvents(answer));
    case "createModelResponse":
      return writeNamed(replayEvents(answer as ResponsesResponse)); // it was made in this shape
    case "complete":
      return encodeEvent(answer) + doneEvent;
    case "createTranscription":
      return encodeEvent({ type: "transcript.text.done", ...answer });
    default:
      return encodeEvent(answer);
  }
}

const decoder = new TextDecoder();

/** The response to a streaming request, also where the provider's was non-streaming: such clients read events only. */
export function toStreamed(name: OperationName, reply: Reply, request: object, context: CallerContext): Reply {
  const { status, headers, body } = reply;
  const { requestType, replays } = operationFacts[name];
  const isWhole = body !== null && !(body instanceof ReadableStream) && headers["content-type"] === "application/json";
  if (!isWhole || !replays || status > 299) return reply;
  const given = typeof body === "string" ? body : decoder.decode(body);
  if (parseJson(given) === undefined) return reply;
  const { value: answer, numbers } = parseExact(given);
  if (!isObject(answer)) return reply;

  const events = replay(requestType, answer, { includeUsage: asksForUsage(request) });
  const { before = [], after = [] } = context.log.hooks ?? {};
  const text = withStreamResults(numbers?.restore(events) ?? events, {
    requestType,
    strict: isStrict(context),
    before,
    after,
  });
  return { ...reply, headers: { ...headers, "content-type": "text/event-stream; charset=utf-8" }, body: text };
}
