import { BoundedMap } from "../lib/bounded-map.ts";
import { nameBeginnings } from "./tables/name-beginnings.ts";
import { priceList } from "./tables/price-list.ts";

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

/** Prices of one provider. */
interface ProviderPrices {
  /** Text of an entry without its name, by name. */
  entries: ReadonlyMap<string, string>;
  /** Prompt length bounds, in tokens and ascending, of models whose price depends on them. */
  tiers: ReadonlyMap<string, readonly number[]>;
}

const tierForm = /^(.+)-lte-(\d+)k$/;
const tierEnd = /-(?:lte|gt)-\d+k$/;

function readProvider(block: string): [string, ProviderPrices] {
  const [slug = "", ...lines] = block.trimEnd().split("\n");
  const entries = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)] as const),
  );
  const tiers = new Map<string, number[]>();
  for (const name of entries.keys()) {
    const [, model, thousands] = tierForm.exec(name) ?? [];
    if (model === undefined) continue;
    tiers.set(
      model,
      [...(tiers.get(model) ?? []), Number(thousands)].sort((a, b) => a - b),
    );
  }
  return [slug, { entries, tiers }];
}

function readList(list: string): ReadonlyMap<string, ProviderPrices> {
  return new Map(list.split(/^# /m).slice(1).map(readProvider));
}

let loaded: ReadonlyMap<string, ProviderPrices> | undefined;

/** The list, parsed on first use. */
function prices(): ReadonlyMap<string, ProviderPrices> {
  loaded ??= readList(priceList);
  return loaded;
}

/** Service tiers that the list has prices of. */
const serviceTiers: ReadonlySet<string> = new Set(["flex", "priority"]);

function toPrice(name: string, text: string): ModelPrice {
  const tokens = new Map<TokenKind, number>();
  const batch = new Map<TokenKind, number>();
  const tiers = new Map<string, Map<TokenKind, number>>();
  const units = new Map<string, number>();
  const images = new Map<string, Map<string, number>>();
  for (const [, what = "", amount] of text.matchAll(/(\S+)=(\S+)/g)) {
    const value = Number(amount);
    const [group = "", first = "", second = ""] = what.split(".");
    if (group === "unit") units.set(first, value);
    else if (group === "image") images.set(first, new Map([...(images.get(first) ?? []), [second, value]]));
    // the list has no other kinds: a test reads all of it
    else if (group === "batch") batch.set(tokenKinds[first as keyof typeof tokenKinds], value);
    else if (serviceTiers.has(group)) {
      const tier = tiers.get(group) ?? new Map<TokenKind, number>();
      tiers.set(group, tier.set(tokenKinds[first as keyof typeof tokenKinds], value)); // as above
    } else tokens.set(tokenKinds[group as keyof typeof tokenKinds], value); // as above
  }
  return { name, tokens, batch, units, images, ...(tiers.size > 0 && { tiers }) };
}

/** A model that was tuned: `ft:BASE:organisation:suffix:id`, or `BASE.ft-id`. */
const tunedForms = [/^ft:([^:]+)/, /^(.+)\.ft(?:-|$)/];

/** Names of the list for a tuned model: those of its base model when tuned, then the base model itself. */
function tunedNamesOf(model: string): string[] {
  const [base] = tunedForms.flatMap((form) => form.exec(model)?.slice(1) ?? []);
  return base === undefined ? [] : [`ft:${base}`, `${base}.ft`, base];
}

/** Names under which a model may be listed: its name, then the name without such a prefix. */
function namesOf(provider: string, model: string): string[] {
  const beginning = nameBeginnings.get(provider);
  const names = beginning ? [model, model.replace(beginning, "")] : [model];
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
  for (const name of known ? namesOf(provider, model) : []) {
    const bounds = known?.tiers.get(name) ?? [];
    const bound = bounds.find((thousands) => promptTokens <= thousands * 1_000);
    const tier = bound === undefined ? `-gt-${bounds.at(-1)}k` : `-lte-${bound}k`;
    const entry = [`${name}${tier}`, name].find((candidate) => known?.entries.has(candidate));
    const text = entry === undefined ? undefined : known?.entries.get(entry);
    if (entry !== undefined && text !== undefined) return toPrice(entry, text);
  }
  return undefined;
}

/** No name in the list is longer. */
const maxNameLength = 256;

/** Cached tiers, null for names without a price; bounded because callers choose the names. */
const cachedTiers = new BoundedMap<string, PriceTiers | null>(4_096);

function readPriceTiers(provider: string, model: string): PriceTiers | null {
  const known = prices().get(provider);
  const tiers = namesOf(provider, model).map((name) => known?.tiers.get(name) ?? []);
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
  const names = [...(prices().get(provider)?.entries.keys() ?? [])];
  return [...new Set(names.map((name) => name.replace(tierEnd, "")))].sort();
}

/** Slugs of all providers with prices. */
export function listPricedProviders(): string[] {
  return [...prices().keys()];
}
