import type { ProviderRules } from "../../context/provider-rules.ts";
import type { CallerContext } from "../../context.ts";
import type { DialectOptions, StoreResponse } from "../../dialects/types.ts";
import { isJsonType } from "../../endpoint/body.ts";
import { UpstreamError } from "../../errors.ts";
import { type ExactNumbers, shelterIntegers } from "../../lib/exact-numbers.ts";
import { isObject } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { beginningOf, withoutMedia } from "../../logs/body.ts";
import { type Destination, productName } from "../../providers/core/call.ts";
import { readFailure, statusOfErrorBody } from "../../providers/core/failures.ts";
import { modelsInBody } from "../../providers/core/model-names.ts";
import { BinaryAnswer, type OperationName, type Operations } from "../../providers/core/operations.ts";
import { toConversionFacts } from "../../providers/core/operator-facts.ts";
import type { CallFailure, ConversionOptions, OperationAdapters } from "../../providers/core/types.ts";
import type { InheritedSettings } from "../../routing/config.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { type ServedOperation, serveOperation } from "../adapt/operation.ts";
import { replyWithin, timesOf, toAttemptError } from "../call/attempt.ts";
import { callUpstream } from "../call/call-upstream.ts";
import { noteOriginal, noteSent } from "../call/log-phases.ts";
import type { PreparedCall } from "../call/prepared-call.ts";
import { noteDropped, toProviderError, unifiedHeaders } from "../call/provider-response.ts";
import { refuseServerTool, withoutOwnStores } from "../call/refused-tools.ts";
import { badAnswer, isSuccess, parseAnswer, readAnswer, toFailureText, toText } from "../call/upstream-body.ts";
import { noteCounts } from "../call/usage-units.ts";
import { isStreamed, modelOf } from "../facts/operation-facts.ts";
import type { TargetGuard } from "../guard/target-guard.ts";
import type { StreamCache } from "../stream/stream-capture.ts";
import { type OpenedResponse, openAnswer } from "../stream/stream-framing.ts";
import { requireModel, requireSentModels } from "../target/model-list.ts";
import { isStrict, namesBeta, readClientHeader, sentHeaders } from "../target/target.ts";
import { findImageAddresses, withImages } from "./inline-images.ts";
import { encodeBody, forwardResponse, isStreamedForm, type SentForm } from "./media.ts";
import { callSplit } from "./split-call.ts";
import { answerHeld, answerStream } from "./stream-response.ts";

/** One unified operation to be sent to its provider. */
interface Run {
  operation: ServedOperation;
  destination: Destination;
  attempt: Attempt;
  settings: InheritedSettings | undefined;
  /** The client's form, if the request is one. */
  form: SentForm | undefined;
  guard: TargetGuard | undefined;
  strict: boolean;
  cache: StreamCache | undefined;
}

/** The upstream's request, its headers built from nothing, and the value of its JSON body. */
function prepareCall(
  operation: ServedOperation,
  { destination, form }: Target,
  forwarded: Record<string, string>,
  { numbers, received }: CallerContext,
): { call: PreparedCall; made?: unknown } {
  const { method, path, streamed, media } = operation;
  const headers = Object.assign(forwarded, operation.headers(forwarded));
  headers.accept = streamed ? "text/event-stream" : media.flows ? "*/*" : "application/json";
  headers["accept-encoding"] = "identity";
  headers["user-agent"] = productName;
  const { provider, customHost, credential, managed } = destination;
  const sent = { provider, customHost, credential, method, path, headers, raw: false };
  const call: PreparedCall = managed ? { ...sent, managed } : sent;
  if (method === "GET") return { call };
  const encoded = encodeBody(operation, form, numbers ? undefined : received);
  Object.assign(headers, encoded.headers);
  call.body = encoded.body;
  return { call, made: encoded.made };
}

/** The client's response to an upstream response that is not a stream. */
async function answerWhole(upstream: Response, run: Run, context: CallerContext): Promise<Reply> {
  const { log } = context;
  const { slug } = run.destination.provider;
  const bytes = await readAnswer(upstream, { attempt: run.attempt, provider: slug }, context);
  const { media, answerBytes } = run.operation;
  if (answerBytes && isSuccess(upstream) && /^(?:image|audio)\//i.test(typeOf(upstream))) {
    const given = new BinaryAnswer(bytes, typeOf(upstream));
    const answer = convert(run, given, answerBytes) ?? {};
    return answerWith(answer, upstream, { run, context });
  }
  if (!isSuccess(upstream)) {
    noteOriginal(bytes, context, true);
    throw toProviderError(upstream, toFailureText(bytes), context);
  }
  const exact = run.operation.media.isHeavy ? undefined : shelterIntegers(bytes, context.numbers);
  const text = toText(exact?.bytes ?? bytes, slug);
  const body = parseAnswer(text, slug, media);
  const { error, choices } = isObject(body) ? body : {};
  if (error !== undefined && error !== null && choices === undefined && !media.readsErrors) {
    const status = statusOfErrorBody(error);
    throw toProviderError({ status, headers: upstream.headers }, text, context);
  }
  const answer = convert(run, body, run.operation.answer);
  if (answer !== undefined) {
    if (!media.isHeavy) noteOriginal(bytes, context);
    return answerWith(answer, upstream, { run, context, numbers: exact?.numbers });
  }
  noteCounts(context, run.operation, body);
  log.responseBody = media.isHeavy ? withoutMedia(body) : beginningOf(bytes);
  const headers = unifiedHeaders(upstream, slug, context);
  headers["content-type"] = "application/json";
  if (exact) return { status: upstream.status, headers, body: toText(bytes, slug) };
  return { status: upstream.status, headers, body: text, parsed: { text, value: body } };
}

/** The client's response where the upstream's was converted. */
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
  const parsed = numbers ? {} : { parsed: { text, value: answer } };
  log.responseBody = run.operation.media.isHeavy ? withoutMedia(answer) : beginningOf(text);
  headers["content-type"] = "application/json";
  return { status: upstream.status, headers, body: text, ...parsed };
}

function typeOf({ headers }: Response): string {
  return headers.get("content-type") ?? "application/octet-stream";
}

/**
 * The response in the gateway's shape, undefined where it already has it; a body the adapter cannot read is the
 * upstream's fault.
 *
 * @throws {UpstreamError} Also the adapter's own, for failures that come with status 200.
 */
function convert<Given>(
  { destination }: Run,
  given: Given,
  read: (given: Given) => object | undefined,
): Record<string, unknown> | BinaryAnswer | undefined {
  const { slug } = destination.provider;
  try {
    const answer = read(given);
    return answer instanceof BinaryAnswer ? answer : answer && { ...answer, provider: slug };
  } catch (cause) {
    if (cause instanceof UpstreamError) throw cause;
    throw badAnswer(slug, "it lacks expected fields", cause);
  }
}

/** The request as it is sent: with the plain name of the model where it was requested by reference. */
function withModel<Request extends object>(request: Request, model: string | undefined): Request {
  return model === undefined || Reflect.get(request, "model") === model ? request : { ...request, model };
}

/** Value of `x-gateway-beta` that sends messages through the Responses API. */
const responsesBeta = "use-responses-api-2026-07-30";

/** What conversions may read of a response besides its body. */
interface Received {
  headers?: Headers;
}

/** What the operator says of how a model is called: in the integration first, then in the file. */
function operatorFactsOf(
  { provider, managed }: Destination,
  { operatorFacts }: ProviderRules,
  model: string | undefined,
): ModelFacts | undefined {
  const listed = operatorFacts && model !== undefined ? operatorFacts(provider.slug, model) : undefined;
  const ofFile = listed && toConversionFacts(listed);
  const ofModel = managed?.modelFacts && toConversionFacts(managed.modelFacts);
  return ofFile && ofModel ? { ...ofFile, ...ofModel } : (ofModel ?? ofFile);
}

/** How responses are converted, and who learns of dropped parameters. */
function conversionOptions(
  { destination, settings, store }: Target,
  { name, request, received }: { name: OperationName; request: object; received: Received },
  context: CallerContext,
): ConversionOptions & DialectOptions {
  const { clock, providerRules } = context.services;
  const { id, log } = context;
  const modelFacts = operatorFactsOf(destination, providerRules, modelOf(request));
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
    ...(settings?.promptCache && { promptCache: settings.promptCache }),
    ...(modelFacts && { modelFacts }),
    ...(store && { keep: store }),
    ...(context.numbers && { numbers: context.numbers }),
    drop: (member) => {
      if (!settings?.dropParams.includes(member)) refuseServerTool(member, name, request);
      noteDropped(log, member);
    },
  };
}

/** One target of a request: where it goes, and with which settings of its config. */
export interface Target {
  destination: Destination;
  /** The request's form, if it is one. */
  form?: SentForm | undefined;
  /** Absent for requests without a config. */
  settings?: InheritedSettings;
  /** Monotonic time in milliseconds at which the whole request ends. */
  deadline?: number | undefined;
  /** Its guardrails, if it has any. */
  guard?: TargetGuard | undefined;
  /** Remembers a streamed response, for the cache. */
  cache?: StreamCache;
  /** Others wait for its response: the call goes on when its caller leaves. */
  isShared?: boolean;
  /** Stores a response that may be read again. Absent: it is not stored. */
  store?: StoreResponse | undefined;
}

/**
 * The operation with its body made, after checking that the models named in the call are allowed. @throws {BudgetError}
 * 412
 */
function requireCalled(
  operation: ServedOperation,
  destination: Destination,
  headers: Readonly<Record<string, string>>,
): ServedOperation {
  const body = operation.method === "GET" ? undefined : operation.body();
  requireSentModels(destination, { path: operation.path, body, headers });
  return { ...operation, body: () => body };
}

/**
 * Calls one target and responds in the shape of the route.
 *
 * @param request The request with the config's parameters applied.
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
  const modelled = managed ? withModel(request, managed.model) : request;
  const options = conversionOptions(target, { name, request: modelled, received }, context);
  const hasTools = (name === "chat" || name === "messages") && Reflect.get(modelled, "tools") !== undefined;
  const named = hasTools ? withoutOwnStores(modelled, options.drop) : modelled;
  const mayInline = provider.inlinesImages || options.modelFacts?.images === "inline";
  const addresses = mayInline ? findImageAddresses(name, named, { provider, options }) : undefined;
  const asked = addresses ? await withImages(named, addresses, context) : named;
  const adapter: OperationAdapters[Name] = provider.operations[name];
  if (adapter?.split) {
    const input = { name, adapter, request: asked, target, context };
    const joined = callSplit(input, (part, whole) => callTarget(name, part, whole, context));
    // what one part was converted to is not what became of the whole
    if (joined) {
      return joined.finally(() => {
        log.phases = null;
      });
    }
  }
  // an operation without a model calls none
  if (managed && name !== "models") requireModel(destination, modelOf(asked));
  const served = serveOperation(name, asked, provider, options);
  const headers = sentHeaders(target, context);
  let operation = managed?.restrictedTo ? requireCalled(served, destination, headers) : served;
  // a request that may be sent again gets its own copy of the headers for its credential
  const prepare = () => {
    const { call, made } = prepareCall(operation, target, operation.repair ? { ...headers } : headers, context);
    noteSent({ request, made }, call, context);
    return call;
  };
  const repeat = async (refused: Response, attempt: Attempt) => {
    const failure = await readRefusal(refused, attempt, { target, context });
    const repaired = failure && operation.repair?.(failure);
    if (!repaired) return failure ? failure.response : refused;
    operation = repaired;
    return prepare();
  };
  try {
    const terms = { ...timesOf(target, context), listModels: () => modelsInBody(asked), request: asked };
    const { upstream, attempt } = await callUpstream(prepare(), terms, context, operation.repair && repeat);
    received.headers = upstream.headers;
    const { guard, cache } = target;
    const run: Run = { operation, destination, attempt, settings, form, guard, strict: options.strict, cache };
    return await replyWithin(attempt, answerUpstream(upstream, run, context));
  } catch (error) {
    const failure = isStreamedForm(form) ? (form.failure() ?? error) : error;
    throw target.guard ? await target.guard.readFailure(failure) : failure;
  }
}

/** The failure in a 4xx response, with a response to read again; undefined for any other. */
async function readRefusal(
  upstream: Response,
  attempt: Attempt,
  { target, context }: { target: Target; context: CallerContext },
): Promise<(CallFailure & { response: Response }) | undefined> {
  const { status } = upstream;
  if (status < 400 || status > 499) return undefined;
  const bytes = await readAnswer(upstream, { attempt, provider: target.destination.provider.slug }, context);
  const { message } = readFailure(new TextDecoder().decode(bytes), status, upstream.headers);
  const headers = new Headers(upstream.headers);
  headers.delete("content-length");
  return { status, message, response: new Response(new Uint8Array(bytes), { status, headers }) };
}

/** The client's response to an upstream's response. */
async function answerUpstream(came: Response, run: Run, context: CallerContext): Promise<Reply> {
  const { operation, form, guard, attempt, destination } = run;
  // the fields of a streamed form are not known
  const mayStream = operation.streamed || isStreamedForm(form);
  const opened = mayStream ? openAnswer(came, operation.framing) : { response: came, isStream: false };
  const { response: upstream, isStream } = opened instanceof Promise ? await readStart(opened, run) : opened;
  // awaited here: returning a promise costs two more turns
  if (isStream && guard && guard.held.length > 0) return await answerHeld(upstream, run, context);
  if (isStream) return await answerStream(upstream, run, context);
  if (!isForwarded(upstream, operation)) return await answerWhole(upstream, run, context);
  noteCounts(context, operation, undefined);
  if (guard?.checksAnswers) return await answerText(upstream, run, context);
  return forwardResponse(upstream, { attempt, provider: destination.provider.slug }, context);
}

/** A response in plain text that guardrails check: it is read whole. */
async function answerText(upstream: Response, { attempt, destination }: Run, context: CallerContext): Promise<Reply> {
  const { slug } = destination.provider;
  const bytes = await readAnswer(upstream, { attempt, provider: slug }, context);
  const headers = unifiedHeaders(upstream, slug, context);
  headers["content-type"] ??= "text/plain; charset=utf-8";
  context.log.responseBody = beginningOf(bytes);
  return { status: upstream.status, headers, body: new TextDecoder().decode(bytes) };
}

/** A response whose beginning is read. @throws {GatewayError} If it breaks off there. */
async function readStart(opening: Promise<OpenedResponse>, { attempt, destination }: Run): Promise<OpenedResponse> {
  try {
    return await opening;
  } catch (error) {
    throw toAttemptError(error, attempt, destination.provider.slug);
  }
}

/** Whether a response is forwarded unchanged. */
function isForwarded(upstream: Response, { media, answerBytes }: ServedOperation): boolean {
  if (!media.flows || answerBytes || !isSuccess(upstream)) return false;
  return media.isPlain || !isJsonType(typeOf(upstream));
}
