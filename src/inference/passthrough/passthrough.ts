import { reserveBody } from "../../context/held-bodies.ts";
import type { CallerContext } from "../../context.ts";
import { toBodyError } from "../../endpoint.ts";
import { InvalidRequestError, UpstreamError } from "../../errors.ts";
import { BodyError, countBytes, readBytes, receiveTimes, uploadTimes } from "../../lib/body.ts";
import { answerHeaders, passthroughRequestHeaders } from "../../lib/headers.ts";
import { decodeUtf8, hasRepeatedName, isObject, parseJson, stringOf } from "../../lib/json.ts";
import { boundaryOf } from "../../lib/multipart.ts";
import type { Ending, Reply } from "../../lib/reply.ts";
import { withoutScheme } from "../../lib/secret-values.ts";
import type { Timers } from "../../lib/timers.ts";
import { turns } from "../../lib/turns.ts";
import { isSocketHandshake } from "../../lib/websocket.ts";
import { maxLoggedBody, textOfBody } from "../../logs/body.ts";
import type { Destination } from "../../providers/core/call.ts";
import type { NamedModels } from "../../providers/core/model-names.ts";
import { type Attempt, type AttemptTimes, endCall, replyWithin, timesOf, toAttemptError } from "../call/attempt.ts";
import { callUpstream, type PreparedCall, type UpstreamResponse } from "../call/call-upstream.ts";
import { routingHeaders } from "../call/provider-response.ts";
import { countsOfBody, modelOfBody } from "../call/usage-units.ts";
import { forwardedKind } from "../facts/request-types.ts";
import { withinRequest } from "../guard/request-deadline.ts";
import { RequestGuard, statusAfterHooks, type TargetGuard } from "../guard/request-guard.ts";
import type { Caller } from "../pipeline/execute.ts";
import { planRequest, runPlan } from "../pipeline/run.ts";
import { forwardBody, isText } from "../stream/byte-relay.ts";
import { type RequestConfig, readRequestConfig } from "../target/config-source.ts";
import { isFromRequest, listLeaves, readLeafDestination } from "../target/config-target.ts";
import { requireForwardedModels } from "../target/model-list.ts";
import { modelsAroundBody, modelsInBytes, modelsOfForwarded } from "./forwarded-models.ts";
import { requireNativeRoute } from "./native-routes.ts";
import { type PassthroughDestination, readPassthroughDestination } from "./provider-path.ts";

/** Bodies up to this size are held in memory; larger ones, and those of unknown size, are streamed. */
const smallBodyBytes = 256 * 1024;

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, maxLoggedBody));
}

/** A body to be sent to the provider, and what could be read of it. */
interface Upload {
  body: Uint8Array | ReadableStream<Uint8Array> | undefined;
  /** Its text; undefined where it was not read or is not UTF-8. */
  text: string | undefined;
  /** Top-level fields of a JSON object; empty for any other body. */
  members: Readonly<Record<string, unknown>>;
  /** The model it names. */
  model: string | undefined;
  /** All models it names, if it is long and was read for them. */
  named?: NamedModels;
}

const noMembers = {};

/** An absent body, or one of unknown content. */
function unread(body: Upload["body"]): Upload {
  return { body, text: undefined, members: noMembers, model: undefined };
}

/** A body in memory, with what could be read of it. */
function readHeldBody(body: Uint8Array, text: string | undefined, { log }: CallerContext): Upload {
  const value = text === undefined ? undefined : parseJson(text);
  if (!isObject(value)) return { ...unread(body), text };
  const model = stringOf(value.model);
  if (model !== undefined) {
    log.model = model;
    log.requestedModel = model;
  }
  log.stream = value.stream === true;
  return { body, text, members: value, model };
}

/** Text of UTF-8 bytes; undefined for others. */
function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return decodeUtf8(bytes);
  } catch {
    return undefined;
  }
}

/** Holds a long body in memory, so that the models it names can be read. */
async function holdUpload(context: CallerContext, maxBytes: number): Promise<Upload> {
  const { services, request } = context;
  const reserve = reserveBody(context, services);
  try {
    const bytes = await readBytes(request, { bytes: maxBytes, ...uploadTimes, timers: services.timers, reserve });
    if (bytes.length === 0) return unread(undefined);
    return { ...unread(bytes), named: await turns.run(() => modelsInBytes(bytes, context)) };
  } catch (error) {
    throw toBodyError(error, maxBytes);
  }
}

/** Most bytes of a body that is held to read the models it names, by its type. */
function mostHeld({ headers, services: { limits } }: CallerContext): number {
  return boundaryOf(headers.get("content-type")) === undefined ? limits.jsonBodyBytes : limits.formBodyBytes;
}

/** A body above the size that is always read, or of unknown size. */
async function readLongUpload(context: CallerContext, length: number, isRead: boolean): Promise<Upload> {
  const { body } = context.request;
  if (!body) return unread(undefined);
  if (isRead && !(length > mostHeld(context))) return holdUpload(context, mostHeld(context));
  return unread(countBytes(body, { bytes: context.services.limits.streamedBodyBytes, ...uploadTimes }));
}

/**
 * The body as it came: small ones in memory, so that they can be logged, others as a counted stream.
 *
 * @param isRead Whether limits depend on the models that long ones name.
 */
async function readUpload(context: CallerContext, isRead: boolean): Promise<Upload> {
  const { request, log } = context;
  if (context.method === "GET") return unread(undefined);
  const maxBytes = context.services.limits.streamedBodyBytes;
  const length = Number(context.headers.get("content-length") ?? Number.NaN);
  if (length > maxBytes) throw toBodyError(new BodyError("too_large"), maxBytes);
  if (!(length <= smallBodyBytes)) return readLongUpload(context, length, isRead);
  if (length === 0) return unread(undefined);
  try {
    const bytes = await readBytes(request, { bytes: smallBodyBytes, ...receiveTimes, timers: context.services.timers });
    if (!isText(context.headers.get("content-type"), context.headers.get("content-encoding"))) return unread(bytes);
    log.requestBody = bytes;
    return readHeldBody(bytes, decodeText(bytes), context);
  } catch (error) {
    throw toBodyError(error, maxBytes);
  }
}

/** Records the counts of a small JSON response, and the model and service tier it names. */
function noteAnswer({ log }: CallerContext, text: string): void {
  const body = parseJson(text);
  if (!isObject(body)) return;
  log.usage = countsOfBody(body);
  log.answeredModel = modelOfBody(body);
}

/** The ending of a forwarded response, which also records the counts of a small one: its length was not known before. */
function withCounts({ note, ...ending }: Ending, context: CallerContext): Ending {
  return {
    ...ending,
    note() {
      void note?.();
      const { responseBody } = context.log;
      if (responseBody && responseBody.length <= smallBodyBytes) noteAnswer(context, textOfBody(responseBody));
    },
  };
}

async function answerUpstream(upstream: Response, attempt: Attempt, context: CallerContext): Promise<Reply> {
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
  if (status === 204 || status === 205 || status === 304) return { status, headers, body: null };
  if (length <= smallBodyBytes) {
    const bytes = await readHeld(upstream, { attempt, provider, timers: context.services.timers });
    endCall(attempt, context);
    if (logsText) {
      context.log.responseBody = bytes;
      noteAnswer(context, textOf(bytes));
    }
    return { status, headers, body: bytes.length === 0 ? null : bytes };
  }
  if (upstream.body === null) return { status, headers, body: null };
  if (Number.isSafeInteger(length)) headers["content-length"] = String(length);
  const reply = forwardBody({ status, headers, body: upstream.body }, { attempt, provider, logsText }, context);
  const finished = reply.finished?.then((ending) => withCounts(ending, context));
  return finished ? { ...reply, finished } : reply;
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
  const { body, text, model, named } = request.upload;
  requireForwardable(destination);
  const passed = readPassthroughDestination(destination, context, model);
  requireNativeRoute(destination, context);
  const call = preparePassthrough(passed, request, context);
  const forwarded = { provider: destination.provider, path: passed.path, body, named };
  context.log.names = () => modelsOfForwarded(forwarded, context);
  requireForwardedModels(destination, { ...call, body: body === undefined ? undefined : { text } });
  return callUpstream(call, times, context);
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
function isUnambiguous({ body, text, members }: Upload): boolean {
  return body === undefined || (members !== noMembers && !hasRepeatedName(text ?? ""));
}

/** Forwards a request by its config; a streamed body is sent once only. */
async function forwardByConfig(
  config: RequestConfig,
  upload: Upload,
  context: CallerContext,
): Promise<PassthroughResponse> {
  requireSingleTarget(config, context);
  const { body, members } = upload;
  const isRead = isUnambiguous(upload);
  const plan = planRequest(config, members, { context });
  const kind = forwardedKind(context.log.operation, { isRead, leadsTo: context.leadsTo });
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
    statusOf: ({ upstream }) => upstream.status,
    headersOf: ({ upstream }) => upstream.headers,
    discard({ upstream, attempt }) {
      upstream.body?.cancel().catch(() => {});
      attempt.release();
    },
    canRepeat: !(body instanceof ReadableStream),
  };
  return runPlan(config, plan, caller, context);
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
  const given = readRequestConfig(context);
  const config = given instanceof Promise ? await given : given;
  // a file that is stored calls no model
  const isRead = config.view.policies?.looksAtModels === true && context.log.operation !== "uploadFile";
  const { upstream, attempt } = await forwardByConfig(config, await readUpload(context, isRead), context);
  return replyWithin(attempt, answerUpstream(upstream, attempt, context));
}

/**
 * Whether a request is forwarded unchanged, whatever its route: it names a proxy provider itself, and neither the
 * request nor its key or workspace has a config with targets.
 *
 * @throws {InvalidRequestError} 400 if its config cannot be used.
 */
export function isPassedOn(context: CallerContext): boolean | Promise<boolean> {
  const slug = context.header("provider");
  const isRaw = slug !== null && context.services.providers.get(slug)?.isRaw === true;
  if (!isRaw || context.header("config") !== null) return false;
  const leavesOpen = ({ node }: RequestConfig) => isFromRequest(node);
  const given = readRequestConfig(context);
  return given instanceof Promise ? given.then(leavesOpen) : leavesOpen(given);
}
