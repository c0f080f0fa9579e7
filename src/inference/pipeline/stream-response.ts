import type { CallerContext } from "../../context.ts";
import { UpstreamError } from "../../errors.ts";
import { BodyError, readBytes } from "../../lib/body.ts";
import type { Ending, Reply } from "../../lib/reply.ts";
import { readEvents } from "../../lib/sse.ts";
import { toLoggedUsage, withTier, withUnits } from "../../logs/usage.ts";
import type { Destination } from "../../providers/core/call.ts";
import type { InheritedSettings } from "../../routing/config.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import type { ServedOperation } from "../adapt/operation.ts";
import { noteDiscarded } from "../call/cost.ts";
import { unifiedHeaders } from "../call/provider-response.ts";
import { uncountedOf } from "../call/usage-units.ts";
import type { TargetGuard } from "../guard/target-guard.ts";
import { createOriginalStages } from "../stream/conversion-stages.ts";
import { EventRelay, type RelayOptions, type StreamEnd } from "../stream/event-relay.ts";
import { checkEvent } from "../stream/opening.ts";
import { type StreamObserver, StreamStages } from "../stream/stages.ts";
import type { StreamCache } from "../stream/stream-capture.ts";
import { createCutter } from "../stream/stream-framing.ts";

/** Largest stream that is held back for its guardrails, in bytes. */
const maxHeldBytes = 16 * 1024 * 1024;
/** The attempt and the relay have the timers; reading needs none. */
const heldBounds = {
  bytes: maxHeldBytes,
  totalMs: Number.POSITIVE_INFINITY,
  silenceMs: Number.POSITIVE_INFINITY,
};

/** A call whose response is streamed. */
interface StreamedCall {
  operation: ServedOperation;
  destination: Destination;
  attempt: Attempt;
  settings: InheritedSettings | undefined;
  guard: TargetGuard | undefined;
  strict: boolean;
  /** Remembers the stream. */
  cache: StreamCache | undefined;
}

function headersOf(upstream: Response, { destination }: StreamedCall, context: CallerContext): Record<string, string> {
  const headers = unifiedHeaders(upstream, destination.provider.slug, context);
  headers["content-type"] = "text/event-stream; charset=utf-8";
  return headers;
}

/** The stages of a stream before its guardrails; where events of a text are converted, the row has what came too. */
function createStages({ operation, cache }: StreamedCall, context: CallerContext): StreamStages {
  const parts = operation.createStages();
  const isRecorded = operation.framing === "sse" && !operation.media.isHeavy;
  return new StreamStages({
    ...parts,
    ...(isRecorded && createOriginalStages(context)),
    capture: cache?.capture(parts.convert),
  });
}

/** The client's stream from the upstream's. @throws {GatewayError} If the upstream's says nothing. */
async function openStream(
  upstream: Response,
  call: StreamedCall & { stages: StreamStages } & Pick<RelayOptions, "guardStages" | "keepAlive" | "onEnd">,
  context: CallerContext,
): Promise<ReadableStream<Uint8Array>> {
  const { attempt, operation, settings, stages, guardStages, keepAlive, onEnd } = call;
  const { framing, media } = operation;
  try {
    const relay = new EventRelay({
      upstream,
      attempt,
      stages,
      guardStages,
      context,
      keepAlive,
      onEnd,
      blocks: createCutter(framing, media.maxEventBytes),
      idleMs: settings?.streamIdleTimeoutMs ?? context.services.limits.streamIdleTimeoutMs,
    });
    return await relay.start();
  } catch (error) {
    noteUnanswered(stages.conversion, call, context);
    throw error;
  }
}

/** Token counts of a stream with what is counted besides, and its service tier. */
function countsOf(usage: LoggedUsage | null, observer: StreamObserver, operation: ServedOperation): LoggedUsage | null {
  return withTier(withUnits(usage, operation.furtherCountsOf(observer.answer)), observer.tier);
}

/** Records what a stream cost that reported counts and did not say anything. */
function noteUnanswered(observer: StreamObserver, { operation }: StreamedCall, context: CallerContext): void {
  const { log } = context;
  const usage = observer.usage;
  if (usage === undefined || log.uncounted.length > 0) return;
  log.usage = countsOf(toLoggedUsage(usage), observer, operation);
  log.charge = operation.chargeOf(usage);
  log.answeredModel = observer.model ?? null;
  noteDiscarded(context);
  Object.assign(log, { usage: null, charge: null, answeredModel: null });
}

/** Records what a stream reported, once it is over. What its provider reported a failure of is not estimated. */
function noteEnd(
  { status, sent, sentBytes }: StreamEnd,
  observer: StreamObserver,
  { operation }: StreamedCall,
  { log }: CallerContext,
): void {
  const { name, request } = operation;
  const reported = toLoggedUsage(observer.usage);
  log.parts = null;
  log.usage = countsOf(reported, observer, operation);
  log.charge = operation.chargeOf(observer.usage);
  log.answeredModel = observer.model ?? null;
  const written = { form: "events", sent, sentBytes } as const;
  const isFailed = observer.state === "failed";
  log.uncounted = isFailed ? [] : uncountedOf(name, { request, reported, written, isCut: status !== 200 });
}

/** A streamed response that is sent as it comes; its log row is written when it ends. */
export async function answerStream(upstream: Response, call: StreamedCall, context: CallerContext): Promise<Reply> {
  const { log } = context;
  const { operation, guard, strict, cache } = call;
  const stages = createStages(call, context);
  const guardStages = guard?.stages(strict);
  const headers = headersOf(upstream, call, context);
  const { promise: finished, resolve: finish } = Promise.withResolvers<Ending>();
  const onEnd = (end: StreamEnd) => {
    call.attempt.end();
    log.responseBody = operation.media.isHeavy ? null : end.sent;
    log.isCut = end.status !== 200;
    // the row shows what the client got
    if (guard?.hidesOriginals && log.phases) log.phases.original = null;
    noteEnd(end, stages.conversion, call, context);
    const status = end.status === 200 ? (guardStages?.status ?? end.status) : end.status;
    cache?.streamEnded(status);
    finish({ status, error: end.error });
  };
  const keepAlive = log.operation === "messages" ? "ping" : "comment";
  const body = await openStream(upstream, { ...call, stages, guardStages, keepAlive, onEnd }, context);
  return { status: guardStages?.status ?? upstream.status, headers, body, finished };
}

/**
 * A streamed response that is held back until its guardrails have seen all of it.
 *
 * @throws {GatewayError} If it breaks off, is too large, or a guardrail denies it.
 */
export async function answerHeld(upstream: Response, call: StreamedCall, context: CallerContext): Promise<Reply> {
  const { guard, strict, destination } = call;
  const stages = createStages(call, context);
  let ended: StreamEnd | undefined;
  const onEnd = (end: StreamEnd) => {
    ended = end;
    call.attempt.end();
    noteEnd(end, stages.conversion, call, context);
  };
  const body = await openStream(upstream, { ...call, stages, keepAlive: undefined, onEnd }, context);
  // the DOM types want bytes that are not shared between threads; these are not
  const held = new Response(body as BodyInit);
  const read = readBytes(held, heldBounds).catch((cause: unknown) => {
    if (!(cause instanceof BodyError) || cause.problem !== "too_large") throw cause;
    const provider = destination.provider.slug;
    const message = `Cannot return the response of ${provider}: it is too large to be checked by its guardrails`;
    throw new UpstreamError(502, message, { cause, provider, code: "upstream_bad_answer" });
  });
  const bytes = await read.finally(() => {
    if (ended && ended.status !== 200 && stages.conversion.state !== "failed") noteDiscarded(context);
  });
  if (ended?.error) throw ended.error;
  const text = new TextDecoder().decode(bytes);
  // the upstream reported a failure in the stream
  if (ended?.status !== 200) for (const { data } of readEvents(text)) checkEvent(data, { upstream, context });
  const headers = headersOf(upstream, call, context);
  if (guard) headers["x-gateway-stream-held"] = guard.held.join(", ");
  const reply: Reply = { status: upstream.status, headers, body: text };
  return guard ? guard.finishStream(reply, strict) : reply;
}
