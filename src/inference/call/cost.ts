import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import { toLoggedUsage } from "../../logs/usage.ts";
import { costAt } from "../../pricing/cost.ts";
import type { PriceBook } from "../../pricing/own-prices.ts";
import { findLadder } from "../../pricing/prices.ts";
import type { ProviderRegistry } from "../../providers/registry.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { isOperation, operationFacts } from "../facts/operation-facts.ts";

/** Whether providers charge nothing for a route: `POST /responses/input_tokens` is forwarded and no operation. */
function isFreeRoute(name: string): boolean {
  return name === "countInputTokens" || (isOperation(name) && operationFacts[name].isFree);
}

/** Status of a request that became a WebSocket. */
const socketOpened = 101;

const routerForm = /router/i;

/** What is counted of an answer whose model was chosen by a router: the router is paid for each token sent. */
function withRouter(counts: LoggedUsage): LoggedUsage {
  return { ...counts, units: { ...counts.units, routing_units: counts.input_tokens } };
}

/**
 * What a request costs that ended with this status, in nano-dollars; null where it is not known: nothing was counted, or it
 * has no price. The price is that of the model the provider was asked for; where that has none, as those of routers and
 * deployments, of the one that answered.
 */
export function costOfRequest(log: CallRecord, status: number, providers: ProviderRegistry): number | null {
  const { provider, usage, prices, model, answeredModel } = log;
  const isAnswered = (status >= 200 && status <= 299) || status === socketOpened;
  // of a stream that broke off the provider may have reported nothing
  const isPaid = isAnswered || (log.isCut && usage !== null);
  if (!isPaid || log.isDenied || isFreeRoute(log.operation)) return 0;
  if (provider !== null && providers.get(provider)?.isFree) return 0;
  if (provider === null || usage === null) return null;
  const find: PriceBook = prices ?? ((name) => findLadder(provider, name));
  const asked = model === null ? undefined : find(model);
  if (asked) return costAt(usage, asked) ?? null;
  if (answeredModel === null) return null;
  const counts = model !== null && routerForm.test(model) ? withRouter(usage) : usage;
  return costAt(counts, find(answeredModel)) ?? null;
}

/** The cost of a request with that of answers nobody got; null where one that somebody got is not known. */
export function withSpent(cost: number | null, { spent }: CallRecord): number | null {
  return cost === null ? null : cost + spent;
}

/** Notes that the answer at hand is thrown away: its provider is paid all the same. */
export function noteSpent({ log, services }: Pick<CallerContext, "log" | "services">): void {
  log.spent += costOfRequest(log, 200, services.providers) ?? 0;
}

/**
 * What a line of a provider's own batch costs, in nano-dollars, at the price of batches; undefined where it is not known.
 *
 * @param usage The `usage` member of the line's answer, in whichever shape the provider has.
 * @param target Where the batch ran; `prices` of the integration where it belongs to one, by default the list's.
 */
export function costOfBatchLine(
  usage: unknown,
  { provider, model, prices }: { provider: string; model: string; prices?: PriceBook | undefined },
): number | undefined {
  const counts = toLoggedUsage(usage);
  const ladder = prices ? prices(model) : findLadder(provider, model);
  return counts ? costAt(counts, ladder, { batch: true }) : undefined;
}
