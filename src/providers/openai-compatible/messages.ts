import { isObject, objectsIn } from "../../lib/json.ts";
import { mapItems } from "../../lib/json-strings.ts";
import { isReasoningPart, textOfPart } from "../../schemas/content-blocks.ts";
import { withoutExtraSignature } from "../../schemas/extra-content.ts";
import { isDetailSignature, readDetails } from "../../schemas/reasoning-details.ts";
import type { ConversionOptions } from "../core/types.ts";
import { toExtraContent } from "../shared/extra-content.ts";

/** How a provider's messages differ from the gateway's. */
export interface MessageRules {
  /** The provider supports the role `developer`; otherwise it is sent as `system`. */
  developer?: boolean;
  /** The provider reads `cache_control`. */
  cacheControl?: boolean;
  /** The provider accepts system messages as strings only. */
  systemText?: boolean;
  /**
   * What happens to `reasoning_content` of earlier responses: a name sends it under that name, `calls` sends it only
   * with tool calls, `none` never sends it. Default: it is sent unchanged.
   */
  replay?: "reasoning" | "calls" | "none";
  /** The provider takes `reasoning_details`, which calls carry through dialects that have no place for them. */
  details?: boolean;
}

type Part = Record<string, unknown>;

/** A value without one of its fields, which is reported as dropped; the same value when the field is absent. */
function without(value: Part, member: string, { drop }: ConversionOptions): Part {
  if (!(member in value)) return value;
  const { [member]: _, ...rest } = value;
  drop(member);
  return rest;
}

function adaptContent(content: readonly unknown[], rules: MessageRules, options: ConversionOptions): unknown {
  let parts = content;
  if (parts.some(isReasoningPart)) {
    options.drop("thinking");
    parts = parts.filter((part) => !isReasoningPart(part));
    if (parts.length === 0) return null;
  }
  if (rules.cacheControl) return parts;
  const unmarked = mapItems(parts, (part) => (isObject(part) ? without(part, "cache_control", options) : part));
  const [only] = unmarked;
  // agents move their marks from turn to turn: a text that loses its mark looks as one that never had it
  const isPlain = unmarked !== parts && unmarked.length === 1 && isObject(only) && only.type === "text";
  return isPlain && typeof only.text === "string" ? only.text : unmarked;
}

/** A call without a signature of Google's models. */
function withoutExtraContent(call: Part, { drop }: ConversionOptions): Part {
  const made = withoutExtraSignature(call);
  if (made !== call) drop("extra_content");
  return made;
}

/** A call with its signature where Google's OpenAI-compatible endpoint expects it, which is called as a custom host. */
function withExtraContent(call: Part): Part {
  const { thought_signature: signature, ...rest } = call;
  if (typeof signature !== "string" || signature === "" || isDetailSignature(signature)) return call;
  return { ...rest, extra_content: toExtraContent(signature) };
}

function adaptToolCall(call: unknown, rules: MessageRules, options: ConversionOptions): unknown {
  if (!isObject(call)) return call;
  let made = options.hasCustomHost ? withExtraContent(call) : withoutExtraContent(call, options);
  made = without(made, "thought_signature", options);
  if (!rules.cacheControl) made = without(made, "cache_control", options);
  if (!isObject(made.function) || !("thought_signature" in made.function)) return made;
  return { ...made, function: without(made.function, "thought_signature", options) };
}

/** An earlier response with the details that its calls carry; they say what its reasoning says. */
function restoreDetails(message: Part): Part {
  const calls = objectsIn(message.tool_calls);
  const signatures = calls.map(({ thought_signature: signature }) => signature);
  const { reasoning_content: content, reasoning, reasoning_details: given, ...rest } = message;
  if (given !== undefined) return { ...rest, reasoning_details: given };
  if (!signatures.some(isDetailSignature)) return message;
  const text = [content, reasoning].find((one) => typeof one === "string");
  const details = readDetails(signatures, String(text ?? ""));
  const carried = { ...rest, tool_calls: calls.map(withoutCarried) };
  return details.length > 0 ? { ...carried, reasoning_details: details } : { ...message, ...carried };
}

function withoutCarried(call: Part): Part {
  if (!isDetailSignature(call.thought_signature)) return call;
  const { thought_signature: _, ...rest } = call;
  return rest;
}

/** An earlier response, without fields of other providers' shapes. */
function adaptAssistant(message: Part, rules: MessageRules, options: ConversionOptions): Part {
  let made = rules.details ? restoreDetails(message) : without(message, "reasoning_details", options);
  const blocks = made.content_blocks;
  if (blocks !== undefined) {
    made = without(made, "content_blocks", options);
    const isBare = made.content === null || made.content === undefined;
    const text = isBare && Array.isArray(blocks) ? blocks.map(textOfPart).join("") : "";
    if (text !== "") made = { ...made, content: text };
  }
  if (Array.isArray(made.tool_calls)) {
    const calls = mapItems(made.tool_calls, (call) => adaptToolCall(call, rules, options));
    if (calls !== made.tool_calls) made = { ...made, tool_calls: calls };
  }
  return made;
}

function adaptReasoning(message: Part, { replay }: MessageRules, options: ConversionOptions): Part {
  if (replay === "none") return without(message, "reasoning_content", options);
  if (message.reasoning_content === undefined || replay === undefined) return message;
  const { reasoning_content: text, ...rest } = message;
  if (replay === "calls") return Array.isArray(message.tool_calls) && message.tool_calls.length > 0 ? message : rest;
  return typeof text === "string" && rest[replay] === undefined ? { ...rest, [replay]: text } : rest;
}

function adaptSystem(message: Part, rules: MessageRules): Part {
  const role = message.role === "developer" && !rules.developer ? "system" : message.role;
  const { content } = message;
  const text = rules.systemText && Array.isArray(content) ? content.map(textOfPart).join("\n") : content;
  return role === message.role && text === content ? message : { ...message, role, content: text };
}

/** Messages for a provider: with roles it supports, and without fields of other providers' shapes. */
export function adaptMessages(
  messages: readonly unknown[],
  rules: MessageRules,
  options: ConversionOptions,
): readonly unknown[] {
  return mapItems(messages, (message) => {
    if (!isObject(message)) return message;
    let made: Part = message;
    if (!rules.cacheControl) made = without(made, "cache_control", options);
    if (Array.isArray(made.content)) {
      const content = adaptContent(made.content, rules, options);
      if (content !== made.content) made = { ...made, content };
    }
    if (made.role === "system" || made.role === "developer") return adaptSystem(made, rules);
    if (made.role !== "assistant") return made;
    return adaptReasoning(adaptAssistant(made, rules, options), rules, options);
  });
}

/** Tools for a provider. */
export function adaptTools(
  tools: readonly unknown[],
  { cacheControl }: MessageRules,
  options: ConversionOptions,
): readonly unknown[] {
  if (cacheControl) return tools;
  return mapItems(tools, (tool) => (isObject(tool) ? without(tool, "cache_control", options) : tool));
}
