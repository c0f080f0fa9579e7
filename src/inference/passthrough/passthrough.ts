import type { CallerContext } from "../../context.ts";
import { InvalidRequestError, UpstreamError } from "../../errors.ts";
import { BodyError, readBytes, uploadTimes } from "../../lib/body.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { continued } from "../../lib/continued.ts";
import { answerHeaders, passthroughRequestHeaders } from "../../lib/headers.ts";
import type { Reply } from "../../lib/reply.ts";
import { withoutScheme } from "../../lib/secret-values.ts";
import type { Timers } from "../../lib/timers.ts";
import { isSocketHandshake } from "../../lib/websocket.ts";
import { maxLoggedBody } from "../../logs/body.ts";
import type { Destination } from "../../providers/core/call.ts";
import { errorCodeOf } from "../../providers/core/failure-codes.ts";
import type { Attempt, AttemptTimes } from "../../upstream/attempt.ts";
import { replyWithin, timesOf, toAttemptError } from "../call/attempt.ts";
import { callUpstream, type UpstreamResponse } from "../call/call-upstream.ts";
import type { PreparedCall } from "../call/prepared-call.ts";
import { routingHeaders, toProviderError } from "../call/provider-response.ts";
import { forwardedKind } from "../facts/request-types.ts";
import { withinRequest } from "../guard/request-deadline.ts";
import { RequestGuard, statusAfterHooks } from "../guard/request-guard.ts";
import type { TargetGuard } from "../guard/target-guard.ts";
import type { Caller, Inspected } from "../pipeline/execute.ts";
import { planRequest, runPlan } from "../pipeline/run.ts";
import { forwardBody, isText } from "../stream/byte-relay.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { listLeaves, readLeafDestination } from "../target/config-target.ts";
import { requireKeyModels } from "../target/key-models.ts";
import { needsNoModel, requireForwardedModels } from "../target/model-list.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { createCounting, isEstimated, noteRequest, noteSmallAnswer } from "./forwarded-counts.ts";
import { modelsAroundBody, modelsOfForwarded } from "./forwarded-models.ts";
import { type PassthroughDestination, readPassthroughDestination, requireNativeRoute } from "./provider-path.ts";
import { noMembers, readUpload, smallBodyBytes, type Upload } from "./upload.ts";

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, maxLoggedBody));
}

async function answerUpstream(
  { upstream, attempt }: PassthroughResponse,
  upload: Upload,
  context: CallerContext,
): Promise<Reply> {
  const { log } = context;
  const provider = log.provider ?? "provider";
  const status = statusAfterHooks(upstream.status, context);
  const headers = {
    ...answerHeaders(upstream.headers, context.services.headerRules.returned),
    ...routingHeaders(provider, log),
  };
  const logsText = isText(upstream.headers.get("content-type"), upstream.headers.get("content-encoding"));
  const length = Number(upstream.headers.get("content-length") ?? Number.NaN);
  attempt.stopTimer();
  if (upstream.ok) noteRequest(upload, context);
  if (status === 204 || status === 205 || status === 304) return { status, headers, body: null };
  if (length <= smallBodyBytes) {
    const bytes = await readHeld(upstream, { attempt, provider, timers: context.services.timers });
    attempt.end();
    if (logsText) {
      context.log.responseBody = bytes;
      const noted = upstream.ok ? noteSmallAnswer(textOf(bytes), upload, context) : undefined;
      if (noted) await noted;
    }
    return { status, headers, body: bytes.length === 0 ? null : bytes };
  }
  if (upstream.body === null) return { status, headers, body: null };
  if (Number.isSafeInteger(length)) headers["content-length"] = String(length);
  const reader = logsText ? createCounting(upstream, upload, context) : undefined;
  const facts = { attempt, provider, logsText, reader };
  return forwardBody({ status, headers, body: upstream.body }, facts, context);
}

/** Reads a small response whole. */
async function readHeld(
  upstream: Response,
  { attempt, provider, timers }: { attempt: Attempt; provider: string; timers: Timers },
): Promise<Uint8Array> {
  try {
    return await readBytes(upstream, { bytes: smallBodyBytes, ...uploadTimes, timers });
  } catch (error) {
    if (error instanceof BodyError && error.problem === "timeout") {
      throw new UpstreamError(504, `Cannot get a response from ${provider}: it stopped sending`, {
        cause: error,
        provider,
        code: "upstream_idle",
      });
    }
    throw toAttemptError(error instanceof BodyError ? error.cause : error, attempt, provider);
  }
}

/** A request to forward, and the guardrails that let it pass. */
interface PassthroughRequest {
  upload: Upload;
  guard?: TargetGuard | undefined;
}

/** A response to return, with the call it belongs to. */
type PassthroughResponse = UpstreamResponse<Response>;

/** The provider's request: the caller's, without headers that belong to one connection or to the gateway. */
function preparePassthrough(
  { destination, path }: PassthroughDestination,
  { upload: { body }, guard }: PassthroughRequest,
  context: CallerContext,
): PreparedCall {
  const headers = passthroughRequestHeaders(context.headers.values(), context.services.headerRules.mayGoUpstream);
  // the provider's rule decides how its credential is sent
  if (!destination.provider.isRaw) {
    delete headers.authorization;
    if (destination.authorization !== undefined) headers.authorization = destination.authorization;
  }
  for (const [name, value] of Object.entries(headers)) {
    if (value.includes(context.gatewayKey)) delete headers[name];
  }
  // the provider may repeat the caller's own credential in its errors
  if (headers.authorization !== undefined) context.log.secrets.push(withoutScheme(headers.authorization));
  for (const [name, value] of Object.entries(context.nativeRoute?.headers ?? {})) headers[name] ??= value;
  // the counts of a response are read while it is forwarded
  if (context.method === "POST") headers["accept-encoding"] = "identity";
  Object.assign(headers, destination.managed?.headers);
  guard?.addHeaders(headers);
  const length = context.headers.get("content-length");
  if (body instanceof ReadableStream && length !== undefined) headers["content-length"] = length;
  return {
    ...destination,
    method: context.method,
    path,
    headers,
    raw: true,
    ...(body !== undefined && { body }),
  };
}

/** @throws {InvalidRequestError} 400 for providers that run inside the gateway and have no address. */
export function requireForwardable({ provider, customHost }: Destination): void {
  if (!provider.local || customHost !== undefined) return;
  throw new InvalidRequestError(`Cannot forward this path to ${provider.slug}: it runs inside the gateway`, {
    code: "unsupported_endpoint",
  });
}

/** Makes one call. The reader of its response releases the attempt. */
async function pass(
  { destination, ...times }: { destination: Destination } & AttemptTimes,
  request: PassthroughRequest,
  context: CallerContext,
): Promise<PassthroughResponse> {
  const { body, text, model, named, members } = request.upload;
  requireForwardable(destination);
  const passed = readPassthroughDestination(destination, context, model);
  requireNativeRoute(destination, context);
  const call = preparePassthrough(passed, request, context);
  const forwarded = { provider: destination.provider, path: passed.path, body, named };
  const sent = { ...call, body: body === undefined ? undefined : { text } };
  requireForwardedModels(destination, sent);
  const listModels = () => modelsOfForwarded(forwarded, context);
  if (context.principal.allowedModels) {
    // a file that is stored calls no model
    const needsModel = context.log.operation !== "uploadFile" && !needsNoModel(sent);
    requireKeyModels({ named: listModels(), model, needsModel }, context);
  }
  const facts = { listModels, request: members };
  return callUpstream(call, { ...times, ...facts }, context);
}

/** The model named in the query of a forwarded request. */
export function namedModel(context: CallerContext): string | undefined {
  return context.url.searchParams.get("model") ?? undefined;
}

/** Groups of paths whose records live at one provider. */
const singleTarget = /^\/v1\/(?:files|batches|fine_tuning)(?:\/|$)/;

/** @throws {InvalidRequestError} 400 for several targets where the records of a path live at one provider. */
export function requireSingleTarget({ node }: RequestConfig, { url }: CallerContext): void {
  if (!singleTarget.test(url.pathname) || listLeaves(node).length <= 1) return;
  throw new InvalidRequestError(
    "Invalid config provided. Maximum one target is allowed for batch/file/fine_tuning requests",
    { code: "invalid_config", param: "x-gateway-config" },
  );
}

/** Whether every parser of a body finds the fields that were found here. */
function isUnambiguous({ body, members, unreadBecause }: Upload): boolean {
  return body === undefined || (members !== noMembers && unreadBecause === undefined);
}

/** Whether a guardrail of a target reads the fields of forwarded bodies. */
function hasFieldChecks({ node, view }: RequestConfig, { services, principal, connection }: CallerContext): boolean {
  if (connection.isUnguarded) return false;
  const visibility = { request: "body", answer: "unseen" } as const;
  const seen = { visibility, isLocked: !principal.defaults.allowConfigOverride };
  return listLeaves(node).some(({ merged }) => services.guardrails.of(merged.hooks, view, seen)?.readsFields === true);
}

/** Forwards a request by its config; a streamed body is sent once only. */
async function forwardByConfig(
  config: RequestConfig,
  upload: Upload,
  context: CallerContext,
): Promise<PassthroughResponse> {
  requireSingleTarget(config, context);
  const { body, members, unreadBecause } = upload;
  const isRead = isUnambiguous(upload);
  const plan = planRequest(config, members, { context });
  const { leadsTo, checkedFiles } = context;
  const kind = forwardedKind(context.log.operation, { isRead, unreadBecause, leadsTo, checkedFiles });
  const guard = new RequestGuard(kind, config.view, context);
  const callsNothing = context.method === "GET" || context.method === "DELETE";
  const listModels = () => modelsAroundBody(context);
  const isBare = callsNothing && body === undefined && namedModel(context) === undefined;
  const caller: Caller<PassthroughResponse> = {
    async call(attempt, { deadline }) {
      const { node, settings } = attempt;
      const entering = guard.enter(attempt, isRead ? members : noMembers, { isBare, listModels });
      const guarded = entering && (await withinRequest(entering, deadline, context));
      const destination = await readLeafDestination({ node, settings, model: namedModel(context) }, context);
      return pass({ destination, ...timesOf({ settings, deadline }, context) }, { upload, guard: guarded }, context);
    },
    responseOf: ({ upstream }) => upstream,
    discard({ upstream, attempt }) {
      upstream.body?.cancel().catch(() => {});
      attempt.release();
    },
    inspect: (response) => inspectForwarded(response, context),
    canRepeat: !(body instanceof ReadableStream),
  };
  return runPlan(config, plan, caller, context);
}

/** The beginning of a failure, and the response that begins with it again. */
async function readFailureOf({ upstream, attempt }: PassthroughResponse, provider: string) {
  const { status, headers, body } = upstream;
  if (body === null) return { text: "", whole: upstream };
  const reader = body.getReader();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      pieces.push(read.value);
      length += read.value.length;
      if (length > smallBodyBytes) break;
    }
  } catch (error) {
    throw toAttemptError(error, attempt, provider);
  }
  const text = textOf(joinBytes(pieces));
  return { text, whole: new Response(continued(pieces, reader), { status, headers }) };
}

/** Reads why a forwarded call failed: in the text of its error, else by its status. */
async function inspectForwarded(
  { upstream, attempt }: PassthroughResponse,
  context: CallerContext,
): Promise<Inspected<PassthroughResponse>> {
  const { status, headers } = upstream;
  if (status < 400) return { value: { upstream, attempt }, code: undefined };
  const isRead = isText(headers.get("content-type"), headers.get("content-encoding"));
  if (!isRead) return { value: { upstream, attempt }, code: errorCodeOf(toProviderError(upstream, "", context)) };
  const { text, whole } = await readFailureOf({ upstream, attempt }, context.log.provider ?? "provider");
  return { value: { upstream: whole, attempt }, code: errorCodeOf(toProviderError(upstream, text, context)) };
}

/**
 * Forwards a request to the provider, and its response to the client, unchanged: bytes, status and headers, except
 * those that belong to one connection.
 */
export async function runPassthrough(context: CallerContext): Promise<Reply> {
  if (isSocketHandshake(context.method, context.headers)) {
    throw new InvalidRequestError("Cannot open a WebSocket here: only /v1/realtime accepts WebSockets", {
      code: "invalid_handshake",
      param: "upgrade",
    });
  }
  const config = await readRequestConfig(context);
  // a file that is stored calls no model
  const isLimited = config.view.policies?.looksAtModels === true && context.log.operation !== "uploadFile";
  const isOfKey = context.principal.allowedModels !== undefined;
  const fields = () => hasFieldChecks(config, context);
  const upload = await readUpload(context, { models: isLimited || isOfKey || isEstimated(context), fields });
  const response = await forwardByConfig(config, upload, context);
  return replyWithin(response.attempt, answerUpstream(response, upload, context));
}
