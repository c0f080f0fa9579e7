import { asObject, isJsonObject, type JsonObject, objectsOf, textOf } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import { type Answer, readError } from "./answer.ts";

// The Responses API, in which the gateway runs tools of MCP servers for every model: a chat in its form, and its answers.

/** The header by which a request lets models use MCP servers of the workspace. */
export const serverToolsHeaders = { "x-gateway-beta": "server-side-mcp-2026-06-01" };

/** What labels of MCP servers and of prompts begin with. */
const labelStarts = { servers: "@gateway-mcp/", prompts: "@gateway-prompts/" } as const;

/** A part of a message. */
function toPart(part: JsonObject, isAnswer: boolean): JsonObject {
  if (part.type === "image_url") return { type: "input_image", image_url: asObject(part.image_url).url };
  if (part.type === "file") return { type: "input_file", ...asObject(part.file) };
  return { type: isAnswer ? "output_text" : "input_text", text: part.text };
}

/** A message of a chat as items. */
function toItems(message: JsonObject): readonly JsonObject[] {
  const { role, content, tool_call_id: id } = message;
  if (role === "tool") return [{ type: "function_call_output", call_id: id, output: content }];
  const parts = Array.isArray(content) ? objectsOf(content).map((part) => toPart(part, role === "assistant")) : content;
  const calls = objectsOf(message.tool_calls).map((call) => ({
    type: "function_call",
    call_id: call.id,
    name: asObject(call.function).name,
    arguments: asObject(call.function).arguments,
  }));
  return [...(parts === null || parts === "" ? [] : [{ role, content: parts }]), ...calls];
}

function toTool(tool: JsonObject): JsonObject {
  return isJsonObject(tool.function) ? { type: "function", ...tool.function } : tool;
}

/** Members of a chat that have another name or place here. */
const renamed: Readonly<Record<string, (value: unknown) => JsonObject>> = {
  messages: (value) => ({ input: objectsOf(value).flatMap(toItems) }),
  max_tokens: (value) => ({ max_output_tokens: value }),
  reasoning_effort: (value) => ({ reasoning: { effort: value } }),
  response_format: (value) => {
    const { type, json_schema: schema } = asObject(value);
    return { text: { format: { type, ...asObject(schema) } } };
  },
  stream_options: () => ({}),
};

/**
 * The body of a chat with MCP servers and saved prompts of the workspace as tools.
 *
 * @throws {Error} The Responses API has no stop sequences.
 */
export function toResponsesBody(
  chat: JsonObject,
  named: Readonly<Record<keyof typeof labelStarts, readonly string[]>>,
): JsonObject {
  if (chat.stop !== undefined) throw new Error(text.playground.noStop);
  const { tools, ...others } = chat;
  const members = Object.entries(others).map(([name, value]) =>
    Object.hasOwn(renamed, name) ? renamed[name]?.(value) : { [name]: value },
  );
  const toLabels = (kind: keyof typeof labelStarts) => named[kind].map((slug) => `${labelStarts[kind]}${slug}`);
  const labels = [...toLabels("servers"), ...toLabels("prompts")];
  const own = labels.map((server_label) => ({ type: "mcp", server_label }));
  return { ...Object.assign({}, ...members), tools: [...objectsOf(tools).map(toTool), ...own] };
}

const numberOf = (value: unknown): number => (typeof value === "number" ? value : 0);

/** An answer with an item of the output. */
function addItem(answer: Answer, item: JsonObject): Answer {
  if (item.type === "function_call") {
    const call = { id: textOf(item.call_id), name: textOf(item.name), arguments: textOf(item.arguments) };
    return { ...answer, toolCalls: [...answer.toolCalls, call] };
  }
  if (item.type !== "mcp_call") return answer;
  const isError = item.error !== null && item.error !== undefined;
  const ran = {
    server: textOf(item.server_label).replace(/^@gateway-(?:mcp|prompts)\//, ""),
    name: textOf(item.name),
    arguments: textOf(item.arguments),
    output: textOf(isError ? item.error : item.output),
    isError,
  };
  return { ...answer, ran: [...answer.ran, ran] };
}

const textIn = (parts: unknown): string =>
  objectsOf(parts)
    .map((part) => textOf(part.text) + textOf(part.refusal))
    .join("");

/** An answer with a whole response of the Responses API. */
function addResponse(answer: Answer, response: JsonObject, isStreamed: boolean): Answer {
  const error = readError(response);
  if (error !== undefined) return { ...answer, state: "failed", error };
  const { usage, output, status } = response;
  const counted = asObject(usage);
  const items = isStreamed ? [] : objectsOf(output);
  const said = items.filter(({ type }) => type === "message").map(({ content }) => textIn(content));
  const thought = items.filter(({ type }) => type === "reasoning").map(({ summary }) => textIn(summary));
  return {
    ...items.reduce(addItem, answer),
    text: answer.text + said.join(""),
    reasoning: answer.reasoning + thought.join("\n"),
    finish: status === "completed" ? "stop" : textOf(asObject(response.incomplete_details).reason),
    usage: isJsonObject(usage)
      ? {
          prompt: numberOf(counted.input_tokens),
          completion: numberOf(counted.output_tokens),
          reasoning: numberOf(asObject(counted.output_tokens_details).reasoning_tokens),
          cached: numberOf(asObject(counted.input_tokens_details).cached_tokens),
        }
      : answer.usage,
  };
}

const ends: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete", "response.failed"]);

/** An answer with one more event of a stream of the Responses API, or with the whole response. */
export function addResponsesEvent(answer: Answer, body: unknown): Answer {
  const event = asObject(body);
  const { type } = event;
  if (event.object === "response") return addResponse(answer, event, false);
  if (type === "response.output_text.delta" || type === "response.refusal.delta") {
    return { ...answer, text: answer.text + textOf(event.delta) };
  }
  if (type === "response.reasoning_summary_text.delta" || type === "response.reasoning_text.delta") {
    return { ...answer, reasoning: answer.reasoning + textOf(event.delta) };
  }
  if (type === "response.output_item.done") return addItem(answer, asObject(event.item));
  if (ends.has(type)) return addResponse(answer, asObject(event.response), true);
  if (type !== "error") return answer;
  return { ...answer, state: "failed", error: readError({ error: event.error ?? event }) };
}
