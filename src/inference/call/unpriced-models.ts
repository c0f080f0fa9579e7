import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { unpricedModelsOf } from "../../control/settings.ts";
import type { OrganisationRow } from "../../db/tables/tenants.ts";
import { BudgetError } from "../../errors.ts";
import { toFallbackTiers, withFallback } from "../../pricing/fallback-price.ts";
import type { PriceList } from "../../pricing/own-prices.ts";
import { findPriceTiers, type PriceTiers } from "../../pricing/prices.ts";
import type { ProviderCall } from "../../providers/core/call.ts";
import { splitPath } from "../../providers/core/model-names.ts";
import { isOperation } from "../facts/operation-facts.ts";
import { requestTypeOf } from "../facts/request-types.ts";
import type { ApplicableLimits } from "./applicable-limits.ts";
import { isFreeRoute } from "./cost.ts";

/** What an organisation does with models that have no price. */
interface UnpricedRule {
  readonly blocks: boolean;
  /** The price of such models; undefined where they have none. */
  readonly fallback: PriceTiers | undefined;
  /** Price lists with the fallback, by the list without it; each is its own list with the fallback. */
  readonly lists: WeakMap<PriceList, PriceList>;
  /** The same for the price list of each provider. */
  readonly ofProviders: Map<string, PriceList>;
}

/** Rules of organisations, as long as their rows are in memory. */
const rules = new WeakMap<OrganisationRow, UnpricedRule>();

function ruleOf(organisation: OrganisationRow): UnpricedRule {
  const known = rules.get(organisation);
  if (known) return known;
  const { mode, fallbackPrice } = unpricedModelsOf(organisation);
  const fallback = mode === "fallback" && fallbackPrice ? toFallbackTiers(fallbackPrice) : undefined;
  const rule = { blocks: mode === "block", fallback, lists: new WeakMap(), ofProviders: new Map() };
  rules.set(organisation, rule);
  return rule;
}

/** Whether the organisation of a workspace refuses models without a price. */
export function blocksUnpriced({ organisation }: WorkspaceView): boolean {
  return ruleOf(organisation).blocks;
}

/** The price list of a call, with the fallback for models without a price. */
function listWithFallback({ fallback, lists, ofProviders }: UnpricedRule, provider: string, prices: PriceList | null) {
  if (!fallback) return prices;
  const known = prices ? lists.get(prices) : ofProviders.get(provider);
  if (known) return known;
  const list = withFallback(prices ?? ((model) => findPriceTiers(provider, model)), fallback);
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
 * Applies the rule of the caller's organisation for models without a price, and notes the limits on money that the call
 * counts in.
 *
 * @throws {BudgetError} 412 `unpriced_model`, if the organisation refuses the model.
 */
export function preparePrices(
  call: PricedCall,
  { view, limits }: { view: WorkspaceView | undefined; limits: Pick<ApplicableLimits, "money"> },
  context: CallerContext,
): void {
  const { log } = context;
  if (view) {
    const rule = ruleOf(view.organisation);
    if (rule.blocks) requirePrice(call, context);
    log.prices = listWithFallback(rule, log.provider ?? call.provider.slug, log.prices);
  }
  log.moneyLimits = limits.money;
}
