import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { isReasoningPart, withoutPlaces } from "../../schemas/content-blocks.ts";
import type { ConversionOptions } from "../core/types.ts";
import { clamp, copyMembers, type MemberMap, maxTokensOf, toList } from "../shared/members.ts";
import {
  imageOf,
  isGiven,
  type Message,
  type Part,
  readMessages,
  refuseMember,
  requireOneChoice,
} from "../shared/messages.ts";
import { thinks } from "./facts.ts";

const members = {
  temperature: "temperature",
  seed: "seed",
  documents: "documents",
  citation_options: "citation_options",
  safety_mode: "safety_mode",
  priority: "priority",
  raw_prompting: "raw_prompting",
  k: "k",
  p: "p",
  top_k: "k",
  strict_tools: "strict_tools",
  logprobs: "logprobs",
  stream: "stream",
  stop: ["stop_sequences", toList],
  top_p: ["p", clamp(0.01, 0.99)],
  frequency_penalty: ["frequency_penalty", clamp(0, 1)],
  presence_penalty: ["presence_penalty", clamp(0, 1)],
} satisfies MemberMap;

const handled = [
  "model",
  "messages",
  "max_tokens",
  "max_completion_tokens",
  "tools",
  "tool_choice",
  "response_format",
  "thinking",
  "reasoning_effort",
  "n",
];

function toPart(part: Part, { drop }: ConversionOptions): object[] {
  if (part.type === "text") return [{ type: "text", text: part.text ?? "" }];
  if (part.type === "thinking") return [{ type: "thinking", thinking: part.thinking ?? "" }];
  const image = part.type === "image_url" ? imageOf(part) : undefined;
  if (image) return [{ type: "image_url", image_url: image }];
  if (part.type !== "redacted_thinking")
    refuseMember("cohere", "messages", `it does not accept parts of type ${part.type}`);
  drop("messages.content.redacted_thinking");
  return [];
}

function toContent(content: Message["content"], options: ConversionOptions): unknown {
  return Array.isArray(content) ? content.flatMap((part) => toPart(part, options)) : content;
}

/** Content of an earlier response, with the reasoning that stands beside it. */
function contentOf({ content, content_blocks: blocks, reasoning_content: text }: Message): Message["content"] {
  if (blocks) return withoutPlaces(blocks);
  if (typeof text !== "string" || text === "") return content;
  const said = typeof content === "string" ? (content === "" ? [] : [{ type: "text", text: content }]) : content;
  return [{ type: "thinking", thinking: text }, ...(said ?? [])];
}

/** Reasoning and the rest of an earlier response, for models that plan their calls instead of thinking. */
function splitPlan(content: Message["content"]): { plan: string; content: Message["content"] } {
  if (!Array.isArray(content)) return { plan: "", content };
  const plan = content.map(({ thinking }) => (typeof thinking === "string" ? thinking : "")).join("");
  return { plan, content: content.filter((part) => !isReasoningPart(part)) };
}

function toAssistant(message: Message, options: ConversionOptions, isThinking: boolean): object {
  const { tool_calls: calls, tool_plan: given, citations } = message;
  const whole = contentOf(message);
  const { plan, content } = isThinking ? { plan: "", content: whole } : splitPlan(whole);
  const hasCalls = calls !== undefined && calls !== null && calls.length > 0;
  const converted = toContent(content, options);
  const isEmpty = Array.isArray(converted) && converted.length === 0;
  const tool_plan = given ?? (hasCalls && plan !== "" ? plan : undefined);
  return {
    role: "assistant",
    ...(isGiven(converted) && !isEmpty && { content: converted }),
    ...(isGiven(tool_plan) && { tool_plan }),
    ...(calls && {
      tool_calls: calls.map(({ id, function: { name, arguments: text } }) => ({
        id,
        type: "function",
        function: { name, arguments: text ?? "{}" },
      })),
    }),
    ...(isGiven(citations) && { citations }),
  };
}

function toMessage(message: Message, options: ConversionOptions, isThinking: boolean): object {
  const { role, content, tool_call_id } = message;
  if (role === "assistant") return toAssistant(message, options, isThinking);
  if (role === "function") refuseMember("cohere", "messages", "it does not accept the role function; use role tool");
  const converted = { role: role === "developer" ? "system" : role, content: toContent(content, options) ?? "" };
  return role === "tool" ? { ...converted, tool_call_id } : converted;
}

/** Tools in Cohere's shape. Strict schemas are a single setting for all tools. */
function toTools({ tools, tool_choice: choice, functions }: ChatRequest): object {
  if (isGiven(functions)) refuseMember("cohere", "functions", "use tools instead of functions");
  if (!tools || tools.length === 0) return {};
  const declared = tools.map((tool) => {
    if (tool.type === "function" && isObject(tool.function)) return tool.function;
    return refuseMember("cohere", "tools", `it does not support tools of type ${tool.type}`);
  });
  const name = isObject(choice) && isObject(choice.function) ? choice.function.name : undefined;
  if (isObject(choice) && name === undefined)
    refuseMember("cohere", "tool_choice", "the tool choice is not in a known form");
  const chosen = name === undefined ? declared : declared.filter((tool) => tool.name === name);
  if (chosen.length === 0) refuseMember("cohere", "tool_choice", "it names a function that is missing from tools");
  const word = name === undefined ? choice : "required";
  return {
    tools: chosen.map(({ name, description, parameters }) => ({
      type: "function",
      function: { name, ...(isGiven(description) && { description }), ...(isGiven(parameters) && { parameters }) },
    })),
    ...(chosen.some(({ strict }) => strict === true) && { strict_tools: true }),
    ...((word === "required" || word === "none") && { tool_choice: word.toUpperCase() }),
  };
}

function toResponseFormat(format: unknown): object | undefined {
  if (!isObject(format) || format.type === "text") return undefined;
  const schema = isObject(format.json_schema) ? format.json_schema.schema : undefined;
  return { type: "json_object", ...(isGiven(schema) && { json_schema: schema }) };
}

function toThinking({ thinking, reasoning_effort: effort }: ChatRequest): object | undefined {
  if (isObject(thinking)) {
    const type = thinking.type === "disabled" ? "disabled" : "enabled";
    return { type, ...(isGiven(thinking.budget_tokens) && { token_budget: thinking.budget_tokens }) };
  }
  if (!isGiven(effort)) return undefined;
  return { type: effort === "none" ? "disabled" : "enabled" };
}

/** The upstream's request (https://docs.cohere.com/reference/chat). */
export function toUpstream(request: ChatRequest, options: ConversionOptions): object {
  requireOneChoice("cohere", request);
  const maxTokens = maxTokensOf(request);
  const format = toResponseFormat(request.response_format);
  const thinking = toThinking(request);
  const isThinking = thinks(request.model, options);
  return {
    ...copyMembers(request, members, { handled, drop: options.drop }),
    model: request.model,
    messages: readMessages(request).map((message) => toMessage(message, options, isThinking)),
    ...toTools(request),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(format && { response_format: format }),
    ...(thinking && { thinking }),
  };
}
