import type { PriceList } from "./own-prices.ts";
import type { PriceTiers } from "./prices.ts";

/** The price of models without one, in US dollars per million tokens. */
export interface FallbackPrice {
  readonly input: number;
  readonly output: number;
}

/** The price as models have it: every input token costs `input`, every output token `output`. */
export function toFallbackTiers({ input, output }: FallbackPrice): PriceTiers {
  const tokens = new Map([["request_token", input] as const, ["response_token", output] as const]);
  const price = { name: "fallback", tokens, batch: new Map(), units: new Map(), images: new Map() };
  return { bounds: [], prices: [price], source: "fallback" };
}

/** A price list that has the fallback for every model without a price. */
export function withFallback(list: PriceList, fallback: PriceTiers): PriceList {
  return (model) => list(model) ?? fallback;
}
