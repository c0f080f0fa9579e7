import { ExactNumbers, shelterIntegers } from "../../lib/exact-numbers.ts";
import type { Stage } from "./stages.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Most numbers of a stream that are remembered; beyond it, only those of the request. */
const maxNumbers = 10_000;

/** The stages around a conversion that parses events: numbers stay as the provider wrote them. */
export function createNumberStages(ofRequest: ExactNumbers | undefined): { shelter: Stage; restore: Stage } {
  let numbers = ofRequest;
  return {
    shelter: {
      push(block) {
        const sheltered = shelterIntegers(block, numbers);
        if (!sheltered) return block;
        ({ numbers } = sheltered);
        if (numbers.size > maxNumbers) {
          numbers = new ExactNumbers();
          numbers.join(ofRequest);
        }
        return sheltered.bytes;
      },
    },
    restore: {
      push: (block) => (numbers && numbers.size > 0 ? encoder.encode(numbers.restore(decoder.decode(block))) : block),
    },
  };
}
