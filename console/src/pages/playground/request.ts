import { toMessage } from "@/chat/answer.ts";
import { type Message, toWire } from "@/chat/messages.ts";
import { serverToolsHeaders, toResponsesBody } from "@/chat/responses.ts";
import type { ModelRequest } from "@/chat/run.ts";
import { isJsonObject, type JsonObject } from "@/lib/json.ts";
import { text } from "@/text/text.ts";
import type { Column, Parameters, Playground } from "./state.ts";

const words = text.playground;

/** JSON of a field; undefined where it is empty. */
function readJson(written: string, field: string): unknown {
  if (written.trim() === "") return undefined;
  try {
    return JSON.parse(written);
  } catch {
    throw new Error(words.badJson({ field }));
  }
}

function readObject(written: string, field: string): JsonObject | undefined {
  const value = readJson(written, field);
  if (value !== undefined && !isJsonObject(value)) throw new Error(words.notObject({ field }));
  return value;
}

function formatOf({ format, schema }: Parameters): JsonObject | undefined {
  if (format === "") return undefined;
  if (format !== "json_schema") return { type: format };
  const json = readObject(schema, words.schema) ?? { type: "object" };
  return { type: format, json_schema: { name: "answer", schema: json, strict: true } };
}

/** Parameters as members of a body; empty ones are left out. */
export function toParameters(parameters: Parameters): JsonObject {
  const { temperature, maxTokens, topP, stop, effort, extra } = parameters;
  const members: readonly (readonly [string, unknown])[] = [
    ["temperature", temperature],
    ["max_tokens", maxTokens],
    ["top_p", topP],
    ["stop", stop.length === 0 ? "" : stop],
    ["response_format", formatOf(parameters) ?? ""],
    ["reasoning_effort", effort],
  ];
  const given = members.filter(([, value]) => value !== "");
  return { ...Object.fromEntries(given), ...readObject(extra, words.extra) };
}

export function readTools(tools: string): readonly unknown[] | undefined {
  const value = readJson(tools, words.tools);
  if (value !== undefined && !Array.isArray(value)) throw new Error(words.notList({ field: words.tools }));
  return value;
}

/** The first messages of a column: those of all columns, or its own. */
function firstMessages(state: Playground, column: Column): readonly Message[] {
  return state.shared ? state.messages : column.messages;
}

function isFilled({ text: content, images, files, toolCalls, role }: Message): boolean {
  return content !== "" || images.length + files.length > 0 || toolCalls.length > 0 || role === "tool";
}

/** The messages a column begins with, as they are sent. */
export function openingOf(state: Playground, column: Column): readonly JsonObject[] {
  return firstMessages(state, column).filter(isFilled).map(toWire);
}

/** A column as it was sent last: without its last answer. */
export function asSent(column: Column): Column {
  const last = column.turns.findLastIndex(({ kind }) => kind === "answer");
  return last < 0 ? column : { ...column, turns: column.turns.slice(0, last) };
}

/** The conversation of a column so far. */
export function conversationOf(state: Playground, column: Column): readonly Message[] {
  const following = column.turns.map((turn) => (turn.kind === "message" ? turn.message : toMessage(turn.answer)));
  return [...firstMessages(state, column), ...following].filter(isFilled);
}

function headersOf({ target }: Column): Readonly<Record<string, string>> {
  if (target.kind === "config") return { "x-gateway-config": target.config };
  return target.provider === "" ? {} : { "x-gateway-provider": target.provider };
}

/**
 * The request a column stands for.
 *
 * @throws {Error} A field that holds JSON cannot be read, or nothing says where the request goes.
 */
export function toRequest(state: Playground, column: Column): ModelRequest {
  const { target, parameters } = column;
  const model = target.model === "" ? {} : { model: target.model };
  const tools = readTools(state.tools);
  const shared = {
    ...model,
    ...toParameters(parameters),
    ...(tools !== undefined && tools.length > 0 && { tools }),
    ...(state.stream && { stream: true, stream_options: { include_usage: true } }),
  };
  if (target.kind === "prompt") {
    if (target.prompt === "") throw new Error(words.choosePrompt);
    const path = `/v1/prompts/${encodeURIComponent(target.prompt)}/completions`;
    return { path, headers: headersOf(column), body: { variables: target.variables, ...shared } };
  }
  if (target.kind === "config" && target.config === "") throw new Error(words.chooseConfig);
  const messages = conversationOf(state, column).map(toWire);
  if (messages.length === 0) throw new Error(words.noMessages);
  const body = { messages, ...shared };
  const { servers, prompts } = state;
  if (servers.length + prompts.length === 0) return { path: "/v1/chat/completions", headers: headersOf(column), body };
  const headers = { ...headersOf(column), ...serverToolsHeaders };
  return { path: "/v1/responses", headers, body: toResponsesBody(body, { servers, prompts }) };
}
