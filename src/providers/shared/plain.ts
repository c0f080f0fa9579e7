import { isObject } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { maxTokensOf } from "./members.ts";
import { isThoughtPart, type Message, type Part, readMessages, refuseMember } from "./messages.ts";
import { createOpenaiLikeMapper, fromOpenaiLike } from "./openai-like.ts";

function toPlainPart({ cache_control: _, ...part }: Part): object {
  return part;
}

function toPlainMessage(message: Message, { drop }: ConversionOptions): Message {
  const { content_blocks: blocks, reasoning_content: _reasoning, cache_control: _control, ...rest } = message;
  if (blocks) drop("messages.content_blocks");
  const { content, role, tool_calls: calls } = rest;
  const parts = Array.isArray(content) ? content.filter((part) => !isThoughtPart(part)) : undefined;
  if (parts && parts.length !== content?.length) drop("messages.content.thinking");
  return {
    ...rest,
    role: role === "developer" ? "system" : role,
    ...(parts && { content: parts.map(toPlainPart) as Part[] }), // their types stay
    ...(calls && {
      tool_calls: calls.map(
        ({ function: { thought_signature: _signature, ...called }, cache_control: _call, ...call }) => ({
          ...call,
          function: called,
        }),
      ),
    }),
  };
}

/** Messages as OpenAI's older models took them: without what the gateway adds, and with one role for instructions. */
export function toPlainMessages(request: ChatRequest, options: ConversionOptions): Message[] {
  return readMessages(request).map((message) => toPlainMessage(message, options));
}

/** A request whose stream tells its usage: money is counted from it. Who did not ask does not see it. */
export function withStreamUsage<Request extends object>(request: Request): Request {
  const { stream, stream_options: given }: { stream?: unknown; stream_options?: unknown } = request;
  if (stream !== true) return request;
  return { ...request, stream_options: { ...(isObject(given) && given), include_usage: true } };
}

/**
 * A request for servers that speak an older form of OpenAI's: plain messages, `max_tokens`, streams with their usage.
 * Members nobody knows go on.
 */
export function toPlainRequest(request: ChatRequest, options: ConversionOptions): Record<string, unknown> {
  const { max_completion_tokens: _maximum, ...rest } = request;
  const maxTokens = maxTokensOf(request);
  return {
    ...withStreamUsage(rest),
    messages: toPlainMessages(request, options),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  };
}

/**
 * Members for tools where the upstream chooses freely whether it calls them: none when none may be called.
 *
 * @throws {InvalidRequestError} If a call is required, or only one of them may be called.
 */
export function toFreeTools(provider: string, request: ChatRequest): { tools?: readonly object[] } {
  const { tools, tool_choice: choice, functions } = request;
  if (functions !== undefined && functions !== null) {
    refuseMember(provider, "functions", "use tools instead of functions");
  }
  if (choice === "none" || !tools || tools.length === 0) return {};
  if (choice !== undefined && choice !== null && choice !== "auto") {
    refuseMember(provider, "tool_choice", "it cannot be made to call a tool");
  }
  const other = tools.find(({ type }) => type !== "function");
  if (other) refuseMember(provider, "tools", `it has no tools of type ${other.type}`);
  return { tools };
}

/** Chat with an upstream that speaks OpenAI's form but for details. */
export function plainChat(provider: string, path: (request: ChatRequest) => string): OperationAdapter<"chat"> {
  return {
    path,
    toUpstream: toPlainRequest,
    fromUpstream: fromOpenaiLike,
    streamMapper: (request, options) => createOpenaiLikeMapper(provider, request, options),
  };
}
