import type { CallerContext } from "../../context.ts";
import { endOfFirstBlock } from "../../lib/sse.ts";
import { BodyPieces } from "../../logs/body.ts";
import { keepsNothing } from "../call/log-phases.ts";
import type { Stage } from "./stages.ts";

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
    log.phases ??= { final: null, sent: null, original: null };
    log.phases.original = received;
  };
  return {
    original: {
      push(block) {
        // nothing was made of the block before
        if (!isKnown && first) decide(true);
        // a copy: the cutter reuses its buffer
        if (!isKnown) first = block.slice();
        else received?.add(block.slice());
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
