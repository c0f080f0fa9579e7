import type { CountTokensRequest, MessagesRequest } from "../../schemas/messages.ts";
import type { CallFailure, ConversionOptions, OperationAdapter } from "../core/types.ts";
import { withoutThinking } from "./repair.ts";
import { bodyBetas, type ClaudeHost, leaveOut, readBetas } from "./request.ts";

type Members = Record<string, unknown>;
type NativeRequest = MessagesRequest | CountTokensRequest;

/** A Messages API request for one of the hosts. Unknown fields are forwarded unchanged. */
export function toHostRequest(request: NativeRequest, host: ClaudeHost, options: ConversionOptions): Members {
  const { anthropic_beta: asked, ...rest } = request;
  const members: Members = host.omits ? leaveOut(rest, host.omits, options) : rest;
  if (host.version !== undefined) members.anthropic_version ??= host.version;
  const betas = bodyBetas(readBetas(asked), host, options);
  return betas.length > 0 ? { ...members, anthropic_beta: betas } : members;
}

/** The request for Anthropic's own API: unchanged except for fields that become headers. */
function toOwnRequest<Request extends NativeRequest>(request: Request): Members {
  if (request.anthropic_beta === undefined && request.anthropic_version === undefined) return request;
  const { anthropic_beta: _beta, anthropic_version: _version, ...rest } = request;
  return rest;
}

/** Whether the last turn contains tool results. Claude then expects the thinking that led to the calls. */
function endsWithResult({ messages }: MessagesRequest): boolean {
  const content = messages.at(-1)?.content;
  return Array.isArray(content) && content.some(({ type }) => type === "tool_result");
}

/** As `withoutThinking`; also turns thinking off where the last turn contains tool results. */
export function repairMessages(
  request: MessagesRequest,
  failure: CallFailure,
  options: ConversionOptions,
): MessagesRequest | undefined {
  const repaired = withoutThinking(request, failure, options);
  if (!repaired?.thinking || !endsWithResult(repaired)) return repaired;
  options.drop("thinking");
  const { thinking: _, ...rest } = repaired;
  return rest;
}

type HeaderMaker = (
  request: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, string>>,
) => Record<string, string>;

/**
 * The Messages API on hosts that speak it as Anthropic does (https://docs.claude.com/en/api/messages).
 *
 * @param prefix Prefix of both paths.
 */
export function nativeOperations(
  headers: HeaderMaker,
  prefix = "",
): { messages: OperationAdapter<"messages">; countTokens: OperationAdapter<"countTokens"> } {
  return {
    messages: { path: () => `${prefix}/messages`, toUpstream: toOwnRequest, headers, repair: repairMessages },
    countTokens: { path: () => `${prefix}/messages/count_tokens`, toUpstream: toOwnRequest, headers },
  };
}
