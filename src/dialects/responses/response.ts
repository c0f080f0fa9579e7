import type { ResponsesRequest, ResponsesResponse } from "../../schemas/responses.ts";
import { type Finish, readUsage } from "../chat-reader.ts";
import type { DialectOptions, StreamError } from "../types.ts";
import { toResponseId } from "./ids.ts";

type Members = Record<string, unknown>;

/** Request fields that the response repeats, with their defaults. */
const echoes: Readonly<Members> = {
  background: false,
  instructions: null,
  max_output_tokens: null,
  max_tool_calls: null,
  metadata: {},
  parallel_tool_calls: true,
  previous_response_id: null,
  prompt_cache_key: null,
  safety_identifier: null,
  service_tier: "default",
  store: true,
  temperature: 1,
  tool_choice: "auto",
  tools: [],
  top_logprobs: 0,
  top_p: 1,
  truncation: "disabled",
  user: null,
};

function echo(request: ResponsesRequest): Members {
  const echoed = Object.entries(echoes).map(([name, value]) => [name, request[name] ?? value]);
  const { reasoning, text } = request;
  return {
    ...Object.fromEntries(echoed),
    reasoning: {
      effort: reasoning?.effort ?? null,
      summary: reasoning?.summary ?? reasoning?.generate_summary ?? null,
    },
    text: { ...text, format: text?.format ?? { type: "text" } },
  };
}

/** Usage in the format of the Responses API. */
function toResponsesUsage(usage: unknown): Members {
  const { prompt, completion, total, cached, reasoning } = readUsage(usage);
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
  };
}

const reasons: { readonly [Name in Finish]?: string } = {
  length: "max_output_tokens",
  content_filter: "content_filter",
};

/** State of a response. */
export type ResponseState =
  | { kind: "in_progress" }
  | { kind: "ended"; finish: Finish; output: readonly Members[]; usage: unknown }
  | { kind: "failed"; error: StreamError; output: readonly Members[] };

/** Error codes of the Responses API by error type; all others are `server_error`. */
const errorCodes: Readonly<Record<string, string>> = {
  rate_limit_error: "rate_limit_exceeded",
  invalid_request_error: "invalid_prompt",
  // a denial by guardrails, which agents would ask for again after any other code
  hooks_failed: "invalid_prompt",
};

/** The error code that clients of the Responses API know. */
export function toErrorCode({ type }: Pick<StreamError, "type">): string {
  return errorCodes[type] ?? "server_error";
}

function stateMembers(state: ResponseState, { now }: DialectOptions): Members {
  const open = { completed_at: null, error: null, incomplete_details: null, usage: null };
  if (state.kind === "in_progress") return { ...open, status: "in_progress", output: [] };
  const { output } = state;
  if (state.kind === "failed") {
    const { message } = state.error;
    return { ...open, status: "failed", error: { code: toErrorCode(state.error), message }, output };
  }
  const usage = toResponsesUsage(state.usage);
  const reason = reasons[state.finish];
  if (reason !== undefined) return { ...open, status: "incomplete", incomplete_details: { reason }, output, usage };
  return { ...open, status: "completed", completed_at: now(), output, usage };
}

/**
 * The response object for a request (https://platform.openai.com/docs/api-reference/responses/object).
 *
 * @param model The model that responds.
 */
export function toResponse(
  request: ResponsesRequest,
  model: string,
  state: ResponseState,
  options: DialectOptions,
): ResponsesResponse {
  const head = { id: toResponseId(options.id), object: "response", created_at: options.created, model };
  // the fields above and the echoes are those of the type
  return { ...head, ...stateMembers(state, options), ...echo(request) } as ResponsesResponse;
}
