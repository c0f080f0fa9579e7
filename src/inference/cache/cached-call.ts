import type { CacheEntry, CachePlace } from "../../cache/entry.ts";
import type { CallerContext } from "../../context.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { Ending, Reply } from "../../lib/reply.ts";
import { beginningOf } from "../../logs/body.ts";
import { modelsInBody } from "../../providers/core/model-names.ts";
import { costOfRequest } from "../call/cost.ts";
import { droppedHeader } from "../call/dropped-params.ts";
import { admitCached } from "../call/limits.ts";
import { routingHeaders } from "../call/provider-response.ts";
import { operationFacts } from "../facts/operation-facts.ts";
import { StreamCapture } from "../stream/stream-capture.ts";
import { isWhole } from "./complete.ts";
import { type CallOfTarget, keyPartsOf } from "./key-parts.ts";
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

/** One call of a target through the cache. */
class CachedCall {
  readonly #call: CallOfTarget;
  readonly #use: CacheUse;
  readonly #request: object;
  readonly #context: CallerContext;
  readonly #place: CachePlace;
  readonly #key: string;
  readonly #epoch: number;
  /** Remembers the response where it is streamed. */
  readonly capture = new StreamCapture();
  #body: Uint8Array<ArrayBuffer> | undefined;

  constructor(
    call: CallOfTarget,
    { use, place, key }: { use: CacheUse; place: CachePlace; key: string },
    request: object,
    context: CallerContext,
  ) {
    this.#call = call;
    this.#use = use;
    this.#place = place;
    this.#key = key;
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
      cache.remove(this.#place, this.#key);
      log.cacheStatus = "REFRESH";
      return undefined;
    }
    log.cacheStatus = this.#use.mode === "semantic" ? "SEMANTIC MISS" : "MISS";
    const entry = cache.find(this.#place, this.#key, this.#use.maxAgeMs);
    return entry && this.#answer(entry);
  }

  async #answer(entry: CacheEntry): Promise<Reply> {
    const { log, services } = this.#context;
    const { provider, managed } = this.#call.target.destination;
    log.names = () =>
      modelsInBody(managed?.model === undefined ? this.#request : { ...this.#request, model: managed.model });
    await admitCached({ provider }, this.#context);
    log.names = null;
    log.cacheStatus = "HIT";
    log.cacheHit = { cost: entry.cost, tokens: entry.tokens, ageMs: services.steadyTime() - entry.storedAt };
    log.usage = null;
    log.dropped = entry.dropped ? [...entry.dropped] : null;
    log.responseBody = operationFacts[this.#call.operation].media === "none" ? beginningOf(entry.body) : null;
    const headers = {
      ...routingHeaders(provider.slug, log),
      ...droppedHeader(log),
      "content-type": "application/json",
    };
    return { status: 200, headers, body: entry.body };
  }

  /** Notes the response of the call, before its guardrails. */
  note(reply: Reply): Reply {
    this.#body = bodyOf(reply);
    return reply;
  }

  /**
   * Stores the response of the call, unless its guardrails found something: at once, or when its stream has ended.
   *
   * @param reply The response after its guardrails.
   */
  settle(reply: Reply): Reply {
    const { log } = this.#context;
    if (log.cacheHit || reply.status !== 200) return reply;
    if (!reply.finished) {
      this.#store(this.#body ?? this.#streamed());
      return reply;
    }
    return { ...reply, finished: reply.finished.then((ending) => this.#storeAfter(ending)) };
  }

  /** The end of a stream, after which its response is stored. */
  #storeAfter(ending: Ending): Ending {
    if (ending.status !== 200) return ending;
    const store = () => this.#store(this.#streamed());
    return {
      ...ending,
      note() {
        const noted = ending.note?.();
        return noted ? noted.then(store) : store();
      },
    };
  }

  /** The response that was streamed; undefined where nothing was, or it cannot be put together. */
  #streamed(): Uint8Array<ArrayBuffer> | undefined {
    const taken = this.capture.take();
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
    const storedAt = services.steadyTime();
    const entry: CacheEntry = {
      key: this.#key,
      body,
      dropped: log.dropped,
      cost: costOfRequest(this.#context, 200).cost,
      tokens: log.usage?.total_tokens ?? 0,
      storedAt,
      expiresAt: storedAt + this.#use.maxAgeMs,
    };
    services.cache.store(this.#place, entry, this.#epoch);
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
  return new CachedCall(call, { use, place, key }, request, context);
}

/** Whether a call may use the cache: cheap, for the many that do not. */
export function asksForCache(
  { target: { settings } }: Pick<CallOfTarget, "target">,
  { header }: CallerContext,
): boolean {
  return settings.cache !== undefined || header("cache") !== null;
}
