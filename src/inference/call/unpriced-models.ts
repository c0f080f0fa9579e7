import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { BudgetError } from "../../errors.ts";
import { toFallbackTiers, withFallback } from "../../pricing/fallback-price.ts";
import type { PriceList } from "../../pricing/own-prices.ts";
import { findPriceTiers, type PriceTiers } from "../../pricing/prices.ts";
import type { ProviderCall } from "../../providers/core/call.ts";
import { splitPath } from "../../providers/core/model-names.ts";
import { isOperation } from "../facts/operation-facts.ts";
import { requestTypeOf } from "../facts/request-types.ts";
import { isFreeRoute } from "./cost.ts";

/** Price lists with the fallback of an organisation. */
interface FallbackLists {
  readonly tiers: PriceTiers;
  /** By the list without it; each is its own list with the fallback. */
  readonly lists: WeakMap<PriceList, PriceList>;
  /** The same for the price list of each provider. */
  readonly ofProviders: Map<string, PriceList>;
}

/** By the setting of the organisation, as long as that is in memory. */
const fallbacks = new WeakMap<WorkspaceView["unpricedModels"], FallbackLists>();

function fallbackOf(unpriced: WorkspaceView["unpricedModels"]): FallbackLists | undefined {
  if (unpriced.mode !== "fallback" || !unpriced.fallbackPrice) return undefined;
  const known = fallbacks.get(unpriced);
  if (known) return known;
  const made = { tiers: toFallbackTiers(unpriced.fallbackPrice), lists: new WeakMap(), ofProviders: new Map() };
  fallbacks.set(unpriced, made);
  return made;
}

/** Whether the organisation of a workspace refuses models without a price. */
export function blocksUnpriced({ unpricedModels }: WorkspaceView): boolean {
  return unpricedModels.mode === "block";
}

/** The price list of a call, with the fallback for models without a price. */
function withFallbackList({ tiers, lists, ofProviders }: FallbackLists, provider: string, prices: PriceList | null) {
  const known = prices ? lists.get(prices) : ofProviders.get(provider);
  if (known) return known;
  const list = withFallback(prices ?? ((model) => findPriceTiers(provider, model)), tiers);
  if (prices) lists.set(prices, list);
  else ofProviders.set(provider, list);
  lists.set(list, list);
  return list;
}

/** The parts of a call that its price and its limits depend on. */
export type PricedCall = Pick<ProviderCall, "provider" | "path"> & { readonly body?: ProviderCall["body"] | undefined };

/** Models that a call names. A forwarded request may name one in its path. */
function modelsOf({ provider, path }: PricedCall, { model, operation }: CallRecord): string[] {
  const { segments = [] } = isOperation(operation) ? {} : splitPath(path);
  const inPath = segments.length === 0 ? undefined : provider.models.inPath(`/${segments.join("/")}`);
  return [model, inPath].filter((name) => name != null);
}

/** Whether a call uses no model: it lists models, uploads a file, or reads, removes or cancels a record. */
function usesNoModel({ body }: PricedCall, { method, log: { model, operation } }: CallerContext): boolean {
  if (isOperation(operation)) return operation === "models";
  if (method === "GET" || method === "DELETE" || requestTypeOf(operation) === "uploadFile") return true;
  return body === undefined && model === null;
}

/** @throws {BudgetError} 412 */
function refuseUnpriced(what: string): never {
  throw new BudgetError(`Cannot make this call: the organisation allows only models with a price, and ${what}`, {
    code: "unpriced_model",
    param: "model",
  });
}

/** @throws {BudgetError} 412: a model of the call has no price, or it cannot be determined. */
function requirePrice(call: PricedCall, context: CallerContext): void {
  const { log, services } = context;
  const provider = log.provider ?? call.provider.slug;
  const isFree = services.providers.get(provider)?.isFree || isFreeRoute(log.operation);
  if (isFree || usesNoModel(call, context)) return;
  const models = modelsOf(call, log);
  if (models.length === 0) refuseUnpriced("the request names none that can be read");
  const unpriced = models.find((model) => !(log.prices ? log.prices(model) : findPriceTiers(provider, model)));
  if (unpriced !== undefined) refuseUnpriced(`${unpriced} of ${provider} has none`);
}

/**
 * Applies the rule of the caller's organisation for models without a price.
 *
 * @throws {BudgetError} 412 `unpriced_model`, if the organisation refuses the model.
 */
export function applyUnpricedRule(call: PricedCall, { unpricedModels }: WorkspaceView, context: CallerContext): void {
  const { log } = context;
  if (unpricedModels.mode === "block") requirePrice(call, context);
  const fallback = fallbackOf(unpricedModels);
  if (fallback) log.prices = withFallbackList(fallback, log.provider ?? call.provider.slug, log.prices);
}
