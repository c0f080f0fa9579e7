import {
  AuthenticationError,
  BudgetError,
  type GatewayError,
  InvalidRequestError,
  RateLimitError,
  TimeoutError,
  UpstreamError,
} from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { ErrorCode } from "../../schemas/routing-choice.ts";

/** One form in which providers report a kind of failure. Each member that is given must hold. */
interface FailureForm {
  /** Whose form it is. */
  readonly form: string;
  readonly code: ErrorCode;
  /** Names in `code` or `type` of the error, or reasons of a Google error, in lower case. */
  readonly words?: readonly string[];
  readonly statuses?: readonly number[];
  /** What the field says that the provider complains about. */
  readonly param?: RegExp;
  /** What the message says. */
  readonly says?: RegExp;
}

const refusals = [400, 413, 422] as const;

/**
 * The forms, the first that fits counts: words and sentences before statuses, since one status stands for several kinds.
 *
 * Sources: https://platform.openai.com/docs/guides/error-codes, https://docs.claude.com/en/api/errors,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html,
 * https://ai.google.dev/gemini-api/docs/troubleshooting, https://cloud.google.com/apis/design/errors,
 * https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter, https://docs.cohere.com/reference/errors,
 * https://console.groq.com/docs/errors, https://openrouter.ai/docs/api-reference/errors,
 * https://api-docs.deepseek.com/quick_start/error_codes, https://docs.vllm.ai, https://github.com/ggml-org/llama.cpp.
 */
export const failureForms: readonly FailureForm[] = [
  {
    form: "OpenAI, Azure, Groq, Cerebras, DeepSeek: a code",
    code: "context_too_long",
    words: ["context_length_exceeded", "string_above_max_length", "exceed_context_size_error"],
  },
  { form: "gateway: a stream without an answer", code: "empty", words: ["upstream_empty_stream"] },
  {
    form: "gateway: no connection or no data in time",
    code: "timeout",
    words: ["upstream_connect_timeout", "upstream_idle"],
  },
  {
    form: "OpenAI, Azure, Moonshot, Alibaba, Stability: a code",
    code: "content_filter",
    words: [
      "content_filter",
      "content_policy_violation",
      "moderation_blocked",
      "responsibleaipolicyviolation",
      "data_inspection_failed",
      "datainspectionfailed",
      "content_moderation",
      "prohibited_content",
      "invalid_prompt",
    ],
  },
  {
    form: "OpenAI, Groq: a code of tools",
    code: "invalid_tool",
    words: ["tool_use_failed", "invalid_function_parameters", "unknown_tool", "invalid_tool"],
  },
  {
    form: "Groq: a request above the tokens of a minute",
    code: "rate_limit",
    statuses: [413],
    words: ["rate_limit_exceeded", "tokens"],
  },
  {
    form: "OpenAI, vLLM, DeepSeek, OpenRouter, Mistral, xAI, Fireworks: the maximum length",
    code: "context_too_long",
    statuses: refusals,
    says: /\b(?:maximum|max) (?:context|prompt|input|sequence|model) (?:length|len)\b|\bmaximum length of the model\b/i,
  },
  {
    form: "OpenAI's Responses API, llama.cpp, Ollama, Workers AI: the window",
    code: "context_too_long",
    says: /\bexceed(?:s|ed)?\b.{0,80}\bcontext (?:window|size|length|limit)\b|\bcontext (?:window|length) (?:is )?exceeded\b/i,
  },
  {
    form: "Anthropic, Bedrock, Fireworks: a prompt that is too long",
    code: "context_too_long",
    says: /\b(?:prompt|input|conversation) is too (?:long|large)\b/i,
  },
  {
    form: "Google: the count of tokens",
    code: "context_too_long",
    statuses: refusals,
    says: /\binput token count\b.{0,60}\b(?:exceeds|supports)\b/i,
  },
  {
    form: "Cohere, Together, Hugging Face, watsonx: too many tokens",
    code: "context_too_long",
    statuses: refusals,
    says: /\btoo many (?:input )?tokens\b|`inputs`.{0,60}\b(?:must|should) (?:have less|be)\b|\binput tokens\b.{0,40}\bcannot exceed\b/i,
  },
  {
    form: "Groq, Cerebras: a request to shorten",
    code: "context_too_long",
    statuses: refusals,
    says: /\breduce the length of (?:the|your) (?:messages|prompt|input)\b/i,
  },
  {
    form: "Anthropic: a request above its bytes",
    code: "context_too_long",
    words: ["request_too_large"],
    statuses: [413],
  },
  {
    form: "Anthropic, Amazon, OpenRouter, xAI, DeepSeek: a sentence of a filter",
    code: "content_filter",
    says: /\bcontent (?:filter(?:ing|s)?|management|moderation) (?:policy|system)\b|\b(?:our|by) content filters?\b|\bcontent exists risk\b|\bviolates? (?:our |the )?(?:usage|content|safety) (?:guidelines|polic)|\bresponsible ai\b|\brequires moderation\b.{0,80}\bflagged\b|\bwas flagged\b|\bsafety system\b|\bconsidered high risk\b/i,
  },
  {
    form: "Google: a call that the model could not make",
    code: "invalid_tool",
    says: /\bended with (?:MALFORMED_FUNCTION_CALL|UNEXPECTED_TOOL_CALL|TOO_MANY_TOOL_CALLS)\b/,
  },
  {
    form: "OpenAI, Anthropic, Google, Bedrock: a field of tools",
    code: "invalid_tool",
    statuses: refusals,
    param: /^(?:tools|tool_choice|functions|function_call|toolConfig)\b/,
  },
  {
    form: "Anthropic, Google, Bedrock: a field of tools in the message",
    code: "invalid_tool",
    statuses: refusals,
    says: /(?:^|[\s"'`*.])(?:tools\.\d+|tools\[\d+\]|tool_choice|tool_config|toolConfig|function_declarations\b)/,
  },
  {
    form: "Ollama, OpenRouter, Mistral, Bedrock, Cohere: a model without tools",
    code: "invalid_tool",
    statuses: [400, 404, 422],
    says: /\b(?:not|n't) support (?:tool|function)|\bsupport tool use\b|\btools? (?:is|are) not supported\b|\bfunction calling is not (?:enabled|supported)\b|\btool choice requires\b/i,
  },
  {
    form: "OpenAI, Anthropic, Bedrock, Together: a model without room, whatever the status",
    code: "overloaded",
    words: [
      "overloaded_error",
      "overloaded",
      "slow_down",
      "engine_overloaded",
      "engine_overloaded_error",
      "model_overloaded",
      "server_overloaded",
      "serviceunavailableexception",
      "modelnotreadyexception",
      "unavailable",
      "capacity_exceeded",
      "over_capacity",
    ],
  },
  {
    form: "Google, OpenAI, Moonshot: a sentence of load",
    code: "overloaded",
    statuses: [429, 500, 502, 503],
    says: /\b(?:is|are) (?:currently |temporarily )?(?:overloaded|at capacity|over capacity)\b|\bcurrently experiencing (?:high|heavy)\b/i,
  },
  {
    form: "OpenAI, Anthropic, Bedrock, Google: a limit or a quota, whatever the status",
    code: "rate_limit",
    words: [
      "rate_limit_error",
      "rate_limit_exceeded",
      "rate_limit_reached_error",
      "insufficient_quota",
      "exceeded_current_quota_error",
      "billing_error",
      "throttlingexception",
      "toomanyrequestsexception",
      "servicequotaexceededexception",
      "resource_exhausted",
      "too_many_requests",
    ],
  },
  {
    form: "Google: a key that it does not know",
    code: "authentication",
    words: ["api_key_invalid", "access_token_expired", "access_token_type_unsupported", "api_key_service_blocked"],
  },
  {
    form: "OpenAI, Anthropic, AWS, Google: a credential, whatever the status",
    code: "authentication",
    words: [
      "authentication_error",
      "permission_error",
      "invalid_api_key",
      "invalid_authentication_error",
      "accessdeniedexception",
      "unrecognizedclientexception",
      "expiredtokenexception",
      "invalidsignatureexception",
      "unauthenticated",
      "permission_denied",
    ],
  },
  {
    form: "Anthropic, AWS, Google: out of time, whatever the status",
    code: "timeout",
    words: ["timeout_error", "modeltimeoutexception", "deadline_exceeded", "request_timeout"],
  },
  // what the status alone says, where the type does not repeat it; 402: credit that is used up, 524: a proxy's timeout
  { form: "any provider: limits", code: "rate_limit", statuses: [402, 429] },
  { form: "any provider: credentials", code: "authentication", statuses: [401, 403] },
  { form: "any provider: timeouts", code: "timeout", statuses: [408, 504, 524] },
  { form: "any provider: load", code: "overloaded", statuses: [503, 529] },
];

/** What the forms read of a failure. */
interface ReportedFailure {
  readonly status: number;
  readonly code: string | null;
  readonly type: string;
  readonly param: string | null;
  readonly message: string;
  readonly details?: readonly unknown[];
  readonly members?: Readonly<Record<string, unknown>>;
}

/** A name without the namespace before it and the address behind it, which AWS adds. */
const plainWord = (word: string): string => word.replace(/^.*#/, "").replace(/:.*$/, "").toLowerCase();

/** Words by which a failure names its kind: its code and type, Azure's inner code, reasons of a Google error. */
function wordsOf({ code, type, details = [], members = {} }: ReportedFailure): string[] {
  const inner = isObject(members.innererror) ? members.innererror.code : undefined;
  const reasons = details.map((one) => (isObject(one) ? one.reason : undefined));
  return [code, type, inner, ...reasons].filter((word) => typeof word === "string").map(plainWord);
}

/** The first form that fits a failure of a provider; undefined where none does. */
export function failureFormOf(failure: ReportedFailure): FailureForm | undefined {
  const found = wordsOf(failure);
  const { status, param, message } = failure;
  return failureForms.find(
    (form) =>
      (!form.words || form.words.some((word) => found.includes(word))) &&
      (!form.statuses || form.statuses.includes(status)) &&
      (!form.param || form.param.test(param ?? "")) &&
      (!form.says || form.says.test(message)),
  );
}

/** Why a call failed; undefined for anything else, such as a server's own fault. */
export function errorCodeOf(error: GatewayError): ErrorCode | undefined {
  if (error instanceof UpstreamError) return failureFormOf(error)?.code;
  if (error instanceof TimeoutError) return "timeout";
  // limits of the target at the gateway are as good a reason as those at the provider
  if (error instanceof RateLimitError || error instanceof BudgetError) return "rate_limit";
  if (error instanceof AuthenticationError) return "authentication";
  const isOfTools = error instanceof InvalidRequestError && /^tool(?:s|_choice)\b/.test(error.param ?? "");
  return isOfTools && error.code !== "invalid_body" ? "invalid_tool" : undefined;
}
