import type { LoggedUsage } from "../schemas/logs.ts";
import { toDigits } from "./decimals.ts";
import { type ModelPrice, type PriceTiers, priceAt, type TokenKind } from "./prices.ts";

/** Counts of a request. */
export type Counts = Partial<LoggedUsage>;

/** Prices of calls, and of batches. The others are service tiers. */
const callMode = "call";
const batchMode = "batch";

/** Selects among a model's prices. */
interface CostOptions {
  /** Batch prices: the model's own, else half of each price. Default: false. */
  batch?: boolean | undefined;
  /** The counts are a sum over prompts of unknown lengths: the tier of short prompts applies. Default: false. */
  isSum?: boolean | undefined;
}

/** The price of one token, image or other unit: `nanos` + `parts` / 10^9 nano-dollars, both integers. */
interface Rate {
  nanos: number;
  parts: number;
}

const partsOfNano = 1_000_000_000;

/** Decimal places to 10^-18 US dollars, from dollars and from dollars per million tokens. */
const fromDollars = 18;
const fromMillions = 12;

/** A price as an exact rate; below 10^-18 dollars it is rounded half up. */
function toRate(price: number, places: number): Rate {
  const [all, decimals] = toDigits(price);
  const shift = places - decimals;
  const scaled =
    shift >= 0 ? all * 10n ** BigInt(shift) : (all + 5n * 10n ** BigInt(-shift - 1)) / 10n ** BigInt(-shift);
  return { nanos: Number(scaled / BigInt(partsOfNano)), parts: Number(scaled % BigInt(partsOfNano)) };
}

/** Prices of a model as rates; undefined where there is no price. */
interface Rates {
  input: Rate | undefined;
  output: Rate | undefined;
  read: Rate | undefined;
  write: Rate | undefined;
  audioInput: Rate | undefined;
  audioRead: Rate | undefined;
  audioOutput: Rate | undefined;
  imageInput: Rate | undefined;
  imageOutput: Rate | undefined;
  /** Images are charged by their tokens where these were counted. */
  chargesImageTokens: boolean;
  /** The price of pages, searches or characters, which the list states as a price of tokens. */
  thing: Rate | undefined;
  /** Further units by name. */
  units: ReadonlyMap<string, Rate>;
  images: ReadonlyMap<string, ReadonlyMap<string, Rate>>;
  /** Per call. */
  fixed: readonly Rate[];
}

/** Calls of a provider's tools: batches and service tiers do not change their prices. */
const toolUnits: ReadonlySet<string> = new Set([
  "web_search",
  "web_search_preview",
  "enterprise_web_search",
  "search",
  "maps",
  "file_search",
  "code_interpreter",
]);

function mapValues<Key, From, To>(map: ReadonlyMap<Key, From>, convert: (value: From) => To): Map<Key, To> {
  return new Map(Array.from(map, ([key, value]) => [key, convert(value)]));
}

function toRates(price: ModelPrice, mode: string): Rates {
  const { tokens, batch, units, images, fixed = [] } = price;
  const isBatch = mode === batchMode;
  const share = isBatch ? 0.5 : 1;
  const ofMode = isBatch ? batch : price.tiers?.get(mode);
  const rateOf = (dollars: number, places: number) => toRate(dollars * share, places);
  const token = (kind: TokenKind): Rate | undefined => {
    const own = ofMode?.get(kind);
    if (own !== undefined) return toRate(own, fromMillions);
    const whole = tokens.get(kind);
    return whole === undefined ? undefined : rateOf(whole, fromMillions);
  };
  const [input, output, read] = [token("request_token"), token("response_token"), token("cache_read_input_token")];
  const [audioOutput, imageOutput] = [token("response_audio_token"), token("response_image_token")];
  const unit = (dollars: number) => rateOf(dollars, fromDollars);
  const unitToken = units.get("image_token");
  const imageToken = imageOutput ?? (unitToken === undefined ? undefined : unit(unitToken));
  const makesTokens = output ?? audioOutput ?? imageOutput;
  return {
    input,
    output: makesTokens,
    read: read ?? input,
    write: token("cache_write_input_token") ?? input,
    audioInput: token("request_audio_token") ?? input,
    audioRead: token("cache_read_audio_input_token") ?? read ?? token("request_audio_token") ?? input,
    audioOutput: audioOutput ?? output,
    imageInput: token("request_image_token") ?? input,
    imageOutput: imageToken ?? makesTokens,
    chargesImageTokens: imageToken !== undefined,
    thing: makesTokens || units.has("response_audio_token") ? undefined : input,
    units: new Map(
      Array.from(units, ([name, dollars]) => [
        name,
        toolUnits.has(name) ? toRate(dollars, fromDollars) : unit(dollars),
      ]),
    ),
    images: mapValues(images, (sizes) => mapValues(sizes, unit)),
    fixed: fixed.map(unit),
  };
}

/** Cached rates: a price is read once and never changes. */
const known = new WeakMap<ModelPrice, Rates>();
/** The same for batches and for service tiers that the price has, by their name. */
const knownOfModes = new WeakMap<ModelPrice, Map<string, Rates>>();

function ratesOf(price: ModelPrice, mode: string): Rates {
  if (mode !== callMode) return ratesOfMode(price, mode);
  let rates = known.get(price);
  if (!rates) {
    rates = toRates(price, mode);
    known.set(price, rates);
  }
  return rates;
}

function ratesOfMode(price: ModelPrice, mode: string): Rates {
  const modes = knownOfModes.get(price) ?? new Map<string, Rates>();
  knownOfModes.set(price, modes);
  const rates = modes.get(mode) ?? toRates(price, mode);
  modes.set(mode, rates);
  return rates;
}

/** Whose prices count: those of batches, of the service tier that the provider reported, or of calls. */
function modeOf({ service_tier: tier }: Counts, { tiers }: ModelPrice, batch: boolean): string {
  if (batch) return batchMode;
  return tier !== undefined && tiers?.has(tier) ? tier : callMode;
}

/** Larger counts are capped, so that no product loses a digit. */
const maxCount = 1e12;
const countStep = 1_000_000;

/** Nano-dollars as `nanos` + `parts` / 10^9, the parts below 10^9. */
class Sum {
  nanos = 0;
  parts = 0;

  add({ nanos, parts }: Rate, count: number): void {
    this.nanos += nanos * count;
    if (parts === 0) return;
    const low = count % countStep;
    const high = (count - low) / countStep;
    this.#addParts(parts * low);
    // a step of a count is a thousandth of a unit of `parts`
    const thousandths = parts * high;
    this.nanos += Math.floor(thousandths / 1_000);
    this.#addParts((thousandths % 1_000) * countStep);
  }

  #addParts(parts: number): void {
    const all = this.parts + parts;
    this.parts = all % partsOfNano;
    this.nanos += (all - this.parts) / partsOfNano;
  }
}

/** Counts with fractions: thousandths of units, and milliseconds of what is paid by the minute. */
const thingParts = 1_000;
const minuteParts = 60_000;

const noSum: Rate = { nanos: 0, parts: 0 };

/** The cost of one request: whole units, and fractions of them. */
class Bill {
  readonly #whole = new Sum();
  /** Most requests need neither. */
  #things: Sum | undefined;
  #minutes: Sum | undefined;
  /** Whether any count has a price. */
  isPriced = false;

  tokens(rate: Rate | undefined, count: number): void {
    if (!rate || !(count > 0)) return;
    this.isPriced = true;
    this.#whole.add(rate, Math.min(count, maxCount));
  }

  things(rate: Rate | undefined, count: number): void {
    if (!rate || !(count > 0)) return;
    this.isPriced = true;
    const whole = Math.floor(Math.min(count, maxCount));
    this.#whole.add(rate, whole);
    this.#things ??= new Sum();
    this.#things.add(rate, Math.round((Math.min(count, maxCount) - whole) * thingParts));
  }

  seconds(ofMinute: Rate | undefined, count: number): void {
    if (!ofMinute || !(count > 0)) return;
    this.isPriced = true;
    const milliseconds = Math.round(Math.min(count, maxCount) * 1_000);
    const rest = milliseconds % minuteParts;
    this.#whole.add(ofMinute, (milliseconds - rest) / minuteParts);
    this.#minutes ??= new Sum();
    this.#minutes.add(ofMinute, rest);
  }

  /** Nano-dollars, rounded half up once. */
  total(): number {
    const whole = this.#whole;
    const { nanos: thingNanos, parts: ofThings } = this.#things ?? noSum;
    const { nanos: minuteNanos, parts: ofMinutes } = this.#minutes ?? noSum;
    const thingRest = thingNanos % thingParts;
    const minuteRest = minuteNanos % minuteParts;
    const nanos = whole.nanos + (thingNanos - thingRest) / thingParts + (minuteNanos - minuteRest) / minuteParts;
    const unit = minuteParts * partsOfNano;
    const rest =
      whole.parts * minuteParts +
      (thingRest * partsOfNano + ofThings) * (minuteParts / thingParts) +
      (minuteRest * partsOfNano + ofMinutes);
    return Math.min(nanos + Math.floor((rest + unit / 2) / unit), Number.MAX_SAFE_INTEGER);
  }
}

const noUnits: Readonly<Record<string, number>> = {};

/** Takes up to `count` of the remaining tokens. */
function take(left: { tokens: number }, count = 0): number {
  const taken = Math.min(Math.max(count, 0), left.tokens);
  left.tokens -= taken;
  return taken;
}

function addInput(bill: Bill, counts: Counts, rates: Rates): void {
  const units = counts.units ?? noUnits;
  const left = { tokens: counts.input_tokens ?? 0 };
  const audioRead = take(left, Math.min(units.cached_audio_tokens ?? 0, counts.cached_tokens ?? 0));
  bill.tokens(rates.audioRead, audioRead);
  bill.tokens(rates.read, take(left, (counts.cached_tokens ?? 0) - audioRead));
  const hour = rates.units.get("cache_write_1h");
  const kept = hour ? take(left, Math.min(units.cache_write_1h ?? 0, counts.cache_write_tokens ?? 0)) : 0;
  bill.tokens(hour, kept);
  bill.tokens(rates.write, take(left, (counts.cache_write_tokens ?? 0) - kept));
  bill.tokens(rates.audioInput, take(left, (counts.audio_input_tokens ?? 0) - audioRead));
  bill.tokens(rates.imageInput, take(left, units.image_input_tokens));
  bill.tokens(rates.input, left.tokens);
}

/** The price of an image by quality and size, else the general one. */
function imageRate({ images, units }: Rates, { image }: Counts): Rate | undefined {
  const { quality = "default", size = "default" } = image ?? {};
  for (const sizes of [images.get(quality), images.get("default")]) {
    const rate = sizes?.get(size) ?? sizes?.get("default");
    if (rate) return rate;
  }
  return units.get("generated_images") ?? units.get("images");
}

function addOutput(bill: Bill, counts: Counts, rates: Rates): void {
  const units = counts.units ?? noUnits;
  const left = { tokens: counts.output_tokens ?? 0 };
  const { images = 0, image_output_tokens: imageTokens } = units;
  const areCounted = rates.chargesImageTokens && left.tokens > 0;
  const image = images > 0 && !areCounted ? imageRate(rates, counts) : undefined;
  if (image) {
    bill.things(image, images);
    // they are the images' tokens
    return;
  }
  bill.tokens(rates.audioOutput, take(left, counts.audio_output_tokens));
  bill.tokens(rates.imageOutput, take(left, imageTokens ?? (images > 0 ? left.tokens : 0)));
  bill.tokens(rates.output, left.tokens);
}

/** Counts that break down the tokens or images. */
const partsOfTokens: ReadonlySet<string> = new Set([
  "cached_audio_tokens",
  "cache_write_1h",
  "image_input_tokens",
  "image_output_tokens",
]);
/** Units that cost as much as others, for models where they have no separate price. */
const sameUnits: ReadonlyMap<string, string> = new Map([["web_search_preview", "web_search"]]);
const things: ReadonlySet<string> = new Set(["pages", "search_units", "characters"]);

function addUnits(bill: Bill, counts: Counts, units: NonNullable<Counts["units"]>, rates: Rates): void {
  const hasTokens = (counts.input_tokens ?? 0) + (counts.output_tokens ?? 0) > 0;
  for (const [name, count] of Object.entries(units)) {
    if (partsOfTokens.has(name)) continue;
    const own = rates.units.get(name) ?? rates.units.get(sameUnits.get(name) ?? "");
    if (name === "images") {
      if (!hasTokens && !imageRate(rates, counts)) bill.things(undefined, count);
    } else if (own) bill.things(own, count);
    else if (hasTokens) continue;
    else if (name === "seconds") bill.seconds(rates.units.get("request_audio_token"), count);
    else bill.things(things.has(name) ? rates.thing : undefined, count);
  }
}

/**
 * What a request costs, in nano-dollars, rounded half up once; undefined when nothing was counted that has a price.
 *
 * - Input tokens that are neither cached nor audio nor images cost `request_token`; cached, audio and image tokens have
 *   their own prices, and without one cost as much as input or text. The same holds for output; reasoning is output.
 * - Images are charged by their tokens where these were counted and have a price, else by quality and size. Then their
 *   tokens cost nothing.
 * - `units` with a price cost that. Without tokens, pages, searches and characters cost `request_token`, as in the list,
 *   and seconds the price per minute.
 *
 * Exact for prices of up to 18 decimals of a dollar and counts of up to 10^12.
 */
export function costOf(counts: Counts, price: ModelPrice, { batch = false }: CostOptions = {}): number | undefined {
  const rates = ratesOf(price, modeOf(counts, price, batch));
  const bill = new Bill();
  addInput(bill, counts, rates);
  addOutput(bill, counts, rates);
  if (counts.units) addUnits(bill, counts, counts.units, rates);
  for (const rate of rates.fixed) bill.tokens(rate, 1);
  return bill.isPriced ? bill.total() : undefined;
}

/** As `costOf`, at the price tier of the prompt's length; undefined without a price. */
export function costAt(counts: Counts, priceTiers: PriceTiers | undefined, options?: CostOptions): number | undefined {
  const price = priceTiers && priceAt(priceTiers, options?.isSum ? 0 : (counts.input_tokens ?? 0));
  return price && costOf(counts, price, options);
}

const nanosOf = ({ nanos, parts }: Rate = noSum): number => nanos + parts / partsOfNano;

/**
 * Nano-dollars of a prompt and of its output, each rounded up; 0 without a price. An estimate: all input and output is
 * text, and nothing is cached.
 */
export function estimateAt(
  { prompt, output }: { prompt: number; output: number },
  priceTiers: PriceTiers | undefined,
): { prompt: number; output: number } {
  const price = priceTiers && priceAt(priceTiers, prompt);
  if (!price) return { prompt: 0, output: 0 };
  const rates = ratesOf(price, callMode);
  const fixed = rates.fixed.reduce((sum, rate) => sum + nanosOf(rate), 0);
  return {
    prompt: Math.ceil(prompt * nanosOf(rates.input) + fixed),
    output: Math.ceil(output * nanosOf(rates.output)),
  };
}

const nanosOfCent = 10_000_000;

/** Nano-dollars as US cents, to the nano-dollar. */
export function toCents(nanos: number): number {
  return nanos / nanosOfCent;
}

/** US cents as nano-dollars. */
export function toNanos(cents: number): number {
  return Math.round(cents * nanosOfCent);
}
