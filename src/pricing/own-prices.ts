import { BoundedMap } from "../lib/bounded-map.ts";
import { isObject } from "../lib/json.ts";
import { multiplyDecimals, shiftDecimal } from "./decimals.ts";
import { findLadder, type ModelPrice, type PriceLadder, type TokenKind, tokenKinds } from "./prices.ts";

/** What an integration says of prices, as it is stored. */
export interface OwnPricing {
  /** Slug of the provider. */
  provider: string;
  /** `{multiplier: {...}}`; null where there is none. */
  adjustments: unknown;
  /** Models with settings of their own, by slug. */
  models: ReadonlyMap<string, { pricingConfig: unknown; baseModelSlug: string | null }>;
}

/** Finds what a model costs; undefined when nothing is known. */
export type PriceBook = (model: string) => PriceLadder | undefined;

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
function readOwnPrice(slug: string, config: unknown): ModelPrice | undefined {
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

/** What a kind of token costs that has no price of its own. */
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

/** A price with an integration's factors on it: that of the kind, else `default`. */
function adjustPrice(price: ModelPrice, adjustments: unknown): ModelPrice {
  const multiplier = isObject(adjustments) ? adjustments.multiplier : undefined;
  if (!isObject(multiplier)) return price;
  const usual = numberOf(multiplier.default) ?? 1;
  const image = isObject(multiplier.image) ? (numberOf(multiplier.image.default) ?? usual) : usual;
  const ofUnits = isObject(multiplier.additional_units) ? multiplier.additional_units : {};
  const ofKind = (kind: string): number => numberOf(multiplier[kind]) ?? usual;
  // a factor on what has no price of its own is one on the price that stands in
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

function findOwn({ provider, models, adjustments }: OwnPricing, model: string): PriceLadder | undefined {
  const { pricingConfig, baseModelSlug } = models.get(model) ?? {};
  const own = readOwnPrice(model, pricingConfig);
  const base = baseModelSlug === null || baseModelSlug === undefined ? undefined : findLadder(provider, baseModelSlug);
  const ladder = own ? { bounds: [], prices: [own] } : (findLadder(provider, model) ?? base);
  return ladder && { ...ladder, prices: ladder.prices.map((price) => adjustPrice(price, adjustments)) };
}

/** Most models of one integration whose prices are kept. */
const maxModels = 1_000;

/**
 * The prices of an integration: its model's own before the list's, that of the model it is made of where it has none, and the
 * integration's factors on top. What was found is kept as long as the book.
 */
export function createPriceBook(pricing: OwnPricing): PriceBook {
  const known = new BoundedMap<string, PriceLadder | null>(maxModels);
  return (model) => {
    const kept = known.get(model);
    if (kept !== undefined) return kept ?? undefined;
    const ladder = findOwn(pricing, model);
    if (model.length <= 256) known.set(model, ladder ?? null);
    return ladder;
  };
}
