/** Kinds of requests with different fields. */
export type RequestKind = "text" | "embed" | "image" | "speech";

/**
 * Fields of OpenAI's requests (https://platform.openai.com/docs/api-reference) and those the gateway documents beside
 * them. A provider that does not support one of them drops it; unknown fields are forwarded to the provider or its
 * model.
 */
const known: Readonly<Record<RequestKind, ReadonlySet<string>>> = {
  text: new Set([
    "model",
    "messages",
    "prompt",
    "stream",
    "stream_options",
    "audio",
    "best_of",
    "echo",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "modalities",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "suffix",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
    // the gateway's own
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "additional_model_request_fields",
    "additional_model_response_field_paths",
    "anthropic_beta",
    "anthropic_version",
    "cache_control",
    "cached_content",
    "context_management",
    "guardrailConfig",
    "guardrail_config",
    "image_config",
    "labels",
    "media_resolution",
    "performanceConfig",
    "performance_config",
    "promptVariables",
    "requestMetadata",
    "safety_settings",
    "speech_config",
    "thinking",
  ]),
  embed: new Set(["model", "input", "dimensions", "encoding_format", "user"]),
  image: new Set([
    "model",
    "prompt",
    "background",
    "moderation",
    "n",
    "output_compression",
    "output_format",
    "partial_images",
    "quality",
    "response_format",
    "size",
    "stream",
    "style",
    "user",
  ]),
  speech: new Set(["model", "input", "voice", "instructions", "response_format", "speed", "stream_format"]),
};

/** Whether a field is OpenAI's or the gateway's; other fields are provider-specific and forwarded unchanged. */
export function isKnownMember(name: string, kind: RequestKind = "text"): boolean {
  return known[kind].has(name);
}

/**
 * The provider-specific fields, without those the adapter handles. Known fields it does not handle are reported as
 * dropped.
 *
 * @param takes Whether the adapter handles a field.
 */
export function passUnknown(
  request: Readonly<Record<string, unknown>>,
  takes: (name: string) => boolean,
  { kind, drop }: { kind?: RequestKind; drop: (member: string) => void },
): Record<string, unknown> {
  const passed = Object.keys(request).filter((name) => {
    const value = request[name];
    if (value === undefined || value === null || takes(name)) return false;
    if (!isKnownMember(name, kind)) return true;
    drop(name);
    return false;
  });
  return Object.fromEntries(passed.map((name) => [name, request[name]]));
}
