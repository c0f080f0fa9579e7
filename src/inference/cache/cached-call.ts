import type { CacheEntry, CachePlace } from "../../cache/entry.ts";
import type { Landing } from "../../cache/flights.ts";
import type { CallerContext } from "../../context.ts";
import { UpstreamError } from "../../errors.ts";
import { isObject, objectsIn, parseJson } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import { beginningOf } from "../../logs/body.ts";
import { beforeAbort } from "../../providers/core/call.ts";
import { modelsInBody } from "../../providers/core/model-names.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { Attempt } from "../../upstream/attempt.ts";
import { timesOf, toAttemptError } from "../call/attempt.ts";
import { costOfRequest } from "../call/cost.ts";
import { admitCached } from "../call/limits.ts";
import { droppedHeader, routingHeaders } from "../call/provider-response.ts";
import { operationFacts } from "../facts/operation-facts.ts";
import type { StreamObserver } from "../stream/stages.ts";
import { type StreamCache, StreamCapture } from "../stream/stream-capture.ts";
import { type CallOfTarget, keyPartsOf } from "./key-parts.ts";
import { openSemanticSearch, type SemanticSearch } from "./semantic-search.ts";
import { type CacheUse, readCacheUse } from "./use.ts";
import { toWholeResponse } from "./whole-response.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The whole body of a successful response in JSON; undefined for any other. */
function bodyOf({ status, headers, body }: Reply): Uint8Array<ArrayBuffer> | undefined {
  if (status !== 200 || headers["content-type"] !== "application/json") return undefined;
  if (typeof body === "string") return encoder.encode(body);
  // nothing that comes from a provider shares its memory with other threads
  return body instanceof Uint8Array ? (body as Uint8Array<ArrayBuffer>) : undefined;
}

type Answer = Readonly<Record<string, unknown>>;

/** Reasons for which a model stopped that make a response one refusal: it may be another one next time. */
const refusals: ReadonlySet<unknown> = new Set(
  "content_filter refusal error SAFETY RECITATION BLOCKLIST PROHIBITED_CONTENT SPII OTHER".split(" "),
);

/** Whether a response is complete, and no refusal of its provider: others are not stored. */
function isWhole(operation: OperationName, answer: Answer): boolean {
  if (answer.error !== undefined && answer.error !== null) return false;
  switch (operation) {
    case "chat":
    case "complete": {
      const choices = objectsIn(answer.choices);
      return choices.length > 0 && choices.every(({ finish_reason: reason }) => !refusals.has(reason));
    }
    case "messages":
      return !refusals.has(answer.stop_reason);
    case "responses":
      return answer.status === "completed";
    case "generateContent": {
      const candidates = objectsIn(answer.candidates);
      return candidates.length > 0 && candidates.every(({ finishReason }) => !refusals.has(finishReason));
    }
    default:
      return true;
  }
}

/** How and where a call uses the cache. */
interface CacheParts {
  readonly use: CacheUse;
  readonly place: CachePlace;
  readonly key: string;
  /** Absent for simple caches, and for requests that are no question. */
  readonly search: SemanticSearch | undefined;
}

/** One call of a target through the cache. */
class CachedCall implements StreamCache {
  readonly #call: CallOfTarget;
  readonly #use: CacheUse;
  readonly #request: object;
  readonly #context: CallerContext;
  readonly #place: CachePlace;
  readonly #key: string;
  readonly #search: SemanticSearch | undefined;
  readonly #epoch: number;
  /** Remembers the response where it is streamed. */
  #capture: StreamCapture | undefined;
  #body: Uint8Array<ArrayBuffer> | undefined;
  /** Ends the wait of identical calls; absent where none may wait. */
  #land: ((landing: Landing) => void) | undefined;
  /** The response is still being sent. */
  #isOpen = false;

  constructor(call: CallOfTarget, { use, place, key, search }: CacheParts, request: object, context: CallerContext) {
    this.#call = call;
    this.#use = use;
    this.#place = place;
    this.#key = key;
    this.#search = search;
    this.#request = request;
    this.#context = context;
    this.#epoch = context.services.cache.epoch;
  }

  /**
   * The stored response, before its guardrails; undefined if nothing is stored.
   *
   * @throws {GatewayError} If a limit on requests has no room.
   */
  async find(): Promise<Reply | undefined> {
    const { log, services } = this.#context;
    const { cache } = services;
    if (this.#use.isRefresh) {
      log.cacheStatus = "REFRESH";
      cache.remove(this.#place, this.#key);
      await this.#search?.remove(this.#key);
      // for the response that comes
      await this.#search?.prepare();
      return undefined;
    }
    log.cacheStatus = this.#search ? "SEMANTIC MISS" : "MISS";
    const joined = this.#use.join ? await this.#join() : undefined;
    if (joined) return this.#answer(joined);
    const entry = await cache.find(this.#place, this.#key, this.#use.maxAgeMs);
    if (!entry) return this.#findSimilar();
    this.#end({ entry });
    return this.#answer(entry);
  }

  /** The response to a similar question, which becomes one to this question too. */
  async #findSimilar(): Promise<Reply | undefined> {
    if (!this.#search || !(await this.#search.prepare())) return undefined;
    const found = await this.#search.find(this.#use.maxAgeMs);
    if (!found) return undefined;
    const entry = { ...found, key: this.#key };
    this.#context.services.cache.store(this.#place, entry, this.#epoch);
    this.#end({ entry });
    return this.#answer(entry, "SEMANTIC HIT");
  }

  /** The response of an identical call that is running; undefined where this one is the first, which is noted. */
  async #join(): Promise<CacheEntry | undefined> {
    const { cache } = this.#context.services;
    for (;;) {
      const entry = cache.findInMemory(this.#key, this.#use.maxAgeMs);
      if (entry) return entry;
      const running = cache.flights.find(this.#key);
      if (!running) break;
      const landing = await this.#inTime(running);
      if (landing === "again") continue;
      if ("error" in landing) throw landing.error;
      return landing.entry;
    }
    // nothing was awaited since it was looked for
    this.#land = cache.flights.start(this.#key);
    return undefined;
  }

  /** @throws {GatewayError} 408 or 499 where the other call takes too long, or the caller leaves. */
  async #inTime(running: Promise<Landing>): Promise<Landing> {
    const { target } = this.#call;
    const { request, services } = this.#context;
    const { timeoutMs, wholeMs = timeoutMs } = timesOf(target, this.#context);
    const attempt = new Attempt(request, { timeoutMs: Math.min(timeoutMs, wholeMs) }, services);
    try {
      return await beforeAbort(running, attempt.signal);
    } catch (error) {
      throw toAttemptError(error, attempt, target.destination.provider.slug);
    } finally {
      attempt.release();
    }
  }

  /** Makes the call, and hands its response to those who wait for it. */
  async lead(make: (shared: { cache: StreamCache; isShared: boolean }) => Promise<Reply>): Promise<Reply> {
    try {
      const reply = await make({ cache: this, isShared: this.#land !== undefined });
      this.#body = bodyOf(reply);
      return reply;
    } catch (error) {
      this.#end(error instanceof UpstreamError ? { error } : "again");
      throw error;
    }
  }

  #end(landing: Landing): void {
    this.#land?.(landing);
    this.#land = undefined;
  }

  async #answer(entry: CacheEntry, status: "HIT" | "SEMANTIC HIT" = "HIT"): Promise<Reply> {
    const { log, services } = this.#context;
    const { provider, managed } = this.#call.target.destination;
    const listModels = () =>
      modelsInBody(managed?.model === undefined ? this.#request : { ...this.#request, model: managed.model });
    await admitCached({ provider, listModels }, this.#context);
    log.cacheStatus = status;
    log.cacheHit = { cost: entry.cost, tokens: entry.tokens, ageMs: services.steadyTime() - entry.storedAt };
    log.usage = null;
    log.charge = null;
    log.dropped = entry.dropped ? [...entry.dropped] : null;
    log.responseBody = operationFacts[this.#call.operation].media === "none" ? beginningOf(entry.body) : null;
    const headers = {
      ...routingHeaders(provider.slug, log),
      ...droppedHeader(log),
      "content-type": "application/json",
    };
    return { status: 200, headers, body: entry.body };
  }

  /**
   * Stores the response of the call, unless its guardrails found something: at once, or when its stream has ended.
   *
   * @param reply The response after its guardrails.
   */
  settle(reply: Reply): Reply {
    const { log } = this.#context;
    if (log.cacheHit) return reply;
    if (!reply.finished) {
      const body = this.#body ?? this.#streamed();
      if (reply.status === 200) this.#store(body);
      if (body) this.#end({ entry: this.#toEntry(body) });
      return reply;
    }
    this.#isOpen = true;
    return reply;
  }

  /** Ends the wait of identical calls, unless the response is still being sent. Their guardrails judge it again. */
  release(): void {
    if (!this.#isOpen) this.#end(this.#body ? { entry: this.#toEntry(this.#body) } : "again");
  }

  capture(conversion: StreamObserver): StreamCapture {
    this.#capture = new StreamCapture(conversion);
    return this.#capture;
  }

  /** Stores the response of a stream that has ended. */
  streamEnded(status: number): void {
    const body = status === 200 ? this.#streamed() : undefined;
    this.#store(body);
    this.#end(body ? { entry: this.#toEntry(body) } : "again");
  }

  /** The response that was streamed; undefined where nothing was, or it cannot be put together. */
  #streamed(): Uint8Array<ArrayBuffer> | undefined {
    const taken = this.#capture?.take();
    const whole = taken && toWholeResponse(this.#call.operation, taken.text, taken.usage);
    return whole === undefined ? undefined : encoder.encode(whole);
  }

  #store(body: Uint8Array<ArrayBuffer> | undefined): void {
    if (body === undefined) return;
    const { log, services } = this.#context;
    const { hooks } = log;
    if (hooks && [...hooks.before, ...hooks.after].some(({ verdict }) => !verdict)) return;
    const answer = parseJson(decoder.decode(body));
    if (!isObject(answer) || !isWhole(this.#call.operation, answer)) return;
    const entry = this.#toEntry(body);
    services.cache.store(this.#place, entry, this.#epoch);
    this.#search?.add(entry);
  }

  #toEntry(body: Uint8Array<ArrayBuffer>): CacheEntry {
    const { log, services } = this.#context;
    const storedAt = services.steadyTime();
    return {
      key: this.#key,
      body,
      dropped: log.dropped,
      cost: costOfRequest(this.#context, 200).cost,
      tokens: log.usage?.total_tokens ?? 0,
      storedAt,
      expiresAt: storedAt + this.#use.maxAgeMs,
    };
  }
}

/**
 * The call of a target through the cache; undefined where nothing asks for one, or it cannot be used.
 *
 * @param request The request as it is called.
 */
export async function openCachedCall(
  call: CallOfTarget,
  request: object,
  context: CallerContext,
): Promise<CachedCall | undefined> {
  const { log, services } = context;
  const { operation, view, target } = call;
  const use = readCacheUse({ operation, settings: target.settings, view }, request, context);
  if (!use) return undefined;
  log.cacheHit = null;
  const refuse = (problem: string): undefined => {
    log.cacheStatus = "DISABLED";
    log.cacheProblem = problem;
  };
  if ("problem" in use) return refuse(use.problem);
  const { organisationId, id: workspaceId } = view.workspace;
  const tenant = { organisationId, workspaceId };
  const { namespace } = use;
  const key = await services.cache.keyOf(tenant, keyPartsOf(call, request, { namespace, context }));
  if (key === undefined) return refuse("the request is too long");
  const place = { ...tenant, namespace: namespace === null ? "" : await services.cache.namespaceOf(tenant, namespace) };
  const isSemantic = use.mode === "semantic";
  const search = isSemantic ? await openSemanticSearch(call, request, { place, namespace, context }) : undefined;
  if (typeof search === "string") return refuse(search);
  return new CachedCall(call, { use, place, key, search }, request, context);
}
