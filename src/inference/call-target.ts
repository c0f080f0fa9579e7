import { reserveBody } from "../context/held-bodies.ts";
import type { CallerContext } from "../context.ts";
import type { DialectOptions } from "../dialects/types.ts";
import { isJsonType } from "../endpoint.ts";
import { UnavailableError, UpstreamError } from "../errors.ts";
import { BodyError, readBeginning, readBytes } from "../lib/body.ts";
import { type ExactNumbers, type ShelteredBytes, shelterIntegers } from "../lib/exact-numbers.ts";
import { decodeUtf8, findJsonExcess, isObject } from "../lib/json.ts";
import type { Reply } from "../lib/reply.ts";
import { beginningOf } from "../logs/body.ts";
import { type Destination, productName } from "../providers/call.ts";
import { statusOfErrorBody } from "../providers/failures.ts";
import { BinaryAnswer, type OperationName, type Operations } from "../providers/operations.ts";
import type { CallFailure, ConversionOptions, OperationAdapters } from "../providers/types.ts";
import type { InheritedSettings } from "../routing/config.ts";
import { toProviderError, unifiedHeaders } from "./answer.ts";
import { answerHeld, answerStream } from "./answer-stream.ts";
import { type Attempt, type AttemptTimes, type PreparedCall, send, startAttempt, toAttemptError } from "./attempt.ts";
import { noteCounts } from "./counts.ts";
import { noteDropped } from "./dropped.ts";
import { type OpenedAnswer, openAnswer } from "./framing.ts";
import type { TargetGuard } from "./guards.ts";
import { answerFlow, encodeBody, isFlow, type SentForm, withoutMedia } from "./media.ts";
import { modelOf, requireModel, requireSentModels } from "./model-list.ts";
import { isStreamed, type ServedOperation, serveOperation } from "./operation.ts";
import { sendRepaired } from "./repair.ts";
import { callSplit } from "./split-call.ts";
import { isStrict, namesBeta, readClientHeader, readForwardedHeaders, readTimeout } from "./target.ts";

/** Largest decoded answer that is read whole. */
const maxAnswerBytes = 64 * 1024 * 1024;
/** The attempt keeps the time: reading needs no timer of its own. */
const answerBounds = { bytes: maxAnswerBytes, totalMs: Number.POSITIVE_INFINITY, silenceMs: Number.POSITIVE_INFINITY };

/** One unified operation on its way to its provider. */
interface Run {
  operation: ServedOperation;
  destination: Destination;
  attempt: Attempt;
  settings: InheritedSettings | undefined;
  /** The client's form, where the request is one. */
  form: SentForm | undefined;
  guard: TargetGuard | undefined;
  strict: boolean;
}

/** The upstream's request, its headers built from nothing. */
function prepareCall({ operation, destination, form }: Run, forwarded: Record<string, string>): PreparedCall {
  const { method, path, streamed, media } = operation;
  const headers = Object.assign(forwarded, operation.headers(forwarded));
  headers.accept = streamed ? "text/event-stream" : media.flows ? "*/*" : "application/json";
  headers["accept-encoding"] = "identity";
  headers["user-agent"] = productName;
  const { provider, customHost, credential } = destination;
  const call: PreparedCall = { provider, customHost, credential, method, path, headers, raw: false };
  if (method === "GET") return call;
  const encoded = encodeBody(operation, form);
  Object.assign(headers, encoded.headers);
  call.body = encoded.body;
  return call;
}

/** What is read of an answer that tells of a failure. */
const maxFailureBytes = 256 * 1024;

/**
 * Bytes of an answer that is read whole; of a failure, its beginning.
 *
 * @throws {UpstreamError} If it breaks off or is too large.
 */
export async function readAnswer(
  upstream: Response,
  { attempt, provider }: { attempt: Attempt; provider: string },
  context: CallerContext,
): Promise<Uint8Array> {
  try {
    const length = Number(upstream.headers.get("content-length") ?? Number.NaN);
    // the usual, small failure is read in one go
    if (!isSuccess(upstream) && !(length <= maxFailureBytes)) return await readBeginning(upstream, maxFailureBytes);
    return await readBytes(upstream, { ...answerBounds, reserve: reserveBody(context, context.services) });
  } catch (error) {
    if (!(error instanceof BodyError)) throw toAttemptError(error, attempt, provider);
    if (error.problem === "busy") {
      throw new UnavailableError("Cannot read the answer: too many bodies are held in memory now", {
        cause: error,
        provider,
        code: "overloaded",
        retryAfterSeconds: 5,
      });
    }
    if (error.problem === "too_large") throw badAnswer(provider, "it is too large", error);
    throw toAttemptError(error.cause, attempt, provider);
  }
}

/** Text of an answer that is safe to parse. @throws {UpstreamError} 502 for one that is not. */
export function toText(bytes: Uint8Array, provider: string): string {
  const excess = findJsonExcess(bytes);
  if (excess !== undefined) throw badAnswer(provider, `it has ${excess}`);
  try {
    return decodeUtf8(bytes);
  } catch (cause) {
    throw badAnswer(provider, "it is not UTF-8", cause);
  }
}

/** Text of a failure's body. Its status is what counts: letters that are none are replaced, and what is unsafe to parse is left out. */
export function toFailureText(bytes: Uint8Array): string {
  return findJsonExcess(bytes) === undefined ? new TextDecoder().decode(bytes) : "";
}

/** The error for an answer that cannot be used. */
export function badAnswer(provider: string, problem: string, cause?: unknown): UpstreamError {
  return new UpstreamError(502, `Cannot use the answer of ${provider}: ${problem}`, {
    provider,
    code: "upstream_bad_answer",
    ...(cause !== undefined && { cause }),
  });
}

/** The object, or the list where it may be one, an answer holds. @throws {UpstreamError} 502 when it holds none. */
export function parseAnswer(text: string, provider: string, { isList }: { isList: boolean }): object {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw badAnswer(provider, "it is not valid JSON", cause);
  }
  if (isObject(body) || (isList && Array.isArray(body))) return body;
  throw badAnswer(provider, "it is not a JSON object");
}

/** The client's answer to an upstream answer that is not a stream. */
async function answerWhole(upstream: Response, run: Run, context: CallerContext): Promise<Reply> {
  const { log } = context;
  const { slug } = run.destination.provider;
  const bytes = await readAnswer(upstream, { attempt: run.attempt, provider: slug }, context);
  log.upstreamEndedAt = context.services.clock.monotonic();
  const { media, answerBytes } = run.operation;
  if (answerBytes && isSuccess(upstream) && /^(?:image|audio)\//i.test(typeOf(upstream))) {
    const given = new BinaryAnswer(bytes, typeOf(upstream));
    const answer = convert(run, () => answerBytes(given)) ?? {};
    return answerWith(answer, upstream, { run, context });
  }
  if (!isSuccess(upstream)) throw toProviderError(upstream, toFailureText(bytes), context);
  const sheltered = shelterAnswer(bytes, upstream, { run, context });
  const text = toText(sheltered?.bytes ?? bytes, slug);
  const body = parseAnswer(text, slug, media);
  const { error, choices } = isObject(body) ? body : {};
  if (error !== undefined && error !== null && choices === undefined && !media.readsErrors) {
    const status = statusOfErrorBody(error);
    throw toProviderError({ status, headers: upstream.headers }, text, context);
  }
  const answer = convert(run, () => run.operation.answer(body));
  if (answer !== undefined) return answerWith(answer, upstream, { run, context, numbers: sheltered?.numbers });
  noteCounts(context, run.operation, body);
  log.responseBody = media.isHeavy ? withoutMedia(body) : beginningOf(bytes);
  const headers = unifiedHeaders(upstream, slug, context);
  headers["content-type"] = "application/json";
  return { status: upstream.status, headers, body: sheltered ? toText(bytes, slug) : text };
}

/** An answer whose numbers are to stay as they are written while it is converted; undefined where all can be held. */
function shelterAnswer(
  bytes: Uint8Array,
  upstream: Response,
  { run: { operation }, context: { numbers } }: { run: Run; context: CallerContext },
): ShelteredBytes | undefined {
  return operation.media.isHeavy || !isSuccess(upstream) ? undefined : shelterIntegers(bytes, numbers);
}

/** The client's answer where the upstream's was converted. */
function answerWith(
  answer: Record<string, unknown> | BinaryAnswer,
  upstream: Response,
  { run, context, numbers }: { run: Run; context: CallerContext; numbers?: ExactNumbers | undefined },
): Reply {
  const { log } = context;
  const headers = unifiedHeaders(upstream, run.destination.provider.slug, context);
  if (answer instanceof BinaryAnswer) {
    noteCounts(context, run.operation, undefined);
    headers["content-type"] = answer.type;
    return { status: upstream.status, headers, body: answer.bytes };
  }
  noteCounts(context, run.operation, answer);
  const written = JSON.stringify(answer);
  const text = numbers ? numbers.restore(written) : written;
  log.responseBody = run.operation.media.isHeavy ? withoutMedia(answer) : beginningOf(text);
  headers["content-type"] = "application/json";
  return { status: upstream.status, headers, body: text };
}

function typeOf({ headers }: Response): string {
  return headers.get("content-type") ?? "application/octet-stream";
}

function isSuccess({ status }: Response): boolean {
  return status >= 200 && status <= 299;
}

/**
 * The answer in the gateway's shape, undefined where it came in it; a body the adapter cannot read is the upstream's fault.
 *
 * @throws {UpstreamError} Also the adapter's own, for failures that come with status 200.
 */
function convert(
  { destination }: Run,
  read: () => object | undefined,
): Record<string, unknown> | BinaryAnswer | undefined {
  const { slug } = destination.provider;
  try {
    const answer = read();
    return answer instanceof BinaryAnswer ? answer : answer && { ...answer, provider: slug };
  } catch (cause) {
    if (cause instanceof UpstreamError) throw cause;
    throw badAnswer(slug, "it does not have the expected members", cause);
  }
}

/** Whether there is another request for one that was refused; the run holds it then. */
function repair(run: Run, failure: CallFailure): boolean {
  const repaired = run.operation.repair?.(failure);
  if (repaired !== undefined) run.operation = repaired;
  return repaired !== undefined;
}

/** The request as it goes upstream: with the plain name of the model where it was asked for by reference. */
function withModel<Request extends object>(request: Request, model: string | undefined): Request {
  return model === undefined || Reflect.get(request, "model") === model ? request : { ...request, model };
}

/** Value of `x-gateway-beta` with which messages go by way of the Responses API. */
const responsesBeta = "use-responses-api-2026-07-30";

/** What conversions may ask of an answer besides its body. */
interface Received {
  headers?: Headers;
}

/** How answers are converted, and who is told of what is left out. */
function conversionOptions(
  { destination, settings }: Target,
  context: CallerContext,
  received: Received,
): ConversionOptions & DialectOptions {
  const { clock } = context.services;
  const { id, log, keepAnswer } = context;
  log.dropped = null;
  return {
    strict: isStrict(context, settings),
    hasCustomHost: destination.customHost !== undefined,
    id,
    clientHeader: (name) => readClientHeader(name, context),
    answerHeader: (name) => received.headers?.get(name) ?? undefined,
    answerId: `chatcmpl-${id}`,
    created: Math.floor(clock.now() / 1000),
    now: () => Math.floor(clock.now() / 1000),
    overResponses: namesBeta(context, responsesBeta),
    ...(keepAnswer && { keep: keepAnswer }),
    ...(context.numbers && { numbers: context.numbers }),
    drop: (member) => noteDropped(log, member),
  };
}

/** One target of a request: where it goes, and with which settings of its config. */
export interface Target {
  destination: Destination;
  /** The form the request came as, where it is one. */
  form?: SentForm | undefined;
  /** Absent for requests without a config. */
  settings?: InheritedSettings;
  /** Milliseconds of the monotonic clock at which the whole request ends. */
  deadline?: number | undefined;
  /** Its guardrails, where it has some. */
  guard?: TargetGuard;
}

/** The operation with its body made, once the names in the call are ones that may be called. @throws {BudgetError} 412 */
function requireCalled(
  operation: ServedOperation,
  destination: Destination,
  headers: Readonly<Record<string, string>>,
): ServedOperation {
  const body = operation.method === "GET" ? undefined : operation.body();
  requireSentModels(destination, { path: operation.path, body, headers });
  return { ...operation, body: () => body };
}

/** Time a call may take, and what is left of the whole request. */
function timesOf({ settings, deadline }: Target, context: CallerContext): AttemptTimes {
  return {
    timeoutMs: readTimeout(context, settings?.requestTimeoutMs),
    wholeMs: deadline === undefined ? undefined : deadline - context.services.clock.monotonic(),
  };
}

/**
 * Calls one target and answers in the shape of the route.
 *
 * @param request The request, the parameters of the config applied.
 * @throws {GatewayError} If the provider fails, cannot be reached or does not have the operation.
 */
export async function callTarget<Name extends OperationName>(
  name: Name,
  request: Operations[Name]["request"],
  target: Target,
  context: CallerContext,
): Promise<Reply> {
  const { log } = context;
  const { destination, settings, form } = target;
  const { provider, managed } = destination;
  log.stream = isStreamed(name, request);
  const received: Received = {};
  const options = conversionOptions(target, context, received);
  const asked = withModel(request, managed?.model);
  const adapter: OperationAdapters[Name] = provider.operations[name];
  if (adapter?.split) {
    const input = { adapter, request: asked, target, context };
    const joined = callSplit(input, (part, whole) => callTarget(name, part, whole, context));
    if (joined) return joined;
  }
  // what asks for no model calls none
  if (managed && name !== "models") requireModel(destination, modelOf(asked));
  const served = serveOperation(name, asked, provider, options);
  const forwarded = readForwardedHeaders(context, settings?.forwardHeaders);
  for (const header of provider.clientHeaders) {
    const value = readClientHeader(header, context);
    if (value !== undefined) forwarded[header] ??= value;
  }
  target.guard?.addHeaders(forwarded);
  const headers = managed ? Object.assign(forwarded, managed.headers) : forwarded;
  const operation = managed?.restrictedTo ? requireCalled(served, destination, headers) : served;
  const attempt = startAttempt(context.request, timesOf(target, context), context.services.timers);
  const run: Run = { operation, destination, attempt, settings, form, guard: target.guard, strict: options.strict };
  try {
    const came = await (operation.repair
      ? sendRepaired({
          send: () => send(prepareCall(run, { ...headers }), attempt, context),
          read: (refused) => readAnswer(refused, { attempt, provider: provider.slug }, context),
          repair: (failure) => repair(run, failure),
        })
      : send(prepareCall(run, headers), attempt, context));
    received.headers = came.headers;
    // of a form that flows through it is not known what it asks for
    const mayStream = operation.streamed || isFlow(form);
    const opened = mayStream ? openAnswer(came, operation.framing) : { response: came, isStream: false };
    const { response: upstream, isStream } = opened instanceof Promise ? await readStart(opened, run) : opened;
    if (isStream) {
      const answer = target.guard?.holdsStreams ? answerHeld : answerStream;
      return await answer(upstream, run, context);
    }
    if (flowsBack(upstream, operation)) {
      noteCounts(context, operation, undefined);
      return answerFlow(upstream, { attempt, provider: provider.slug }, context);
    }
    return await answerWhole(upstream, run, context);
  } catch (error) {
    throw isFlow(form) ? (form.failure() ?? error) : error;
  } finally {
    if (!log.deferred) attempt.release();
  }
}

/** An answer whose beginning has to be read. @throws {GatewayError} If it breaks off there. */
function readStart(opened: Promise<OpenedAnswer>, { attempt, destination }: Run): Promise<OpenedAnswer> {
  return opened.catch((error: unknown) => {
    throw toAttemptError(error, attempt, destination.provider.slug);
  });
}

/** Whether an answer goes back as it comes. */
function flowsBack(upstream: Response, { media, answerBytes }: ServedOperation): boolean {
  if (!media.flows || answerBytes || !isSuccess(upstream)) return false;
  return media.isPlain || !isJsonType(typeOf(upstream));
}
