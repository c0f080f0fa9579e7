import { objectsIn } from "../../lib/json.ts";
import type { ResponsesRequest, ResponsesResponse } from "../../schemas/responses.ts";
import type { DialectEvent } from "../types.ts";
import { createNumbering } from "./events.ts";
import { isOwnItemId, isOwnResponseId, nameOfResponse, toItemId } from "./ids.ts";
import { readEncryptedContent } from "./signatures.ts";

type Item = Record<string, unknown>;

const prefixes: Readonly<Record<string, string>> = {
  function_call: "fc",
  custom_tool_call: "ctc",
  reasoning: "rs",
  message: "msg",
  function_call_output: "fco",
  custom_tool_call_output: "cto",
};

/** Content as a list of parts. */
function toPartList({ role, content }: Item): unknown {
  if (typeof content !== "string") return content;
  return [{ type: role === "assistant" ? "output_text" : "input_text", text: content }];
}

/**
 * The input items in the form they are stored: each with a type and an id.
 *
 * @param id Id of the response to them.
 */
export function toInputItems(input: ResponsesRequest["input"], id: string): Item[] {
  const items: Item[] = typeof input === "string" ? [{ role: "user", content: input }] : [...(input ?? [])];
  const name = nameOfResponse(id);
  return items.map((item, index) => {
    const type = typeof item.type === "string" ? item.type : "message";
    const named = typeof item.id === "string" ? item.id : toItemId(prefixes[type] ?? "item", name, `i${index}`);
    const said = type === "message" ? { status: "completed", ...item, content: toPartList(item) } : item;
    return { ...said, type, id: named };
  });
}

/**
 * Whether an item is reasoning that no provider of the Responses API generated. Agents that leave ids out, such as Codex, send
 * reasoning of a provider with its sealed content: without both it is what a chat of another provider said.
 */
function isForeignReasoning({ type, id, encrypted_content: sealed }: Item): boolean {
  if (type !== "reasoning") return false;
  if (isOwnItemId(id) || readEncryptedContent(sealed)) return true;
  return typeof id !== "string" && typeof sealed !== "string";
}

/** An item for a provider, without ids that the provider did not generate. */
function toForeignItem(item: Item): Item[] {
  if (isForeignReasoning(item)) return [];
  if (!isOwnItemId(item.id)) return [item];
  const { id: _, ...rest } = item;
  return [rest];
}

/** A request for a native Responses provider, without what only the gateway understands; else unchanged. */
export function toNativeRequest(request: ResponsesRequest): ResponsesRequest {
  const { previous_response_id: previous, ...rest } = request;
  const { input } = request;
  const isOwn = typeof previous === "string" && isOwnResponseId(previous);
  const isTheirs = (item: Item): boolean => !isOwnItemId(item.id) && !isForeignReasoning(item);
  if (!isOwn && (!Array.isArray(input) || input.every(isTheirs))) return request;
  return { ...(isOwn ? rest : request), ...(Array.isArray(input) && { input: input.flatMap(toForeignItem) }) };
}

/** Events of one part of a message. */
function replayPart(part: Item, place: Item): DialectEvent[] {
  const toEvent = (type: string, members: Item): DialectEvent => ({ type: `response.${type}`, ...place, ...members });
  if (part.type === "refusal") {
    const { refusal } = part;
    return [
      toEvent("content_part.added", { part: { ...part, refusal: "" } }),
      toEvent("refusal.delta", { delta: refusal }),
      toEvent("refusal.done", { refusal }),
      toEvent("content_part.done", { part }),
    ];
  }
  const { text, logprobs = [], annotations } = part;
  const added = (Array.isArray(annotations) ? annotations : []).map((annotation, annotation_index) =>
    toEvent("output_text.annotation.added", { annotation_index, annotation }),
  );
  return [
    toEvent("content_part.added", { part: { ...part, text: "", annotations: [], logprobs: [] } }),
    toEvent("output_text.delta", { delta: text, logprobs }),
    ...added,
    toEvent("output_text.done", { text, logprobs }),
    toEvent("content_part.done", { part }),
  ];
}

function replaySummary(part: Item, place: Item): DialectEvent[] {
  const toEvent = (type: string, members: Item): DialectEvent => ({
    type: `response.reasoning_summary_${type}`,
    ...place,
    ...members,
  });
  const { text } = part;
  return [
    toEvent("part.added", { part: { ...part, text: "" } }),
    toEvent("text.delta", { delta: text }),
    toEvent("text.done", { text }),
    toEvent("part.done", { part }),
  ];
}

/** Events of an item between its first and last event. */
function replayContent(item: Item, place: Item): DialectEvent[] {
  const { arguments: given, input, name } = item;
  switch (item.type) {
    case "message":
      return objectsIn(item.content).flatMap((part, content_index) => replayPart(part, { ...place, content_index }));
    case "reasoning":
      return objectsIn(item.summary).flatMap((part, summary_index) => replaySummary(part, { ...place, summary_index }));
    case "function_call":
      return [
        { type: "response.function_call_arguments.delta", ...place, delta: given },
        { type: "response.function_call_arguments.done", ...place, name, arguments: given },
      ];
    default:
      return [
        { type: "response.custom_tool_call_input.delta", ...place, delta: input },
        { type: "response.custom_tool_call_input.done", ...place, input },
      ];
  }
}

const empty: Readonly<Record<string, Item>> = {
  message: { content: [] },
  reasoning: { summary: [], encrypted_content: null },
  function_call: { arguments: "" },
  custom_tool_call: { input: "" },
};

/** The events of a stored response, each delta complete. */
export function replayEvents(response: ResponsesResponse): DialectEvent[] {
  const begun = { ...response, status: "in_progress", completed_at: null, incomplete_details: null, usage: null };
  const items = response.output.flatMap((item, output_index): DialectEvent[] => {
    const start = { ...item, ...empty[item.type], status: "in_progress" };
    return [
      { type: "response.output_item.added", output_index, item: start },
      ...replayContent(item, { item_id: item.id, output_index }),
      { type: "response.output_item.done", output_index, item },
    ];
  });
  const head = { ...begun, output: [] };
  return createNumbering()([
    { type: "response.created", response: head },
    { type: "response.in_progress", response: head },
    ...items,
    { type: `response.${response.status}`, response },
  ]);
}
