import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { toLoggedUsage } from "../../logs/usage.ts";
import type { PriceList } from "../../pricing/own-prices.ts";
import { findPriceTiers } from "../../pricing/prices.ts";
import { costOfUsage, hasCounts } from "../../pricing/request-cost.ts";
import { isOperation, operationFacts } from "../facts/operation-facts.ts";

/** Routes that are free at the provider: `POST /responses/input_tokens` is forwarded and is not an operation. */
export function isFreeRoute(name: string): boolean {
  return name === "countInputTokens" || (isOperation(name) && operationFacts[name].isFree);
}

/** Status of a request that became a WebSocket. */
const socketOpened = 101;

/** The parts of a request that its cost depends on. */
type RequestParts = Pick<CallerContext, "log" | "method" | "services">;

/** The cost of a response in nano-dollars, and what is known of its price. */
type ResponseCost = Pick<CallRecord, "cost" | "priceSource" | "isAnswerNeeded">;

const nothing: ResponseCost = { cost: 0, priceSource: null, isAnswerNeeded: false };
const unknown: ResponseCost = { cost: null, priceSource: null, isAnswerNeeded: true };

/**
 * What a request costs that ended with this status. The cost is null where something was counted that has no price, and
 * 0 where nothing was counted.
 */
export function costOfRequest({ log, method, services }: RequestParts, status: number): ResponseCost {
  const { providers } = services;
  const { provider, usage, prices, model, answeredModel } = log;
  const isAnswered = (status >= 200 && status <= 299) || status === socketOpened;
  // of a stream that broke off the provider may have reported nothing
  const isPaid = isAnswered || (log.isCut && usage !== null);
  // a record that is read was paid for when it was made
  const isRead = method === "GET" && !isOperation(log.operation);
  if (!isPaid || usage === null || log.isDenied || isRead || isFreeRoute(log.operation)) return nothing;
  if (provider !== null && providers.get(provider)?.isFree) return nothing;
  const found =
    provider === null
      ? undefined
      : costOfUsage({ model, answeredModel, usage }, prices ?? ((name) => findPriceTiers(provider, name)));
  if (!found) return hasCounts(usage) ? unknown : nothing;
  const { nanos, source, isOfAnswer } = found;
  return { cost: nanos, priceSource: source, isAnswerNeeded: isOfAnswer || source === "fallback" };
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
  const { cost } = costOfRequest(context, 200);
  if (cost === null) services.unpriced.note(log.provider ?? "", log.model ?? log.answeredModel);
  log.spent += cost ?? 0;
  log.spentTokens += log.usage?.total_tokens ?? 0;
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
 * @param usage The `usage` field of the line's response, in the provider's shape.
 */
export function costOfBatchLine(
  usage: unknown,
  { provider, model, answeredModel, prices }: BatchTarget,
): number | undefined {
  const counts = toLoggedUsage(usage);
  const find: PriceList = prices ?? ((name) => findPriceTiers(provider, name));
  return counts ? costOfUsage({ model, answeredModel, usage: counts, batch: true }, find)?.nanos : undefined;
}
