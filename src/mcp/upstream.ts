import { ClientClosedError, type GatewayError, GatewayError as KnownError, RpcError } from "../errors.ts";
import { BodyError } from "../lib/body.ts";
import { ExcessError } from "../lib/budget.ts";
import { isObject } from "../lib/json.ts";
import { OutboundError, toOutboundError } from "../lib/outbound.ts";
import { EventTooLongError } from "../lib/sse.ts";
import { AbortReason } from "../providers/core/call.ts";
import type { Admission } from "../routing/breaker.ts";
import type { BreakerSettings } from "../routing/config.ts";
import type { Attempt } from "../upstream/attempt.ts";
import { callerOf, type McpCall } from "./mcp-call.ts";
import { codes, repeatable } from "./protocol.ts";

/** Half of at least ten calls in 30 seconds failed: no calls for 30 seconds. */
const breakerSettings: BreakerSettings = {
  failureThreshold: undefined,
  failureThresholdPercentage: 50,
  minimumRequests: 10,
  cooldownMs: 30_000,
  failureStatusCodes: undefined,
};

/** A request for an upstream server. */
interface UpstreamRequest {
  readonly method: "POST" | "GET";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** Ends a call. */
export function endBy(attempt: Attempt, kind: AbortReason["kind"]): void {
  attempt.abort(new AbortReason(kind, `the call ended: ${kind}`));
}

/** An error of an upstream, as the answer to a call. */
export function upstreamError(status: 502 | 504, message: string, details: { cause?: unknown; type?: string } = {}) {
  const { cause, type = status === 504 ? "timeout" : "upstream_error" } = details;
  return new RpcError(status, message, {
    rpcCode: codes.internal,
    code: type,
    data: { type },
    ...(cause !== undefined && { cause }),
  });
}

/** The error of a call that failed, also while its answer was read. */
export function describeFailure(error: unknown, attempt: Attempt): GatewayError {
  if (attempt.endedBy === "client") {
    return new ClientClosedError("Cannot respond: the caller disconnected", { cause: error, code: "client_closed" });
  }
  if (attempt.endedBy === "timeout")
    return upstreamError(504, "Cannot finish the call: it took too long", { cause: error });
  if (attempt.endedBy === "idle") {
    return upstreamError(504, "Cannot finish the call: the server stopped sending", { cause: error });
  }
  if (attempt.endedBy === "shutdown") {
    return upstreamError(502, "Cannot finish the call: the gateway is stopping", { cause: error, type: "shutdown" });
  }
  if (error instanceof KnownError) return error;
  const isTooLarge =
    error instanceof EventTooLongError || (error instanceof BodyError && error.problem === "too_large");
  if (isTooLarge) {
    const type = "result_too_large";
    return upstreamError(502, "Cannot use the answer of the server: it is too large", { cause: error, type });
  }
  if (error instanceof ExcessError) {
    const type = "result_too_large";
    return upstreamError(502, `Cannot use the answer of the server: it has ${error.excess}`, { cause: error, type });
  }
  const failure = error instanceof OutboundError ? error : toOutboundError(error);
  // the address is the operator's, and nothing that callers should see
  const message =
    failure.kind === "refused_address"
      ? "Cannot call the server: its address is not allowed"
      : "Cannot use the answer of the server: the connection failed";
  return upstreamError(502, message, { cause: error });
}

/** @throws {RpcError} 200, code 503, if the server's circuit breaker is open. */
function admit({ context, server }: McpCall): Admission {
  const key = JSON.stringify(["mcp", server.organisationId, server.workspaceId, server.id]);
  const admission = context.services.routing.breakers.admit(key, breakerSettings);
  if (admission) return admission;
  if (context.log.mcp) context.log.mcp.circuit_open = true;
  throw new RpcError(200, `Cannot call the server "${server.slug}": too many of its calls failed; repeat it later`, {
    rpcCode: codes.unavailable,
    code: "circuit_open",
    data: { type: "circuit_open", retry_after_ms: breakerSettings.cooldownMs },
  });
}

/** Sends once, and reports how it went to the circuit breaker. */
async function sendOnce(call: McpCall, request: UpstreamRequest, attempt: Attempt): Promise<Response> {
  const { services } = call.context;
  const admission = admit(call);
  const { openapi, url, slug, shownUrl } = call.server;
  attempt.begin(call.context.log, { provider: slug, model: null, url: shownUrl });
  try {
    const { signal } = attempt;
    const init = {
      method: request.method,
      headers: { ...request.headers },
      signal,
      origin: "influenced",
      ...(request.body !== undefined && { body: request.body }),
    } as const;
    const response = await (openapi ? openapi.answer(init, services.outbound) : services.outbound(url, init));
    attempt.receive(response.status);
    admission({ status: response.status });
    return response;
  } catch (error) {
    const failure = describeFailure(error, attempt);
    attempt.fail(failure.code ?? failure.type);
    admission(failure instanceof ClientClosedError ? "abandoned" : { status: failure.status });
    throw failure;
  } finally {
    attempt.end();
  }
}

const worthRepeating = new Set([502, 503, 504]);

/** Whether a request changes nothing, so that it may be sent again. Of a tool, its approved definition says so. */
function isRepeatable({ message, server }: McpCall): boolean {
  const { method, params } = message;
  if (method !== "tools/call") return repeatable.has(method);
  if (!server.settings.retry_calls) return false;
  const tool = server.capabilities.tool.get(String(params.name));
  const annotations = (tool?.approved ?? tool?.definition)?.annotations;
  return isObject(annotations) && (annotations.readOnlyHint === true || annotations.idempotentHint === true);
}

/**
 * Sends a request to the upstream of a call. What changes nothing is sent again, once, after a failed connection or a
 * status that says the server is away.
 *
 * @throws {GatewayError} If there is no answer.
 */
export async function sendUpstream(call: McpCall, request: UpstreamRequest, attempt: Attempt): Promise<Response> {
  const mayRepeat = request.method === "POST" && isRepeatable(call);
  try {
    const response = await sendOnce(call, request, attempt);
    if (!mayRepeat || !worthRepeating.has(response.status)) return response;
    response.body?.cancel().catch(() => {});
  } catch (error) {
    const isAway = error instanceof RpcError && error.status === 502 && attempt.endedBy === undefined;
    if (!mayRepeat || !isAway) throw error;
  }
  call.context.log.retriesMade++;
  return sendOnce(call, request, attempt);
}

/** Key of a caller, for counts in memory. */
export function callerKey(call: Pick<McpCall, "context">): string {
  return JSON.stringify(callerOf(call.context));
}
