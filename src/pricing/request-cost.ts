import type { LoggedUsage, PriceSource } from "../schemas/logs.ts";
import { costAt } from "./cost.ts";
import type { PriceList } from "./own-prices.ts";
import type { PriceTiers } from "./prices.ts";

/** What the cost of a request is computed from. */
interface PricedRequest {
  /** The model that the provider was asked for. */
  readonly model: string | null;
  /** The model named in the response. */
  readonly answeredModel: string | null;
  readonly usage: LoggedUsage;
  /** Batch prices apply. Default: false. */
  readonly batch?: boolean;
  /** The usage is a sum over requests, whose prompts decide the price each by itself. Default: false. */
  readonly isSum?: boolean;
}

/** What a request costs. */
interface RequestCost {
  readonly nanos: number;
  readonly source: PriceSource;
  /** The price is that of the model named in the response. */
  readonly isOfAnswer: boolean;
}

const routerForm = /router/i;

/** What is counted when a router chose the model: the router is paid for each token sent. */
function withRouter(counts: LoggedUsage): LoggedUsage {
  return { ...counts, units: { ...counts.units, routing_units: counts.input_tokens } };
}

/** Whether a usage counts anything at all. */
export function hasCounts({ units, service_tier: _, image: __, ...tokens }: LoggedUsage): boolean {
  return Object.values(tokens).some((count) => count > 0) || Object.values(units ?? {}).some((count) => count > 0);
}

/**
 * What a request costs; undefined without a price of what was counted. The price is that of the requested model; if that
 * has none, as with routers and deployments, of the model that responded; if that has none either, the fallback of the
 * list.
 */
export function costOfUsage(
  { model, answeredModel, usage, batch = false, isSum = false }: PricedRequest,
  find: PriceList,
): RequestCost | undefined {
  const toCost = (counts: LoggedUsage, tiers: PriceTiers, isOfAnswer: boolean): RequestCost | undefined => {
    const nanos = costAt(counts, tiers, { batch, isSum });
    return nanos === undefined ? undefined : { nanos, source: tiers.source ?? "list", isOfAnswer };
  };
  const asked = model === null ? undefined : find(model);
  if (asked && asked.source !== "fallback") return toCost(usage, asked, false);
  const answered = answeredModel === null ? undefined : find(answeredModel);
  if (answered && answered.source !== "fallback") {
    const counts = model !== null && routerForm.test(model) ? withRouter(usage) : usage;
    return toCost(counts, answered, true);
  }
  const fallback = asked ?? answered;
  return fallback && toCost(usage, fallback, false);
}
