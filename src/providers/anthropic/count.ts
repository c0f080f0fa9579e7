import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { type ClaudeHost, toClaudeRequest } from "./request.ts";

/** Request fields that count towards input tokens (https://docs.claude.com/en/api/messages-count-tokens). */
const counted = ["messages", "system", "tools", "tool_choice", "thinking", "output_config"];

/** The request body that counts the tokens of a chat. */
export function toClaudeCount(
  request: ChatRequest,
  options: ConversionOptions,
  host?: ClaudeHost,
): Record<string, unknown> {
  const made = toClaudeRequest(request, { ...options, drop: () => {} }, host);
  const members = Object.entries(made).filter(([name]) => counted.includes(name));
  return { model: request.model, ...Object.fromEntries(members) };
}

/** Counts the tokens of a chat on hosts of Anthropic's API. The response already has the gateway's shape. */
export function createCountChat(
  headers: NonNullable<OperationAdapter<"countChat">["headers"]>,
  host?: ClaudeHost,
): OperationAdapter<"countChat"> {
  return {
    path: () => "/messages/count_tokens",
    toUpstream: (request, options) => toClaudeCount(request, options, host),
    headers,
  };
}
