import { ExactNumbers, shelterIntegers } from "../../lib/exact-numbers.ts";
import type { StreamObserver } from "./stream-observer.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Most numbers of a stream that are remembered; beyond it, only those of the request. */
const maxNumbers = 10_000;

/** An observer that rewrites events, with numbers as the upstream wrote them. */
export function keepNumbers(observer: StreamObserver, ofRequest: ExactNumbers | undefined): StreamObserver {
  let numbers = ofRequest;
  const restore = (bytes: Uint8Array | undefined): Uint8Array | undefined =>
    bytes && numbers && numbers.size > 0 ? encoder.encode(numbers.restore(decoder.decode(bytes))) : bytes;
  return {
    ...observer,
    observe(block) {
      const sheltered = shelterIntegers(block, numbers);
      if (!sheltered) return observer.observe(block);
      ({ numbers } = sheltered);
      if (numbers.size > maxNumbers) {
        numbers = new ExactNumbers();
        numbers.join(ofRequest);
      }
      return restore(observer.observe(sheltered.bytes));
    },
    ending: () => restore(observer.ending()),
  };
}
