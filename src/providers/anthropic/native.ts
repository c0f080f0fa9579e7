import { isObject } from "../../lib/json.ts";
import type { CountTokensRequest, MessagesRequest } from "../../schemas/messages.ts";
import type { CallFailure, ConversionOptions, OperationAdapter } from "../core/types.ts";
import { fitBetaMembers } from "./beta-members.ts";
import { markPrefix } from "./cache-marks.ts";
import { fitForeignBlocks } from "./foreign-blocks.ts";
import { withoutForeignThinking, withoutThinking } from "./repair.ts";
import { bodyBetas, type ClaudeHost, leaveOut, readBetas } from "./request.ts";
import { fitSystemTurns } from "./system-turns.ts";

type Members = Record<string, unknown>;
type NativeRequest = MessagesRequest | CountTokensRequest;

/** A Messages API request for one of the hosts, without what belongs to betas that the host lacks. Unknown fields are forwarded. */
export function toHostRequest(request: NativeRequest, host: ClaudeHost, options: ConversionOptions): Members {
  const { anthropic_beta: asked, ...rest } = fitSystemTurns(
    fitThinking(fitForeignBlocks(request), options),
    false,
    options,
  );
  const members: Members = host.omits ? leaveOut(rest, host.omits, options) : rest;
  if (host.version !== undefined) members.anthropic_version ??= host.version;
  const betas = host.readBetas?.(request, options) ?? bodyBetas(readBetas(asked), host, options);
  const fitted = fitBetaMembers(members, betas, options);
  return markPrefix(betas.length > 0 ? { ...fitted, anthropic_beta: betas } : fitted, options);
}

/** The request for Anthropic's own API: unchanged except for fields that become headers. */
function toOwnRequest<Request extends NativeRequest>(request: Request): Members {
  if (request.anthropic_beta === undefined && request.anthropic_version === undefined) return request;
  const { anthropic_beta: _beta, anthropic_version: _version, ...rest } = request;
  return rest;
}

/** Whether the last turn contains tool results. Claude then expects the thinking that led to the calls. */
function endsWithResult({ messages }: Pick<NativeRequest, "messages">): boolean {
  const content = messages.at(-1)?.content;
  return Array.isArray(content) && content.some(({ type }) => type === "tool_result");
}

/** The request with thinking turned off where the last turn contains tool results and the model has a budget for it. */
function stopThinking<Request extends NativeRequest>(request: Request, { drop }: ConversionOptions): Request {
  const { thinking, ...rest } = request;
  if (!isObject(thinking) || thinking.type !== "enabled" || !endsWithResult(request)) return request;
  drop("thinking");
  return rest as Request; // the field is optional
}

/** The request without the thinking of other providers. */
function fitThinking<Request extends NativeRequest>(request: Request, options: ConversionOptions): Request {
  const fitted = withoutForeignThinking(request, options);
  return fitted === request ? request : stopThinking(fitted, options);
}

/** Claude's refusal of calls without the thinking that led to them: another model made these. */
const lacksThinking = /Expected `thinking`/i;

/** As `withoutThinking`; also turns thinking off where the last turn has results of calls without their thinking. */
export function repairMessages(
  request: MessagesRequest,
  failure: CallFailure,
  options: ConversionOptions,
): MessagesRequest | undefined {
  const lacks = failure.status === 400 && lacksThinking.test(failure.message);
  const repaired = lacks ? request : withoutThinking(request, failure, options);
  if (!repaired?.thinking || !endsWithResult(repaired)) return lacks ? undefined : repaired;
  options.drop("thinking");
  const { thinking: _, ...rest } = repaired;
  return rest;
}

type HeaderMaker = (
  request: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, string>>,
) => Record<string, string>;

/** How a host serves the Messages API. */
interface NativeHost {
  headers: HeaderMaker;
  /** Prefix of both paths. */
  prefix?: string;
  /** Whether it has turns of the role `system` for its newest models. */
  hasSystemTurns: boolean;
}

/** The Messages API on hosts that speak it as Anthropic does (https://docs.claude.com/en/api/messages). */
export function nativeOperations({ headers, prefix = "", hasSystemTurns }: NativeHost): {
  messages: OperationAdapter<"messages">;
  countTokens: OperationAdapter<"countTokens">;
} {
  const toUpstream = <Request extends NativeRequest>(request: Request, options: ConversionOptions): Members =>
    markPrefix(
      toOwnRequest(fitSystemTurns(fitThinking(fitForeignBlocks(request), options), hasSystemTurns, options)),
      options,
    );
  return {
    messages: { path: () => `${prefix}/messages`, toUpstream, headers, repair: repairMessages },
    countTokens: { path: () => `${prefix}/messages/count_tokens`, toUpstream, headers },
  };
}
