import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions } from "../core/types.ts";
import { passUnknown } from "../shared/known.ts";
import { toGenerationConfig } from "./generation.ts";
import { toConversation } from "./messages.ts";
import { wantsWav } from "./sound.ts";
import { toToolMembers } from "./tools.ts";

/** Differences between hosts of these models. */
export interface GeminiHost {
  /** Slug of the provider, for error messages. */
  slug: string;
  /** Request fields only this host has, from the gateway's fields. */
  ownMembers: Readonly<Record<string, (request: ChatRequest) => Record<string, unknown>>>;
}

/** Request fields with a counterpart at Google. */
const mapped = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "temperature",
  "top_p",
  "top_k",
  "stop",
  "n",
  "seed",
  "presence_penalty",
  "frequency_penalty",
  "logprobs",
  "top_logprobs",
  "response_format",
  "modalities",
  "speech_config",
  "audio",
  "image_config",
  "media_resolution",
  "reasoning_effort",
  "thinking",
  "tools",
  "tool_choice",
  "safety_settings",
  "cached_content",
  "functions",
]);

/** Cached content already contains instructions and tools (https://ai.google.dev/gemini-api/docs/caching). */
function withCachedContent(body: Record<string, unknown>, request: ChatRequest, { drop }: ConversionOptions): object {
  const { systemInstruction, tools, toolConfig: _, ...rest } = body;
  if (systemInstruction !== undefined) drop("messages.system");
  if (tools !== undefined) drop("tools");
  return { ...rest, cachedContent: request.cached_content };
}

/**
 * Body of generateContent and streamGenerateContent (https://ai.google.dev/api/generate-content).
 *
 * @throws {InvalidRequestError} If a message, tool or schema cannot be sent.
 */
export function toGeminiRequest(request: ChatRequest, options: ConversionOptions, host: GeminiHost): object {
  const takes = (member: string) => mapped.has(member) || Object.hasOwn(host.ownMembers, member);
  const { generationConfig: given, ...unknown } = passUnknown(request, takes, options);
  wantsWav(request);
  const generationConfig = { ...(isObject(given) && given), ...toGenerationConfig(request, options) };
  const { contents, ...system } = toConversation(request, options);
  const body = {
    ...unknown,
    ...system,
    contents,
    ...toToolMembers(request, options),
    ...(Array.isArray(request.safety_settings) && { safetySettings: request.safety_settings }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
  };
  for (const [member, toMembers] of Object.entries(host.ownMembers)) {
    if (isObject(request[member]) || typeof request[member] === "string") Object.assign(body, toMembers(request));
  }
  return typeof request.cached_content === "string" ? withCachedContent(body, request, options) : body;
}
