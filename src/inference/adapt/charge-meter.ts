import { isObject, parseJson } from "../../lib/json.ts";
import { readEvents } from "../../lib/sse.ts";
import { shiftDecimal } from "../../pricing/decimals.ts";
import { type ChargeRules, readCharge } from "../../providers/core/charges.ts";
import type { Stage } from "../stream/stages.ts";

/** Decimal places from US dollars to nano-dollars. */
const nanoPlaces = 9;

/** Nano-dollars that a usage reports as its cost; null where it reports none. */
export function chargeOf(rules: ChargeRules | undefined, usage: unknown): number | null {
  const parts = readCharge(rules, usage);
  return parts ? parts.reduce((sum, dollars) => sum + Math.round(shiftDecimal(dollars, nanoPlaces)), 0) : null;
}

/** The usage of a body or an event; those of the Responses and the Messages API may have it one level below. */
function usageIn(body: unknown): unknown {
  if (!isObject(body)) return undefined;
  const holder = [body, body.response, body.message].find((one) => isObject(one) && isObject(one.usage));
  return isObject(holder) ? holder.usage : undefined;
}

const decoder = new TextDecoder();

/** In every event with a usage. Inside a string, the quotation marks are escaped. */
const usageForm = /"usage"\s*:\s*\{/;

/** Reads what a provider reports as the cost of a response, before the response is converted. */
export class ChargeMeter implements Stage {
  readonly #rules: ChargeRules;
  /** Nano-dollars that the last response reported; null where it reported none. */
  charge: number | null = null;

  constructor(rules: ChargeRules) {
    this.#rules = rules;
  }

  /** Begins a response. */
  reset(): void {
    this.charge = null;
  }

  /** Reads a body, or an event of a stream: the last cost counts. */
  read(body: unknown): void {
    this.charge = chargeOf(this.#rules, usageIn(body)) ?? this.charge;
  }

  /** Reads the events of a stream. */
  push(block: Uint8Array): Uint8Array {
    const text = decoder.decode(block);
    if (!usageForm.test(text)) return block;
    for (const { data } of readEvents(text)) if (usageForm.test(data)) this.read(parseJson(data));
    return block;
  }
}
