import { isObject, objectsIn } from "../../lib/json.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import { isReasoningPart } from "../../schemas/content-blocks.ts";
import { withoutExtraSignature } from "../../schemas/extra-content.ts";
import type { ConversionOptions, OperationAdapter } from "../core/types.ts";
import { maxTokensOf } from "./members.ts";
import { type Message, type Part, readMessages, refuseMember } from "./messages.ts";
import { createOpenaiLikeMapper, fromOpenaiLike } from "./openai-like.ts";

function toPlainPart({ cache_control: _, ...part }: Part): object {
  return part;
}

/** A call without signatures of other models, and without marks of caches. */
function toPlainCall(call: Record<string, unknown>): Record<string, unknown> {
  const { function: named, cache_control: _mark, thought_signature: _own, ...plain } = withoutExtraSignature(call);
  const { thought_signature: _signature, ...called } = isObject(named) ? named : {};
  return { ...plain, function: called };
}

/** Messages whose calls have no signatures of other models; the same messages where no call has one. */
export function withoutSignatures(messages: ChatRequest["messages"]): ChatRequest["messages"] {
  return messages.map((message) => {
    const { tool_calls: calls } = message;
    return Array.isArray(calls) ? { ...message, tool_calls: objectsIn(calls).map(toPlainCall) } : message;
  });
}

function toPlainMessage(message: Message, { drop }: ConversionOptions): Message {
  const { content_blocks: blocks, reasoning_content: _reasoning, cache_control: _control, ...rest } = message;
  if (blocks) drop("messages.content_blocks");
  const { content, role, tool_calls: calls } = rest;
  const parts = Array.isArray(content) ? content.filter((part) => !isReasoningPart(part)) : undefined;
  if (parts && parts.length !== content?.length) drop("messages.content.thinking");
  return {
    ...rest,
    role: role === "developer" ? "system" : role,
    ...(parts && { content: parts.map(toPlainPart) as Part[] }), // their types do not change
    ...(calls && {
      tool_calls: calls.map(toPlainCall) as Message["tool_calls"], // their types do not change
    }),
  };
}

/**
 * Messages as older OpenAI models accept them: without the gateway's extensions, and with one role for instructions.
 */
export function toPlainMessages(request: ChatRequest, options: ConversionOptions): Message[] {
  return readMessages(request).map((message) => toPlainMessage(message, options));
}

/**
 * A request whose stream includes usage, which costs are computed from. Clients that did not ask for it do not see it.
 */
export function withStreamUsage<Request extends object>(request: Request): Request {
  const { stream, stream_options: given }: { stream?: unknown; stream_options?: unknown } = request;
  if (stream !== true) return request;
  return { ...request, stream_options: { ...(isObject(given) && given), include_usage: true } };
}

/**
 * A request for servers with an older form of OpenAI's API: plain messages, `max_tokens`, streams with usage. Unknown
 * fields are forwarded.
 */
export function toPlainRequest(request: ChatRequest, options: ConversionOptions): Record<string, unknown> {
  const { max_completion_tokens: _maximum, thinking, ...rest } = request;
  // these servers take an effort, which says the same
  if (isObject(thinking) && thinking.type !== "disabled" && typeof rest.reasoning_effort !== "string") {
    options.drop("thinking");
  }
  const maxTokens = maxTokensOf(request);
  return {
    ...withStreamUsage(rest),
    messages: toPlainMessages(request, options),
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
  };
}

/**
 * The tools of a request, for upstreams without a tool choice; none when the choice is `none`.
 *
 * @throws {InvalidRequestError} If a call is required, or only one of the tools may be called.
 */
export function toFreeTools(provider: string, request: ChatRequest): { tools?: readonly object[] } {
  const { tools, tool_choice: choice, functions } = request;
  if (functions !== undefined && functions !== null) {
    refuseMember(provider, "functions", "use tools instead of functions");
  }
  if (choice === "none" || !tools || tools.length === 0) return {};
  if (choice !== undefined && choice !== null && choice !== "auto") {
    refuseMember(provider, "tool_choice", "it does not support required tool calls");
  }
  const other = tools.find(({ type }) => type !== "function");
  if (other) refuseMember(provider, "tools", `it does not support tools of type ${other.type}`);
  return { tools };
}

/** Chat with an upstream that speaks OpenAI's form except for details. */
export function plainChat(provider: string, path: (request: ChatRequest) => string): OperationAdapter<"chat"> {
  return {
    path,
    toUpstream: toPlainRequest,
    fromUpstream: fromOpenaiLike,
    streamMapper: (request, options) => createOpenaiLikeMapper(provider, request, options),
  };
}
