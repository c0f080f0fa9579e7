import type { CallRecord, UncountedCall } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { addUsage, noTokens } from "../../logs/usage.ts";
import type { PriceList } from "../../pricing/own-prices.ts";
import { findPriceTiers } from "../../pricing/prices.ts";
import { costOfUsage, hasCounts } from "../../pricing/request-cost.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { isBilledUnseen } from "../facts/billed-routes.ts";
import { isOperation, operationFacts } from "../facts/operation-facts.ts";
import { countsOfBody } from "./usage-units.ts";

/** Routes that are free at the provider: `POST /responses/input_tokens` is forwarded and is not an operation. */
export function isFreeRoute(name: string): boolean {
  return name === "countInputTokens" || (isOperation(name) && operationFacts[name].isFree);
}

/** Status of a request that became a WebSocket. */
const socketOpened = 101;

/** The parts of a request that its cost depends on. */
type RequestParts = Pick<CallerContext, "leadsTo" | "log" | "method" | "services">;

/** The cost of a response in nano-dollars, and what is known of its price. */
type ResponseCost = Pick<CallRecord, "cost" | "priceSource" | "isAnswerNeeded">;

const nothing: ResponseCost = { cost: 0, priceSource: null, isAnswerNeeded: false };
const unknown: ResponseCost = { cost: null, priceSource: null, isAnswerNeeded: true };

/** The cost of what was counted; undefined without a price. */
function priceCounts(log: CallRecord, usage: LoggedUsage, find: PriceList): ResponseCost | undefined {
  const { model, answeredModel, parts } = log;
  const whole = costOfUsage({ model, answeredModel, usage }, find);
  if (!whole) return undefined;
  const { nanos, source, isOfAnswer } = whole;
  const costOf = (part: LoggedUsage) => costOfUsage({ model, answeredModel, usage: part }, find)?.nanos ?? 0;
  const cost = parts ? parts.reduce((sum, part) => sum + costOf(part), 0) : nanos;
  // the cost of the sum would be another one, so the row cannot be priced again
  return { cost, priceSource: cost === nanos ? source : null, isAnswerNeeded: isOfAnswer || source === "fallback" };
}

/**
 * Whether a reported cost counts. Who names the host may make it report any: it can raise the cost of what was counted, and
 * not lower it.
 */
function isBelievable(charge: number, priced: ResponseCost | undefined, { isAtCustomHost }: CallRecord): boolean {
  return !isAtCustomHost || charge > (priced?.cost ?? 0);
}

/**
 * What a request costs that ended with this status. The cost is null where something was counted that has no price, or
 * where its provider charges for it and nothing was counted. It is 0 where nothing was used. What the provider reported as
 * the cost comes before listed prices, and behind a price that the integration states itself.
 */
export function costOfRequest({ log, method, services, leadsTo }: RequestParts, status: number): ResponseCost {
  const { providers } = services;
  const { provider, prices } = log;
  // a response that reported no counts can cost a fixed amount
  const usage = log.usage ?? noTokens;
  const isAnswered = (status >= 200 && status <= 299) || status === socketOpened;
  // of a stream that broke off the provider may have reported nothing
  const isPaid = isAnswered || (log.isCut && log.usage !== null);
  // a record that is read was paid for when it was made
  const isRead = method === "GET" && !isOperation(log.operation);
  if (!isPaid || log.cacheHit || log.isDenied || isRead || isFreeRoute(log.operation)) return nothing;
  if (provider !== null && providers.get(provider)?.isFree) return nothing;
  if (log.hasUnseenUse && log.usage === null) return unknown;
  const find: PriceList | undefined =
    provider === null ? undefined : (prices ?? ((name) => findPriceTiers(provider, name)));
  const priced = find && priceCounts(log, usage, find);
  const isOwn = priced?.priceSource === "integration";
  if (log.charge !== null && !isOwn && isBelievable(log.charge, priced, log)) {
    return { cost: log.charge, priceSource: "provider", isAnswerNeeded: false };
  }
  if (priced) return priced;
  const isCharged = provider !== null && isBilledUnseen({ method, operation: log.operation, leadsTo });
  const isUnseen = isCharged && log.usage === null;
  return hasCounts(usage) || isUnseen ? unknown : nothing;
}

/** Counts of a prompt that no cache holds. */
function withoutCache({ units, ...usage }: LoggedUsage): LoggedUsage {
  const { cache_write_1h: _, cached_audio_tokens: _audio, ...others } = units ?? {};
  return { ...usage, cached_tokens: 0, cache_write_tokens: 0, units: others };
}

/**
 * Nano-dollars that a provider's prompt cache saved of a request, by the prices of its model: what its prompt would cost
 * without the cache, less what it costs. Below zero where more was written than read. Undefined where no cache was used, or
 * nothing was paid.
 */
export function savedByPromptCache({ log }: Pick<RequestParts, "log">): number | undefined {
  const { usage, cost, provider, prices, model, answeredModel } = log;
  if (!usage || (usage.cached_tokens === 0 && usage.cache_write_tokens === 0)) return undefined;
  if (!cost || provider === null) return undefined;
  const find: PriceList = prices ?? ((name) => findPriceTiers(provider, name));
  const priceOf = (counts: LoggedUsage) => costOfUsage({ model, answeredModel, usage: counts }, find)?.nanos ?? 0;
  return (log.parts ?? [usage]).reduce((sum, part) => sum + priceOf(withoutCache(part)) - priceOf(part), 0);
}

/**
 * Nano-dollars that the largest target of a choice by what is in the request would have cost more, for the same tokens.
 * Undefined where there was no such choice, nothing was paid, or its price is not known.
 */
export function savedByAuto({ log }: Pick<RequestParts, "log">): number | undefined {
  const { auto, usage, cost, parts, spent } = log;
  if (!auto || !usage || !cost) return undefined;
  const { provider, model, prices } = auto.largest;
  const find: PriceList = prices ?? ((name) => findPriceTiers(provider, name));
  const costs = (parts ?? [usage]).map((part) => costOfUsage({ model, answeredModel: null, usage: part }, find)?.nanos);
  if (costs.includes(undefined)) return undefined;
  return costs.reduce<number>((sum, one) => sum + (one ?? 0), 0) - (cost - spent);
}

/** Records the cost of a request that ended with this status, including responses that were discarded. */
export function noteCost(context: RequestParts, status: number): void {
  const { log, services } = context;
  const { cost, priceSource, isAnswerNeeded } = costOfRequest(context, status);
  log.cost = cost === null ? null : cost + log.spent;
  log.priceSource = priceSource;
  log.isAnswerNeeded = isAnswerNeeded;
  if (cost === null) services.unpriced.note(log.provider ?? "", log.model ?? log.answeredModel);
}

/** Records that the current response is discarded: its provider charges for it all the same. */
export function noteDiscarded(context: RequestParts): void {
  const { log, services } = context;
  if (log.uncounted.length > 0) {
    // its tokens are estimated when the request ends
    log.uncountedDiscards = [...log.uncountedDiscards, { ...log }];
    log.uncounted = [];
    log.isCut = false;
    return;
  }
  const { cost } = costOfRequest(context, 200);
  if (cost === null) services.unpriced.note(log.provider ?? "", log.model ?? log.answeredModel);
  log.spent += cost ?? 0;
  log.spentTokens += log.usage?.total_tokens ?? 0;
  log.isCut = false;
}

/** Records the counts of the calls that make up a response, and the calls whose tokens are not all known. */
export function noteParts(
  { log }: Pick<RequestParts, "log">,
  usages: readonly (LoggedUsage | null)[],
  uncounted: readonly UncountedCall[] = [],
): void {
  const parts = usages.filter((usage) => usage !== null);
  log.usage = parts.reduce<LoggedUsage | null>(addUsage, null);
  log.charge = null;
  log.parts = parts.length > 1 ? parts : null;
  log.uncounted = uncounted;
}

/** Records that calls whose responses were to be one are discarded, because another of them failed. */
export function discardParts(
  context: RequestParts,
  usages: readonly (LoggedUsage | null)[],
  uncounted: readonly UncountedCall[] = [],
): void {
  if (usages.length === 0) return;
  noteParts(context, usages, uncounted);
  noteDiscarded(context);
}

/** Where a batch ran. */
interface BatchTarget {
  provider: string;
  /** The requested model. */
  model: string | null;
  /** The model named in the line's response. */
  answeredModel: string | null;
  /** Of the integration; by default the price list's. */
  prices?: PriceList | undefined;
}

/**
 * Nano-dollars of a line of a provider's own batch, at the batch price; undefined where unknown.
 *
 * @param body The line's response, in the provider's shape.
 */
export function costOfBatchLine(
  body: object,
  { provider, model, answeredModel, prices }: BatchTarget,
): number | undefined {
  const counts = countsOfBody(body);
  const find: PriceList = prices ?? ((name) => findPriceTiers(provider, name));
  return counts ? costOfUsage({ model, answeredModel, usage: counts, batch: true }, find)?.nanos : undefined;
}
