import { InvalidRequestError } from "../../errors.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { dropUnmapped } from "../chat-writer.ts";
import type { DialectOptions } from "../types.ts";
import { isOwnResponseId } from "./ids.ts";
import { toToolMembers } from "./tools.ts";
import { toMessages } from "./turns.ts";

type Members = Record<string, unknown>;

/** Fields that are mapped, or served by the gateway itself. */
const mapped = new Set([
  "model",
  "input",
  "instructions",
  "max_output_tokens",
  "temperature",
  "top_p",
  "stream",
  "stream_options",
  "user",
  "metadata",
  "reasoning",
  "thinking",
  "text",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "top_logprobs",
  "include",
  "store",
  "previous_response_id",
  "truncation",
  "service_tier",
  "background",
  "conversation",
  "prompt",
]);

/** Included in every response, or covered by `top_logprobs`. */
const served = new Set(["reasoning.encrypted_content", "message.output_text.logprobs"]);

/** Reports fields without a counterpart where they would have an effect. */
function reportDropped(request: ResponsesRequest, { drop }: DialectOptions): void {
  dropUnmapped(request, mapped, drop);
  if (request.truncation === "auto") drop("truncation");
  if ((request.include ?? []).some((name) => !served.has(name))) drop("include");
  const tier = request.service_tier ?? "auto";
  if (tier !== "auto" && tier !== "default") drop("service_tier");
}

function refuseField(param: string, message: string): never {
  throw new InvalidRequestError(message, { param, code: "unsupported_parameter" });
}

function refuseUnservable(request: ResponsesRequest): void {
  const { background, conversation, prompt, previous_response_id: previous, input } = request;
  const where = "the provider of this model does not have it";
  if (background === true) refuseField("background", `Cannot answer in the background: ${where}`);
  if (conversation !== null && conversation !== undefined)
    refuseField("conversation", `Cannot use conversation: ${where}`);
  if (prompt !== null && prompt !== undefined) refuseField("prompt", `Cannot use prompt: ${where}`);
  if (typeof previous === "string" && !isOwnResponseId(previous)) {
    refuseField(
      "previous_response_id",
      `Cannot continue from ${previous}: it was not created by the provider of this model`,
    );
  }
  if (input === null || input === undefined || input.length === 0) {
    throw new InvalidRequestError("Cannot answer without input", { param: "input", code: "invalid_body" });
  }
}

/** Response format, with its schema. */
function toFormat({ text }: ResponsesRequest): Members {
  const { format, verbosity } = text ?? {};
  const { type, ...schema } = format ?? {};
  const form = type === "json_schema" ? { type, json_schema: schema } : { type };
  return {
    ...(type !== undefined && type !== "text" && { response_format: form }),
    ...(typeof verbosity === "string" && { verbosity }),
  };
}

function toThinking({ thinking, reasoning }: ResponsesRequest): Members {
  if (thinking) return { thinking };
  return typeof reasoning?.effort === "string" ? { reasoning_effort: reasoning.effort } : {};
}

function toLogprobs({ top_logprobs: count, include }: ResponsesRequest): Members {
  if (typeof count === "number" && count > 0) return { logprobs: true, top_logprobs: count };
  return include?.includes("message.output_text.logprobs") ? { logprobs: true } : {};
}

/**
 * The equivalent chat of a Responses request.
 *
 * @throws {InvalidRequestError} If the response would not be what was requested.
 */
export function toChat(request: ResponsesRequest, options: DialectOptions): ChatRequest {
  refuseUnservable(request);
  reportDropped(request, options);
  const { model, instructions, max_output_tokens: limit, temperature, top_p, stream, user, metadata } = request;
  const system = instructions ? [{ role: "system", content: instructions }] : [];
  return {
    model,
    messages: [...system, ...toMessages(request.input, options.drop)],
    ...(typeof limit === "number" && { max_completion_tokens: limit }),
    ...(typeof temperature === "number" && { temperature }),
    ...(typeof top_p === "number" && { top_p }),
    ...(stream === true && { stream: true }),
    ...(typeof user === "string" && { user }),
    ...(metadata && Object.keys(metadata).length > 0 && { metadata }),
    ...toToolMembers(request, options.drop),
    ...toThinking(request),
    ...toFormat(request),
    ...toLogprobs(request),
  };
}
