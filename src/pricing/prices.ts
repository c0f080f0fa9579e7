import { BoundedMap } from "../lib/bounded-map.ts";
import { nameBeginnings } from "./tables/name-beginnings.ts";
import { priceList } from "./tables/price-list.ts";

/** Kinds of token that have a price, and their names on the wire. */
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

/** A kind of token by its name on the wire. */
export type TokenKind = (typeof tokenKinds)[keyof typeof tokenKinds];

/** What a model costs. */
export interface ModelPrice {
  /** Name of the list's entry: the model's, with a bound of the prompt's length where prices depend on it. */
  name: string;
  /** US dollars per million tokens. */
  tokens: ReadonlyMap<TokenKind, number>;
  /** US dollars per million tokens in batches; a kind that is missing has no price of its own there. */
  batch: ReadonlyMap<TokenKind, number>;
  /** US dollars per million tokens by service tier and kind; a kind that is missing costs what it costs otherwise. */
  tiers?: ReadonlyMap<string, ReadonlyMap<TokenKind, number>>;
  /** US dollars each. */
  units: ReadonlyMap<string, number>;
  /** US dollars per image, by quality and then by size. */
  images: ReadonlyMap<string, ReadonlyMap<string, number>>;
  /** US dollars of each call, besides what is counted; all of them are paid. */
  fixed?: readonly number[];
}

/** What a model costs by the length of its prompt. */
export interface PriceLadder {
  /** Lengths in tokens, ascending: the price of a prompt is the one at the first bound that is not below it. */
  bounds: readonly number[];
  /** One more than there are bounds; the last is that of longer prompts. */
  prices: readonly ModelPrice[];
}

/** Prices of one provider. */
interface ProviderPrices {
  /** Text of an entry, without its name, by its name. */
  entries: ReadonlyMap<string, string>;
  /** Bounds of prompts, in tokens, of models whose price depends on them, ascending. */
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

/** The list, read on first use and never changed. */
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
    // the list names no other kinds: a test reads all of it
    else if (group === "batch") batch.set(tokenKinds[first as keyof typeof tokenKinds], value);
    else if (serviceTiers.has(group)) {
      const tier = tiers.get(group) ?? new Map<TokenKind, number>();
      tiers.set(group, tier.set(tokenKinds[first as keyof typeof tokenKinds], value));
    } else tokens.set(tokenKinds[group as keyof typeof tokenKinds], value);
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

/** Names a model may stand under: as it is, without such a beginning, then what it was tuned from. */
function namesOf(provider: string, model: string): string[] {
  const beginning = nameBeginnings.get(provider);
  const names = beginning ? [model, model.replace(beginning, "")] : [model];
  const tuned = tunedNamesOf(model);
  return tuned.length === 0 ? names : [...names, ...tuned];
}

/**
 * What a model costs at list price; undefined when nothing is known.
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

/** No name of the list is as long. */
const maxNameLength = 256;

/** Ladders that were asked for, and null for names without a price; callers choose the names, so it is bounded. */
const ladders = new BoundedMap<string, PriceLadder | null>(4_096);

function readLadder(provider: string, model: string): PriceLadder | null {
  const known = prices().get(provider);
  const tiers = namesOf(provider, model).map((name) => known?.tiers.get(name) ?? []);
  const bounds = (tiers.find((some) => some.length > 0) ?? []).map((thousands) => thousands * 1_000);
  const found = [...bounds, Number.POSITIVE_INFINITY].map((bound) => findPrice(provider, model, bound));
  const whole = found.filter((price) => price !== undefined);
  return whole.length === found.length ? { bounds, prices: whole } : null;
}

/** What a model costs at list price, at all lengths of the prompt; undefined when nothing is known. Read once and kept. */
export function findLadder(provider: string, model: string): PriceLadder | undefined {
  if (model.length > maxNameLength) return undefined;
  const key = `${provider} ${model}`;
  let ladder = ladders.get(key);
  if (ladder === undefined) {
    ladder = readLadder(provider, model);
    ladders.set(key, ladder);
  }
  return ladder ?? undefined;
}

/** The price of a prompt of so many tokens. */
export function priceAt({ bounds, prices }: PriceLadder, promptTokens: number): ModelPrice | undefined {
  const at = bounds.findIndex((bound) => promptTokens <= bound);
  return prices[at < 0 ? bounds.length : at];
}

/** Names of a provider's models that have a price, in alphabetical order. */
export function listModels(provider: string): string[] {
  const names = [...(prices().get(provider)?.entries.keys() ?? [])];
  return [...new Set(names.map((name) => name.replace(tierEnd, "")))].sort();
}

/** Slugs of all providers with prices. */
export function listPricedProviders(): string[] {
  return [...prices().keys()];
}
