import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { toLoggedUsage } from "../../logs/usage.ts";
import { costAt } from "../../pricing/cost.ts";
import type { PriceList } from "../../pricing/own-prices.ts";
import { findPriceTiers } from "../../pricing/prices.ts";
import type { ProviderRegistry } from "../../providers/registry.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { isOperation, operationFacts } from "../facts/operation-facts.ts";

/** Routes that are free at the provider: `POST /responses/input_tokens` is forwarded and is not an operation. */
function isFreeRoute(name: string): boolean {
  return name === "countInputTokens" || (isOperation(name) && operationFacts[name].isFree);
}

/** Status of a request that became a WebSocket. */
const socketOpened = 101;

const routerForm = /router/i;

/** What is counted when a router chose the model: the router is paid for each token sent. */
function withRouter(counts: LoggedUsage): LoggedUsage {
  return { ...counts, units: { ...counts.units, routing_units: counts.input_tokens } };
}

/**
 * Nano-dollars of a request that ended with this status; null where unknown, because nothing was counted or there is no
 * price. The price is that of the requested model; if that has none, as with routers and deployments, of the model that
 * responded.
 */
export function costOfRequest(log: CallRecord, status: number, providers: ProviderRegistry): number | null {
  const { provider, usage, prices, model, answeredModel } = log;
  const isAnswered = (status >= 200 && status <= 299) || status === socketOpened;
  // of a stream that broke off the provider may have reported nothing
  const isPaid = isAnswered || (log.isCut && usage !== null);
  if (!isPaid || log.isDenied || isFreeRoute(log.operation)) return 0;
  if (provider !== null && providers.get(provider)?.isFree) return 0;
  if (provider === null || usage === null) return null;
  const find: PriceList = prices ?? ((name) => findPriceTiers(provider, name));
  const asked = model === null ? undefined : find(model);
  if (asked) return costAt(usage, asked) ?? null;
  if (answeredModel === null) return null;
  const counts = model !== null && routerForm.test(model) ? withRouter(usage) : usage;
  return costAt(counts, find(answeredModel)) ?? null;
}

/**
 * The cost of a request, including responses that were discarded; null where the cost of the delivered one is unknown.
 */
export function withDiscarded(cost: number | null, { spent }: CallRecord): number | null {
  return cost === null ? null : cost + spent;
}

/** Records that the current response is discarded: its provider charges for it all the same. */
export function noteDiscarded({ log, services }: Pick<CallerContext, "log" | "services">): void {
  log.spent += costOfRequest(log, 200, services.providers) ?? 0;
  log.spentTokens += log.usage?.total_tokens ?? 0;
}

/**
 * Nano-dollars of a line of a provider's own batch, at the batch price; undefined where unknown.
 *
 * @param usage The `usage` field of the line's response, in the provider's shape.
 * @param target Where the batch ran; `prices` of its integration, by default the price list's.
 */
export function costOfBatchLine(
  usage: unknown,
  { provider, model, prices }: { provider: string; model: string; prices?: PriceList | undefined },
): number | undefined {
  const counts = toLoggedUsage(usage);
  const priceTiers = prices ? prices(model) : findPriceTiers(provider, model);
  return counts ? costAt(counts, priceTiers, { batch: true }) : undefined;
}
