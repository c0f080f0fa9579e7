import { finiteNumber, isObject, nonEmptyString, objectsIn, parseJson } from "../../lib/json.ts";
import type { LogContent } from "../../schemas/logs.ts";
import type { Attributes } from "./span.ts";

// Attributes of GenAI spans that only contents show (https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/).

type Item = Record<string, unknown>;

/** Longer bodies are read only where messages are asked for. */
const maxUnaskedLength = 64 * 1024;
/** Longest list of messages in an attribute, in characters. */
const maxMessages = 128 * 1024;

/** Names of numbers in bodies, and of their attributes. */
const numbers: readonly (readonly [string, string])[] = [
  ["max_tokens", "gen_ai.request.max_tokens"],
  ["max_completion_tokens", "gen_ai.request.max_tokens"],
  ["max_output_tokens", "gen_ai.request.max_tokens"],
  ["temperature", "gen_ai.request.temperature"],
  ["top_p", "gen_ai.request.top_p"],
  ["top_k", "gen_ai.request.top_k"],
  ["frequency_penalty", "gen_ai.request.frequency_penalty"],
  ["presence_penalty", "gen_ai.request.presence_penalty"],
  ["seed", "gen_ai.request.seed"],
  ["n", "gen_ai.request.choice.count"],
  ["dimensions", "gen_ai.embeddings.dimension.count"],
];

function stringsIn(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return list.filter((item): item is string => typeof item === "string").slice(0, 16);
}

function addParameters(attributes: Attributes, body: Item): void {
  for (const [name, attribute] of numbers) {
    const value = finiteNumber(body[name]);
    if (value !== undefined && !(name === "n" && value === 1)) attributes[attribute] = value;
  }
  const stops = stringsIn(body.stop ?? body.stop_sequences);
  if (stops.length > 0) attributes["gen_ai.request.stop_sequences"] = stops;
  const encodings = stringsIn(body.encoding_format);
  if (encodings.length > 0) attributes["gen_ai.request.encoding_formats"] = encodings;
  const format = isObject(body.response_format) ? body.response_format.type : undefined;
  if (typeof format === "string") attributes["gen_ai.output.type"] = format.startsWith("json") ? "json" : "text";
  const conversation = nonEmptyString(isObject(body.conversation) ? body.conversation.id : body.conversation);
  if (conversation !== undefined) attributes["gen_ai.conversation.id"] = conversation;
}

function addAnswer(attributes: Attributes, body: Item): void {
  const id = nonEmptyString(body.id);
  if (id !== undefined) attributes["gen_ai.response.id"] = id;
  const model = nonEmptyString(body.model) ?? nonEmptyString(body.modelVersion);
  if (model !== undefined) attributes["gen_ai.response.model"] = model;
  const ends = [
    ...objectsIn(body.choices).map(({ finish_reason }) => finish_reason),
    ...objectsIn(body.candidates).map(({ finishReason }) => finishReason),
    body.stop_reason,
  ];
  const reasons = stringsIn(ends);
  if (reasons.length > 0) attributes["gen_ai.response.finish_reasons"] = reasons;
}

/** A call of a tool, in the form of Chat Completions, of Messages or of Responses. */
function toToolCall(call: Item): Item {
  const named = isObject(call.function) ? call.function : call;
  const given = named.arguments ?? named.input;
  return {
    type: "tool_call",
    id: call.call_id ?? call.id ?? null,
    name: named.name,
    arguments: typeof given === "string" ? (parseJson(given) ?? given) : given,
  };
}

/** A part of a message. Of media only the kind is reported. */
function toPart(part: unknown): Item {
  if (typeof part === "string") return { type: "text", content: part };
  if (!isObject(part)) return { type: "unknown" };
  const { type, text, thinking } = part;
  if (typeof text === "string") return { type: "text", content: text };
  if (typeof thinking === "string") return { type: "reasoning", content: thinking };
  if (type === "tool_use" || type === "function_call") return toToolCall(part);
  if (type === "tool_result" || type === "function_call_output") {
    const response = type === "tool_result" ? toParts(part.content) : part.output;
    return { type: "tool_call_response", id: part.tool_use_id ?? part.call_id ?? null, response };
  }
  return { type: typeof type === "string" ? type : "unknown" };
}

function toParts(content: unknown): Item[] {
  if (content === null || content === undefined) return [];
  return (Array.isArray(content) ? content : [content]).map(toPart);
}

/** A message of any API. */
function toMessage(message: unknown, role: string): Item {
  if (!isObject(message)) return { role, parts: toParts(message) };
  const said = message.content ?? message.parts ?? message.text;
  const own = nonEmptyString(message.role) ?? role;
  if (own === "tool") {
    return { role: own, parts: [{ type: "tool_call_response", id: message.tool_call_id ?? null, response: said }] };
  }
  const isItem = said === undefined && typeof message.type === "string";
  return {
    role: own,
    parts: [...(isItem ? [toPart(message)] : toParts(said)), ...objectsIn(message.tool_calls).map(toToolCall)],
  };
}

function toMessages(list: unknown, role: string): Item[] {
  if (list === null || list === undefined) return [];
  return (Array.isArray(list) ? list : [list]).map((message) => toMessage(message, role));
}

/** The messages of a response, with the reason why each ended. */
function toAnswers(body: Item): Item[] {
  const choices = objectsIn(body.choices).map((choice) => ({
    ...toMessage(choice.message ?? choice, "assistant"),
    finish_reason: choice.finish_reason ?? null,
  }));
  const candidates = objectsIn(body.candidates).map((candidate) => ({
    ...toMessage(candidate.content, "assistant"),
    finish_reason: candidate.finishReason ?? null,
  }));
  if (choices.length + candidates.length > 0) return [...choices, ...candidates];
  if (Array.isArray(body.output)) return toMessages(body.output, "assistant");
  if (!Array.isArray(body.content)) return [];
  return [{ role: "assistant", parts: toParts(body.content), finish_reason: body.stop_reason ?? null }];
}

function addMessages(attributes: Attributes, name: string, messages: readonly Item[]): void {
  if (messages.length === 0) return;
  const text = JSON.stringify(messages);
  if (text.length <= maxMessages) attributes[name] = text;
  else attributes[`${name}.omitted`] = true;
}

/** How contents become attributes. */
interface ContentRules {
  /** Whether messages are asked for. */
  captures: boolean;
  /** The response that a stream adds up to; undefined if the text is not a stream. */
  assemble(text: string): object | undefined;
}

/** A body as an object; undefined where it is something else, or was cut. */
function readBody(body: string | null, { captures, assemble }: ContentRules): Item | undefined {
  if (body === null || (!captures && body.length > maxUnaskedLength)) return undefined;
  const value = assemble(body) ?? parseJson(body);
  return isObject(value) ? value : undefined;
}

/** Attributes that contents show: parameters and ends of requests, and messages where they are asked for. */
export function contentAttributes({ request, response }: LogContent, rules: ContentRules): Attributes {
  const attributes: Attributes = {};
  const sent = readBody(request.body, rules);
  const answered = readBody(response.body, rules);
  if (sent) addParameters(attributes, sent);
  if (answered) addAnswer(attributes, answered);
  if (!rules.captures) return attributes;
  if (sent) {
    addMessages(
      attributes,
      "gen_ai.input.messages",
      toMessages(sent.messages ?? sent.input ?? sent.contents ?? sent.prompt, "user"),
    );
    const system = sent.system ?? sent.instructions ?? sent.systemInstruction;
    addMessages(attributes, "gen_ai.system_instructions", toParts(isObject(system) ? system.parts : system));
  }
  if (answered) addMessages(attributes, "gen_ai.output.messages", toAnswers(answered));
  return attributes;
}
