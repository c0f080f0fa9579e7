import type { CallerContext, Services } from "../context.ts";
import { toBodyError } from "../endpoint.ts";
import { InvalidRequestError, UpstreamError } from "../errors.ts";
import { BodyError, countBytes, readBytes, receiveTimes, uploadTimes } from "../lib/body.ts";
import { answerHeaders, passthroughRequestHeaders } from "../lib/headers.ts";
import { hasRepeatedName, isObject, parseJson } from "../lib/json.ts";
import type { Reply } from "../lib/reply.ts";
import type { Timers } from "../lib/timers.ts";
import { isSocketHandshake } from "../lib/websocket.ts";
import { maxLoggedBody } from "../logs/body.ts";
import { toLoggedUsage } from "../logs/usage.ts";
import type { Destination } from "../providers/call.ts";
import { routingHeaders } from "./answer.ts";
import { type Attempt, type AttemptTimes, type PreparedCall, send, startAttempt, toAttemptError } from "./attempt.ts";
import { type RequestConfig, readRequestConfig } from "./config-source.ts";
import type { Caller } from "./execute.ts";
import { flowBack, isText } from "./flow.ts";
import { RequestGuard, statusAfterHooks, type TargetGuard } from "./guards.ts";
import { withinRequest } from "./hook-time.ts";
import { isFromRequest, listLeaves, readLeafDestination } from "./leaf.ts";
import { type PassedDestination, readPassedDestination } from "./passed-path.ts";
import { passedKind } from "./request-types.ts";
import { requireRelayed } from "./require-relayed.ts";
import { planRequest, runPlan } from "./run.ts";
import { requireModelOfBody } from "./stored-provider.ts";
import { readRequestDestination, readTimeout } from "./target.ts";

/** A body up to this size is held in memory; larger ones, and those of unknown size, flow through. */
const heldBody = 256 * 1024;

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, maxLoggedBody));
}

function notePlainFacts(context: CallerContext, text: string): void {
  const body = parseJson(text);
  if (!isObject(body)) return;
  if (typeof body.model === "string") context.log.model = body.model;
  context.log.stream = body.stream === true;
}

/** The body as it came: small ones held, so that they can be logged, others as a stream that is counted. */
async function readUpload(
  context: CallerContext,
  services: Services,
): Promise<Uint8Array | ReadableStream<Uint8Array> | undefined> {
  const { request, log } = context;
  if (context.method === "GET") return undefined;
  const maxBytes = services.limits.streamedBodyBytes;
  const length = Number(context.headers.get("content-length") ?? Number.NaN);
  if (length > maxBytes) throw toBodyError(new BodyError("too_large"), maxBytes);
  if (!(length <= heldBody))
    return request.body ? countBytes(request.body, { bytes: maxBytes, ...uploadTimes }) : undefined;
  if (length === 0) return undefined;
  try {
    const bytes = await readBytes(request, { bytes: heldBody, ...receiveTimes, timers: services.timers });
    if (isText(context.headers.get("content-type"), context.headers.get("content-encoding"))) {
      log.requestBody = bytes;
      notePlainFacts(context, textOf(bytes));
    }
    return bytes;
  } catch (error) {
    throw toBodyError(error, maxBytes);
  }
}

/** Notes what a small JSON answer tells. */
function noteAnswer(context: CallerContext, bytes: Uint8Array): void {
  context.log.responseBody = bytes;
  const body = parseJson(textOf(bytes));
  if (isObject(body)) context.log.usage = toLoggedUsage(body.usage);
}

async function answerUpstream(
  upstream: Response,
  attempt: Attempt,
  context: CallerContext,
  services: Services,
): Promise<Reply> {
  const { log } = context;
  const provider = log.provider ?? "provider";
  const status = statusAfterHooks(upstream.status, context);
  const headers = {
    ...answerHeaders(upstream.headers, services.headerRules.returned),
    ...routingHeaders(provider, log),
  };
  const keepText = isText(upstream.headers.get("content-type"), upstream.headers.get("content-encoding"));
  const length = Number(upstream.headers.get("content-length") ?? Number.NaN);
  attempt.stopTimer();
  if (status === 204 || status === 205 || status === 304) return { status, headers, body: null };
  if (length <= heldBody) {
    const bytes = await readHeld(upstream, { attempt, provider, timers: services.timers });
    log.upstreamEndedAt = services.clock.monotonic();
    if (keepText) noteAnswer(context, bytes);
    return { status, headers, body: bytes.length === 0 ? null : bytes };
  }
  if (upstream.body === null) return { status, headers, body: null };
  if (Number.isSafeInteger(length)) headers["content-length"] = String(length);
  return flowBack({ status, headers, body: upstream.body }, { attempt, provider, keepText }, context, services);
}

/** A small answer whole. */
async function readHeld(
  upstream: Response,
  { attempt, provider, timers }: { attempt: Attempt; provider: string; timers: Timers },
): Promise<Uint8Array> {
  try {
    return await readBytes(upstream, { bytes: heldBody, ...uploadTimes, timers });
  } catch (error) {
    if (error instanceof BodyError && error.problem === "timeout") {
      throw new UpstreamError(504, `Cannot get an answer from ${provider}: it went silent`, {
        cause: error,
        provider,
        code: "upstream_idle",
      });
    }
    throw toAttemptError(error instanceof BodyError ? error.cause : error, attempt, provider);
  }
}

/** A body on its way through; a text is one whose content coding was undone. */
type Upload = string | Uint8Array | ReadableStream<Uint8Array> | undefined;

/** What is passed on, and the guardrails that let it pass. */
interface PassedRequest {
  body: Upload;
  guard?: TargetGuard | undefined;
}

/** An answer on its way back, with the call it belongs to. */
interface PassedAnswer {
  upstream: Response;
  attempt: Attempt;
}

/** The provider's request: the caller's, less what belongs to one connection or to the gateway. */
function preparePassed(
  { destination, path }: PassedDestination,
  { body, guard }: PassedRequest,
  context: CallerContext,
  services: Services,
): PreparedCall {
  const headers = passthroughRequestHeaders(context.headers.values(), services.headerRules.mayGoUpstream);
  // the provider's rule decides how its credential is sent
  if (!destination.provider.isRaw) delete headers.authorization;
  for (const [name, value] of Object.entries(headers)) {
    if (value.includes(context.gatewayKey)) delete headers[name];
  }
  for (const [name, value] of Object.entries(context.relay?.headers ?? {})) headers[name] ??= value;
  Object.assign(headers, destination.managed?.headers);
  if (typeof body === "string") delete headers["content-encoding"];
  guard?.addHeaders(headers);
  const length = context.headers.get("content-length");
  if (body instanceof ReadableStream && length !== undefined) headers["content-length"] = length;
  return {
    ...destination,
    ...{ method: context.method, path, headers, raw: true },
    ...(body !== undefined && { body }),
  };
}

/** @throws {InvalidRequestError} 400 for providers that answer inside the gateway: there is nothing to pass on to. */
export function requirePassable({ provider, customHost }: Destination): void {
  if (!provider.local || customHost !== undefined) return;
  throw new InvalidRequestError(`Cannot pass this path on to ${provider.slug}: this provider has no network`, {
    code: "unsupported_endpoint",
  });
}

/** Makes one call. The attempt is released by whoever takes its answer. */
async function pass(
  { destination, ...times }: { destination: Destination } & AttemptTimes,
  request: PassedRequest,
  context: CallerContext,
  services: Services,
): Promise<PassedAnswer> {
  requirePassable(destination);
  const passed = readPassedDestination(destination, context, services);
  requireRelayed(destination, context);
  const isRead = request.body === undefined || context.log.requestBody !== null;
  requireModelOfBody(destination, { model: context.log.model, isRead });
  const attempt = startAttempt(context.request, times, services.timers);
  try {
    const upstream = await send(preparePassed(passed, request, context, services), attempt, context, services);
    return { upstream, attempt };
  } catch (error) {
    attempt.release();
    throw error;
  }
}

/** The model the query of a request that is passed on names. */
export function namedModel(context: CallerContext): string | undefined {
  return context.url.searchParams.get("model") ?? undefined;
}

/** Passes a request on to the provider it names. */
async function passDirectly(
  readBody: () => Upload | Promise<Upload>,
  context: CallerContext,
  services: Services,
): Promise<PassedAnswer> {
  const destination = await readRequestDestination(context, services, { model: namedModel(context) });
  const timeoutMs = readTimeout(context, services);
  return pass({ destination, timeoutMs }, { body: await readBody() }, context, services);
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

/** Text of a body that is held; undefined for any other. */
function heldText(body: Upload, { log }: CallerContext): string | undefined {
  if (typeof body === "string") return body;
  return body instanceof Uint8Array && log.requestBody !== null ? textOf(body) : undefined;
}

/** What is known of a body that is passed on. */
interface KnownBody {
  /** Top-level members; none where they are not known. */
  params: Readonly<Record<string, unknown>>;
  /** Every reader of the body finds these members. */
  isRead: boolean;
}

function readKnown(body: Upload, context: CallerContext): KnownBody {
  const text = heldText(body, context);
  const value = text === undefined ? undefined : parseJson(text);
  if (!isObject(value)) return { params: {}, isRead: body === undefined };
  return { params: value, isRead: !hasRepeatedName(text ?? "") };
}

/** Passes a request on as a config says; a body that flows through is sent once only. */
async function passByConfig(
  config: RequestConfig,
  body: Upload,
  context: CallerContext,
  services: Services,
): Promise<PassedAnswer> {
  requireSingleTarget(config, context);
  const { params, isRead } = readKnown(body, context);
  const plan = planRequest(config, params, { context, services });
  const kind = passedKind(context.log.operation, { isRead });
  const guard = new RequestGuard(kind, config.view, { context, services });
  const callsNothing = context.method === "GET" || context.method === "DELETE";
  const isBare = callsNothing && body === undefined && namedModel(context) === undefined;
  const caller: Caller<PassedAnswer> = {
    async call(attempt, { deadline }) {
      const { node, settings } = attempt;
      const entering = guard.enter(attempt, isRead ? params : {}, { isBare });
      const guarded = entering && (await withinRequest(entering, deadline, { context, services }));
      const destination = await readLeafDestination({ node, settings, model: namedModel(context) }, context, services);
      const timeoutMs = readTimeout(context, services, settings.requestTimeoutMs);
      const wholeMs = deadline === undefined ? undefined : deadline - services.clock.monotonic();
      return pass({ destination, timeoutMs, wholeMs }, { body, guard: guarded }, context, services);
    },
    statusOf: ({ upstream }) => upstream.status,
    headersOf: ({ upstream }) => upstream.headers,
    discard({ upstream, attempt }) {
      upstream.body?.cancel().catch(() => {});
      attempt.release();
    },
    canRepeat: !(body instanceof ReadableStream),
  };
  return runPlan(config, plan, caller, { context, services });
}

/**
 * Hands a request to the provider as it is and its answer back as it is: bytes, status and headers, less those that belong
 * to one connection.
 */
export async function runPassthrough(context: CallerContext, services: Services): Promise<Reply> {
  if (isSocketHandshake(context.method, context.headers)) {
    throw new InvalidRequestError("Cannot open a WebSocket here: only /v1/realtime takes them", {
      ...{ code: "invalid_handshake", param: "upgrade" },
    });
  }
  const given = readRequestConfig(context, services);
  const config = given instanceof Promise ? await given : given;
  const readBody = () => readUpload(context, services);
  return answerPassed(
    config
      ? await passByConfig(config, await readBody(), context, services)
      : await passDirectly(readBody, context, services),
    context,
    services,
  );
}

/**
 * Whether a request goes, whatever its route, as it came to a provider that takes such requests. It names that provider
 * itself, and neither it nor its key or workspace a config that says where to go.
 *
 * @throws {InvalidRequestError} 400 if its config cannot be used.
 */
export function isPassedOn(context: CallerContext, services: Services): boolean | Promise<boolean> {
  const slug = context.header("provider");
  const isRaw = slug !== null && services.providers.get(slug)?.isRaw === true;
  if (!isRaw || context.header("config") !== null) return false;
  const leavesOpen = (config: RequestConfig | undefined) => config === undefined || isFromRequest(config.node);
  const given = readRequestConfig(context, services);
  return given instanceof Promise ? given.then(leavesOpen) : leavesOpen(given);
}

/** As `runPassthrough`, for a body that was read and held already. */
export async function passHeld(text: string, context: CallerContext, services: Services): Promise<Reply> {
  notePlainFacts(context, text);
  const config = await readRequestConfig(context, services);
  return answerPassed(
    config ? await passByConfig(config, text, context, services) : await passDirectly(() => text, context, services),
    context,
    services,
  );
}

async function answerPassed(
  { upstream, attempt }: PassedAnswer,
  context: CallerContext,
  services: Services,
): Promise<Reply> {
  try {
    return await answerUpstream(upstream, attempt, context, services);
  } finally {
    if (!context.log.deferred) attempt.release();
  }
}
