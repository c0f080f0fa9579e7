import { isObject, parseJson } from "../../lib/json.ts";
import { shiftDecimal } from "../../pricing/decimals.ts";
import { type ChargeRules, readCharge } from "../../providers/core/charges.ts";
import type { ChunkCorrector, StreamMapper } from "../../providers/core/types.ts";

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

/** In every event with a usage. Inside a string, the quotation marks are escaped. */
const usageForm = /"usage"\s*:\s*\{/;

/** Reads what a provider reports as the cost of a response, before the response is converted. */
export class ChargeMeter {
  readonly #rules: ChargeRules | undefined;
  #charge: number | null = null;

  /** @param rules Undefined for providers that report no cost. */
  constructor(rules: ChargeRules | undefined) {
    this.#rules = rules;
  }

  /** Nano-dollars that the last response reported; null where it reported none. */
  get charge(): number | null {
    return this.#charge;
  }

  /** Begins a response. */
  reset(): void {
    this.#charge = null;
  }

  /** Reads a body, or an event of a stream: the last cost counts. */
  read(body: unknown): void {
    if (this.#rules) this.#charge = chargeOf(this.#rules, usageIn(body)) ?? this.#charge;
  }

  /** The same mapper, whose events are read. */
  watchMapper<Mapper extends StreamMapper | undefined>(mapper: Mapper): Mapper | StreamMapper {
    if (!this.#rules || !mapper) return mapper;
    return {
      map: (event) => {
        if (usageForm.test(event.data)) this.read(parseJson(event.data));
        return mapper.map(event);
      },
      ...(mapper.done && { done: () => mapper.done?.() ?? [] }),
      isComplete: () => mapper.isComplete(),
      usage: () => mapper.usage(),
    };
  }

  /** The same corrector, whose chunks are read. */
  watchCorrector(corrector: ChunkCorrector | undefined): ChunkCorrector | undefined {
    if (!this.#rules || !corrector) return corrector;
    return {
      ...(corrector.isLocal !== undefined && { isLocal: corrector.isLocal }),
      concerns: (block) => corrector.concerns(block),
      correct: (chunk) => {
        this.read(chunk);
        return corrector.correct(chunk);
      },
    };
  }
}
