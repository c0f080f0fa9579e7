import type { ErrorCode } from "../../src/schemas/routing-choice.ts";

/** A failure as a provider sends it. */
export interface FailureSample {
  provider: string;
  status: number;
  body: unknown;
  headers?: Readonly<Record<string, string>>;
  code: ErrorCode | undefined;
}

const openai = (message: string, more: object = {}) => ({ error: { message, type: "invalid_request_error", ...more } });
const anthropic = (type: string, message: string) => ({ type: "error", error: { type, message } });
const google = (code: number, status: string, message: string, details?: object[]) => ({
  error: { code, message, status, ...(details && { details }) },
});
const aws = (name: string) => ({ "x-amzn-errortype": `${name}:http://internal.amazon.com/` });

/** Failures by kind, at least one for each form; their sources are those of the forms. */
export const failureSamples: readonly FailureSample[] = [
  ...[
    ["openai", 400, openai("Too long", { code: "context_length_exceeded", param: "messages" })],
    ["openai", 400, openai("Your input exceeds the context window of this model. Please adjust your input.")],
    [
      "vllm",
      400,
      {
        object: "error",
        message: "This model's maximum context length is 4096 tokens.",
        type: "BadRequestError",
        code: 400,
      },
    ],
    ["anthropic", 400, anthropic("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")],
    [
      "anthropic",
      400,
      anthropic("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
    ],
    ["anthropic", 413, anthropic("request_too_large", "Request exceeds the maximum allowed number of bytes.")],
    ["bedrock", 400, { message: "Input is too long for requested model." }, aws("ValidationException")],
    [
      "google",
      400,
      google(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
      ),
    ],
    [
      "vertex-ai",
      400,
      google(
        400,
        "INVALID_ARGUMENT",
        "Unable to submit request because the input token count is 40000 but model only supports up to 32768.",
      ),
    ],
    [
      "mistral-ai",
      400,
      {
        object: "error",
        message: "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        type: "invalid_request_error",
        code: "3051",
      },
    ],
    [
      "cohere",
      400,
      { message: "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000." },
    ],
    ["groq", 400, openai("Please reduce the length of the messages or completion.")],
    [
      "x-ai",
      400,
      {
        code: "Client specified an invalid argument",
        error: "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
      },
    ],
    [
      "llama.cpp",
      400,
      {
        error: {
          code: 400,
          message: "the request exceeds the available context size",
          type: "exceed_context_size_error",
        },
      },
    ],
    ["together-ai", 422, openai("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097.")],
  ].map((sample) => [...sample, "context_too_long"]),
  ...[
    [
      "azure-openai",
      400,
      openai("The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", {
        code: "content_filter",
        innererror: { code: "ResponsibleAIPolicyViolation" },
      }),
    ],
    [
      "openai",
      400,
      openai("Your request was rejected as a result of our safety system.", { code: "moderation_blocked" }),
    ],
    ["anthropic", 400, anthropic("invalid_request_error", "Output blocked by content filtering policy")],
    ["bedrock", 400, { message: "This request has been blocked by our content filters." }, aws("ValidationException")],
    [
      "openrouter",
      403,
      {
        error: {
          code: 403,
          message: "The model requires moderation. Your input was flagged",
          metadata: { reasons: ["violence"] },
        },
      },
    ],
    ["deepseek", 400, openai("Content Exists Risk")],
    [
      "moonshot",
      400,
      { error: { message: "The request was rejected because it was considered high risk", type: "content_filter" } },
    ],
    ["qwen", 400, { code: "DataInspectionFailed", message: "Input data may contain inappropriate content." }],
    ["stability-ai", 403, { id: "x", name: "content_moderation", errors: ["Your request was flagged"] }],
  ].map((sample) => [...sample, "content_filter"]),
  ...[
    ["openai", 429, openai("Rate limit reached", { type: "tokens", code: "rate_limit_exceeded" })],
    [
      "openai",
      429,
      openai("You exceeded your current quota", { type: "insufficient_quota", code: "insufficient_quota" }),
    ],
    [
      "groq",
      413,
      openai("Request too large for model on tokens per minute (TPM)", { type: "tokens", code: "rate_limit_exceeded" }),
    ],
    ["anthropic", 429, anthropic("rate_limit_error", "This request would exceed your rate limit")],
    ["anthropic", 402, anthropic("billing_error", "Your credit balance is too low")],
    ["bedrock", 400, { message: "Too many requests, please wait" }, aws("ThrottlingException")],
    ["google", 429, google(429, "RESOURCE_EXHAUSTED", "Quota exceeded")],
    ["any", 429, "slow down"],
    ["any", 402, "Payment required"],
  ].map((sample) => [...sample, "rate_limit"]),
  ...[
    ["anthropic", 529, anthropic("overloaded_error", "Overloaded")],
    ["openai", 503, openai("Slow down", { type: "server_error", code: "slow_down" })],
    ["openai", 429, openai("The engine is currently overloaded, please try again later", { type: "server_error" })],
    ["google", 503, google(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")],
    ["bedrock", 429, { message: "Model is not ready for inference" }, aws("ModelNotReadyException")],
    ["any", 503, "<html>busy</html>"],
  ].map((sample) => [...sample, "overloaded"]),
  ...[
    ["openai", 401, openai("Incorrect API key provided", { code: "invalid_api_key" })],
    ["anthropic", 401, anthropic("authentication_error", "invalid x-api-key")],
    ["anthropic", 403, anthropic("permission_error", "Your API key does not have permission")],
    [
      "google",
      400,
      google(400, "INVALID_ARGUMENT", "API key not valid.", [
        { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" },
      ]),
    ],
    [
      "bedrock",
      400,
      { message: "The security token included in the request is expired" },
      aws("ExpiredTokenException"),
    ],
    ["any", 403, "Forbidden"],
    ["moonshot", 403, { error: { message: "The API is not open", type: "permission_denied_error" } }],
  ].map((sample) => [...sample, "authentication"]),
  ...[
    [
      "openai",
      400,
      openai("Invalid schema for function 'f'", {
        param: "tools[0].function.parameters",
        code: "invalid_function_parameters",
      }),
    ],
    ["openai", 400, openai("Invalid 'tools': array too long.", { param: "tools" })],
    ["groq", 400, openai("Failed to call a function.", { code: "tool_use_failed", failed_generation: "<f>" })],
    ["anthropic", 400, anthropic("invalid_request_error", "tools.0.custom.input_schema: JSON schema is invalid")],
    [
      "google",
      400,
      google(
        400,
        "INVALID_ARGUMENT",
        "* GenerateContentRequest.tools[0].function_declarations[0].name: Invalid function name.",
      ),
    ],
    ["bedrock", 400, { message: "This model doesn't support tool use." }, aws("ValidationException")],
    ["ollama", 400, openai("registry.ollama.ai/library/gemma:2b does not support tools")],
    ["openrouter", 404, { error: { code: 404, message: "No endpoints found that support tool use." } }],
    ["google", 502, openai("Cannot use the response of google: it ended with MALFORMED_FUNCTION_CALL")],
  ].map((sample) => [...sample, "invalid_tool"]),
  ...[
    ["bedrock", 408, { message: "Model timeout" }, aws("ModelTimeoutException")],
    ["google", 504, google(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.")],
    ["any", 504, "gateway timeout"],
    ["any", 524, ""],
  ].map((sample) => [...sample, "timeout"]),
  // failures of other kinds
  ...[
    ["openai", 500, openai("The server had an error", { type: "server_error" })],
    ["openai", 400, openai("Unknown parameter: 'foo'.", { param: "foo", code: "unknown_parameter" })],
    [
      "openai",
      400,
      openai(
        "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
        { param: "messages.[1].role" },
      ),
    ],
    ["openai", 404, openai("The model `m` does not exist", { code: "model_not_found" })],
    [
      "anthropic",
      400,
      anthropic(
        "invalid_request_error",
        "max_tokens: 300000 > 64000, which is the maximum allowed number of output tokens",
      ),
    ],
    ["google", 400, google(400, "FAILED_PRECONDITION", "User location is not supported for the API use.")],
  ].map((sample) => [...sample, undefined]),
].map((sample) => {
  const [provider, status, body] = sample as [string, number, unknown];
  const headers = sample.length > 4 ? (sample[3] as FailureSample["headers"]) : undefined;
  return { provider, status, body, ...(headers && { headers }), code: sample.at(-1) as FailureSample["code"] };
});
