import { BoundedMap } from "../lib/bounded-map.ts";
import list from "./price-list.json" with { type: "json" };

/** Kinds of priced tokens, and their names on the wire. */
export const tokenKinds = {
  in: "request_token",
  out: "response_token",
  read: "cache_read_input_token",
  write: "cache_write_input_token",
  "audio-in": "request_audio_token",
  "audio-out": "response_audio_token",
  "audio-read": "cache_read_audio_input_token",
  "image-in": "request_image_token",
  "image-out": "response_image_token",
} as const;

/** Wire name of a kind of token. */
export type TokenKind = (typeof tokenKinds)[keyof typeof tokenKinds];

/** Prices of a model. */
export interface ModelPrice {
  /** Name of the list's entry: the model's, with a prompt length where the price depends on it. */
  name: string;
  /** US dollars per million tokens. */
  tokens: ReadonlyMap<TokenKind, number>;
  /** US dollars per million tokens in batches; absent kinds have no separate batch price. */
  batch: ReadonlyMap<TokenKind, number>;
  /** US dollars per million tokens by service tier and kind; a kind that is missing costs what it costs otherwise. */
  tiers?: ReadonlyMap<string, ReadonlyMap<TokenKind, number>>;
  /** US dollars per unit. */
  units: ReadonlyMap<string, number>;
  /** US dollars per image, by quality and then by size. */
  images: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** US dollars per call, in addition to what is counted; all of them apply. */
  fixed?: readonly number[];
}

/** Prices of a model by prompt length. */
export interface PriceTiers {
  /** Prompt lengths in tokens, ascending: a prompt has the price of the first bound that is not below its length. */
  bounds: readonly number[];
  /** One more than there are bounds; the last is for longer prompts. */
  prices: readonly ModelPrice[];
  /** Absent: the price list, perhaps with factors of an integration. */
  source?: "integration" | "fallback";
}

/** Prices by kind of token, as the list writes them. */
type ListedTokens = { readonly [kind in keyof typeof tokenKinds]?: number };

/** Service tiers that the list has prices of. */
const serviceTiers = ["flex", "priority"] as const;

/** An entry of the list; `price-list.schema.json` describes it. */
interface ListedModel extends ListedTokens {
  readonly batch?: ListedTokens;
  readonly flex?: ListedTokens;
  readonly priority?: ListedTokens;
  readonly units?: Readonly<Record<string, number>>;
  readonly images?: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** A provider of the list. */
interface ListedProvider {
  readonly prefix?: string;
  readonly models: Readonly<Record<string, ListedModel>>;
}

/** Prices of one provider. */
interface ProviderPrices {
  readonly models: ReadonlyMap<string, ListedModel>;
  /** Prompt length bounds, in tokens and ascending, of models whose price depends on them. */
  readonly tiers: ReadonlyMap<string, readonly number[]>;
  /** What names of models may begin with that the list leaves out. */
  readonly prefix: RegExp | undefined;
}

const tierForm = /^(.+)-lte-(\d+)k$/;
const tierEnd = /-(?:lte|gt)-\d+k$/;

function readProvider({ prefix, models }: ListedProvider): ProviderPrices {
  const tiers = new Map<string, number[]>();
  for (const name of Object.keys(models)) {
    const [, model, thousands] = tierForm.exec(name) ?? [];
    if (model === undefined) continue;
    tiers.set(
      model,
      [...(tiers.get(model) ?? []), Number(thousands)].sort((a, b) => a - b),
    );
  }
  return {
    models: new Map(Object.entries(models)),
    tiers,
    prefix: prefix === undefined ? undefined : new RegExp(prefix),
  };
}

let loaded: ReadonlyMap<string, ProviderPrices> | undefined;

/** The list, read on first use. */
function prices(): ReadonlyMap<string, ProviderPrices> {
  loaded ??= new Map(
    Object.entries<ListedProvider>(list.providers).map(([slug, provider]) => [slug, readProvider(provider)]),
  );
  return loaded;
}

function toTokens(listed: ListedTokens = {}): ReadonlyMap<TokenKind, number> {
  const tokens = new Map<TokenKind, number>();
  for (const [kind, name] of Object.entries(tokenKinds)) {
    const price = listed[kind as keyof typeof tokenKinds]; // its keys
    if (price !== undefined) tokens.set(name, price);
  }
  return tokens;
}

function toPrice(name: string, listed: ListedModel): ModelPrice {
  const { batch, units = {}, images = {} } = listed;
  const tiers = new Map(serviceTiers.filter((tier) => listed[tier]).map((tier) => [tier, toTokens(listed[tier])]));
  return {
    name,
    tokens: toTokens(listed),
    batch: toTokens(batch),
    units: new Map(Object.entries(units)),
    images: new Map(Object.entries(images).map(([quality, sizes]) => [quality, new Map(Object.entries(sizes))])),
    ...(tiers.size > 0 && { tiers }),
  };
}

/** A model that was tuned: `ft:BASE:organisation:suffix:id`, or `BASE.ft-id`. */
const tunedForms = [/^ft:([^:]+)/, /^(.+)\.ft(?:-|$)/];

/** Names of the list for a tuned model: those of its base model when tuned, then the base model itself. */
function tunedNamesOf(model: string): string[] {
  const [base] = tunedForms.flatMap((form) => form.exec(model)?.slice(1) ?? []);
  return base === undefined ? [] : [`ft:${base}`, `${base}.ft`, base];
}

/** Names under which a model may be listed: its name, then the name without such a prefix. */
function namesOf({ prefix }: ProviderPrices, model: string): string[] {
  const names = prefix ? [model, model.replace(prefix, "")] : [model];
  const tuned = tunedNamesOf(model);
  return tuned.length === 0 ? names : [...names, ...tuned];
}

/**
 * List price of a model; undefined when unknown.
 *
 * @param promptTokens Length of the prompt, where the price depends on it. Default: the shortest.
 */
export function findPrice(provider: string, model: string, promptTokens = 0): ModelPrice | undefined {
  const known = prices().get(provider);
  if (!known) return undefined;
  for (const name of namesOf(known, model)) {
    const bounds = known.tiers.get(name) ?? [];
    const bound = bounds.find((thousands) => promptTokens <= thousands * 1_000);
    const tier = bound === undefined ? `-gt-${bounds.at(-1)}k` : `-lte-${bound}k`;
    const entry = [`${name}${tier}`, name].find((candidate) => known.models.has(candidate));
    const listed = entry === undefined ? undefined : known.models.get(entry);
    if (entry !== undefined && listed !== undefined) return toPrice(entry, listed);
  }
  return undefined;
}

/** No name in the list is longer. */
const maxNameLength = 256;

/** Cached tiers, null for names without a price; bounded because callers choose the names. */
const cachedTiers = new BoundedMap<string, PriceTiers | null>(4_096);

function readPriceTiers(provider: string, model: string): PriceTiers | null {
  const known = prices().get(provider);
  if (!known) return null;
  const tiers = namesOf(known, model).map((name) => known.tiers.get(name) ?? []);
  const bounds = (tiers.find((some) => some.length > 0) ?? []).map((thousands) => thousands * 1_000);
  const found = [...bounds, Number.POSITIVE_INFINITY].map((bound) => findPrice(provider, model, bound));
  const whole = found.filter((price) => price !== undefined);
  return whole.length === found.length ? { bounds, prices: whole } : null;
}

/** List prices of a model for all prompt lengths; undefined when unknown. Cached. */
export function findPriceTiers(provider: string, model: string): PriceTiers | undefined {
  if (model.length > maxNameLength) return undefined;
  const key = `${provider} ${model}`;
  let priceTiers = cachedTiers.get(key);
  if (priceTiers === undefined) {
    priceTiers = readPriceTiers(provider, model);
    cachedTiers.set(key, priceTiers);
  }
  return priceTiers ?? undefined;
}

/** The price for a prompt length. */
export function priceAt({ bounds, prices }: PriceTiers, promptTokens: number): ModelPrice | undefined {
  const at = bounds.findIndex((bound) => promptTokens <= bound);
  return prices[at < 0 ? bounds.length : at];
}

/** Names of a provider's priced models, in alphabetical order. */
export function listModels(provider: string): string[] {
  const names = [...(prices().get(provider)?.models.keys() ?? [])];
  return [...new Set(names.map((name) => name.replace(tierEnd, "")))].sort();
}

/** Slugs of all providers with prices. */
export function listPricedProviders(): string[] {
  return [...prices().keys()];
}
