import { BoundedMap } from "../lib/bounded-map.ts";
import { isObject } from "../lib/json.ts";
import { multiplyDecimals, shiftDecimal } from "./decimals.ts";
import { findPriceTiers, type ModelPrice, type PriceTiers, type TokenKind, tokenKinds } from "./prices.ts";

/** An integration's price settings, as stored. */
export interface OwnPricing {
  /** Slug of the provider. */
  provider: string;
  /** `{multiplier: {...}}`; null without adjustments. */
  adjustments: unknown;
  /** Models with settings, by slug. */
  models: ReadonlyMap<string, { pricingConfig: unknown; baseModelSlug: string | null }>;
}

/** Finds the prices of a model; undefined when unknown. */
export type PriceList = (model: string) => PriceTiers | undefined;

/** Decimal places from US cents per token to dollars per million tokens, and from cents to dollars. */
const perToken = 4;
const perUnit = -2;

const kinds: readonly TokenKind[] = Object.values(tokenKinds);

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** A `{price}` in cents. */
function readPrice(holder: unknown, places: number): number | undefined {
  const cents = isObject(holder) ? numberOf(holder.price) : undefined;
  return cents === undefined ? undefined : shiftDecimal(cents, places);
}

function readPrices(holder: unknown): Map<string, number> {
  const all = Object.entries(isObject(holder) ? holder : {});
  return new Map(
    all.flatMap(([name, value]): [string, number][] => {
      const price = readPrice(value, perUnit);
      return price === undefined ? [] : [[name, price]];
    }),
  );
}

/** The price of an integration's model, of `pay_as_you_go` in cents; undefined where it has none. */
function readCustomPrice(slug: string, config: unknown): ModelPrice | undefined {
  const own = isObject(config) ? config.pay_as_you_go : undefined;
  if (!isObject(own)) return undefined;
  const tokens = kinds.flatMap((kind): [TokenKind, number][] => {
    const price = readPrice(own[kind], perToken);
    return price === undefined ? [] : [[kind, price]];
  });
  const images = Object.entries(isObject(own.image) ? own.image : {});
  const fixed = [...readPrices(own.fixed_cost)].filter(([name]) => name === "request" || name === "response");
  return {
    name: slug,
    tokens: new Map(tokens),
    batch: new Map(),
    units: readPrices(own.additional_units),
    images: new Map(images.map(([quality, sizes]) => [quality, readPrices(sizes)])),
    fixed: fixed.map(([, price]) => price),
  };
}

/** The kind of token whose price applies where a kind has no price. */
const standIns: ReadonlyMap<TokenKind, TokenKind> = new Map([
  ["cache_read_input_token", "request_token"],
  ["cache_write_input_token", "request_token"],
  ["request_audio_token", "request_token"],
  ["request_image_token", "request_token"],
  ["cache_read_audio_input_token", "cache_read_input_token"],
  ["response_audio_token", "response_token"],
  ["response_image_token", "response_token"],
]);

function scale<Key>(prices: ReadonlyMap<Key, number>, factorOf: (key: Key) => number): Map<Key, number> {
  return new Map(Array.from(prices, ([key, price]) => [key, multiplyDecimals(price, factorOf(key))]));
}

/** A price multiplied by the integration's factor for each kind of token, else by its `default`. */
function adjustPrice(price: ModelPrice, adjustments: unknown): ModelPrice {
  const multiplier = isObject(adjustments) ? adjustments.multiplier : undefined;
  if (!isObject(multiplier)) return price;
  const usual = numberOf(multiplier.default) ?? 1;
  const image = isObject(multiplier.image) ? (numberOf(multiplier.image.default) ?? usual) : usual;
  const ofUnits = isObject(multiplier.additional_units) ? multiplier.additional_units : {};
  const ofKind = (kind: string): number => numberOf(multiplier[kind]) ?? usual;
  // a factor on a kind without a price applies to the price that stands in
  const withStandIns = new Map(price.tokens);
  for (const [kind, other] of standIns) {
    const standIn = price.tokens.get(other);
    if (standIn === undefined || withStandIns.has(kind)) continue;
    if (numberOf(multiplier[kind]) !== undefined) withStandIns.set(kind, standIn);
  }
  return {
    name: price.name,
    tokens: scale(withStandIns, ofKind),
    batch: scale(price.batch, ofKind),
    ...(price.tiers && { tiers: new Map(Array.from(price.tiers, ([tier, prices]) => [tier, scale(prices, ofKind)])) }),
    units: scale(price.units, (name) => numberOf(ofUnits[name]) ?? usual),
    images: new Map(Array.from(price.images, ([quality, sizes]) => [quality, scale(sizes, () => image)])),
    ...(price.fixed && { fixed: price.fixed.map((one) => multiplyDecimals(one, usual)) }),
  };
}

function findCustomTiers({ provider, models, adjustments }: OwnPricing, model: string): PriceTiers | undefined {
  const { pricingConfig, baseModelSlug } = models.get(model) ?? {};
  const own = readCustomPrice(model, pricingConfig);
  const base =
    baseModelSlug === null || baseModelSlug === undefined ? undefined : findPriceTiers(provider, baseModelSlug);
  const custom: PriceTiers | undefined = own && { bounds: [], prices: [own], source: "integration" };
  const priceTiers = custom ?? findPriceTiers(provider, model) ?? base;
  return priceTiers && { ...priceTiers, prices: priceTiers.prices.map((price) => adjustPrice(price, adjustments)) };
}

/** Most models of one integration whose prices are cached. */
const maxModels = 1_000;

/**
 * The prices of an integration: the model's custom price first, else the list price of the model or its base model, and
 * the integration's factors on top. Results are cached as long as the list.
 */
export function createPriceList(pricing: OwnPricing): PriceList {
  const known = new BoundedMap<string, PriceTiers | null>(maxModels);
  return (model) => {
    const kept = known.get(model);
    if (kept !== undefined) return kept ?? undefined;
    const priceTiers = findCustomTiers(pricing, model);
    if (model.length <= 256) known.set(model, priceTiers ?? null);
    return priceTiers;
  };
}
