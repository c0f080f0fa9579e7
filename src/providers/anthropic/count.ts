import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { type ClaudeHost, toClaudeRequest } from "./request.ts";

/** Members of a request that are counted (https://docs.claude.com/en/api/messages-count-tokens). */
const counted = ["messages", "system", "tools", "tool_choice", "thinking", "output_config"];

/** The body that counts the tokens of a chat. */
export function toClaudeCount(
  request: ChatRequest,
  options: ConversionOptions,
  host?: ClaudeHost,
): Record<string, unknown> {
  const made = toClaudeRequest(request, { ...options, drop: () => {} }, host);
  const members = Object.entries(made).filter(([name]) => counted.includes(name));
  return { model: request.model, ...Object.fromEntries(members) };
}

/** Counts the tokens of a chat at hosts that speak Anthropic's API; the answer is in the gateway's shape already. */
export function createCountChat(
  headers: NonNullable<OperationAdapter<"countChat">["headers"]>,
): OperationAdapter<"countChat"> {
  return {
    path: () => "/messages/count_tokens",
    toUpstream: (request, options) => toClaudeCount(request, options),
    headers,
  };
}
