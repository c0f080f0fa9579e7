import type { CallerContext } from "../../context.ts";
import { ExactNumbers, shelterIntegers } from "../../lib/exact-numbers.ts";
import { endOfFirstBlock } from "../../lib/sse.ts";
import { BodyPieces } from "../../logs/body.ts";
import { keepsNothing } from "../call/log-phases.ts";
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

/** Whether what was made of a block begins with the first event that came. */
function startsTheSame(came: Uint8Array, made: Uint8Array): boolean {
  const end = endOfFirstBlock(came);
  for (let index = 0; index < end; index++) if (came[index] !== made[index]) return false;
  return true;
}

/** The stages around a conversion that record the events of a stream for its row, if the first of them is converted. */
export function createOriginalStages(context: CallerContext): { original: Stage; compare: Stage } | undefined {
  if (keepsNothing(context)) return undefined;
  const { log } = context;
  let first: Uint8Array | undefined;
  let received: BodyPieces | undefined;
  let isKnown = false;
  const decide = (isConverted: boolean) => {
    isKnown = true;
    if (!isConverted || !first) return;
    received = new BodyPieces();
    received.add(first);
    log.phases ??= { final: null, finalBody: null, sent: null, original: null };
    log.phases.original = received;
  };
  return {
    original: {
      push(block) {
        // nothing was made of the block before
        if (!isKnown && first) decide(true);
        // a copy: the cutter reuses its buffer
        if (!isKnown) first = block.slice();
        else received?.addCopy(block);
        return block;
      },
    },
    compare: {
      push(block) {
        if (!isKnown && first) decide(!startsTheSame(first, block));
        return block;
      },
    },
  };
}
