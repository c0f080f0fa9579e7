import { fromUsageMetadata } from "../../dialects/gemini/candidates.ts";
import { toErrorEvent } from "../../dialects/gemini/events.ts";
import { isObject, parseJson, stringOf } from "../../lib/json.ts";
import { encodeEvent, readEvents } from "../../lib/sse.ts";
import { Grounding } from "../../schemas/grounding.ts";
import { contentSays, dataSays } from "./says.ts";
import type { StreamObserver } from "./stages.ts";
import { toStreamError } from "./stream-observer.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A string in every event that ends a response or reports a failure. */
const endForm = /"(?:finishReason|blockReason|error)"\s*:/;
const groundingForm = /"groundingMetadata"\s*:/;
const usageForm = /"usageMetadata"\s*:/;

/** Whether an event ends a response. */
function isLast(event: Record<string, unknown>): boolean {
  const { candidates, promptFeedback } = event;
  const ends = Array.isArray(candidates) && candidates.some((one) => isObject(one) && Boolean(one.finishReason));
  return ends || (isObject(promptFeedback) && Boolean(promptFeedback.blockReason));
}

/**
 * Observer of streams of response chunks that are forwarded unchanged. Only the end of the stream says that they are
 * complete (https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent).
 */
export function createContentObserver(): StreamObserver {
  let state: "open" | "complete" | "failed" = "open";
  // every event has counts: only the last ones are read
  let counted: string | undefined;
  let hasSpoken = false;
  const grounding = new Grounding();
  return {
    push(block) {
      if (state === "failed") return undefined;
      for (const { data } of readEvents(decoder.decode(block))) {
        hasSpoken ||= dataSays(data, contentSays);
        if (usageForm.test(data)) counted = data;
        const event = endForm.test(data) || groundingForm.test(data) ? parseJson(data) : undefined;
        if (!isObject(event)) continue;
        grounding.add(event);
        if (event.error) state = "failed";
        else if (isLast(event)) state = "complete";
      }
      return block;
    },
    state: () => state,
    hasSpoken: () => hasSpoken,
    isOver: () => state === "failed",
    failure: (body, status) => encoder.encode(encodeEvent(toErrorEvent(toStreamError(body, status)))),
    usage() {
      const event = counted === undefined ? undefined : parseJson(counted);
      return isObject(event) ? fromUsageMetadata(event, grounding) : undefined;
    },
    model() {
      const event = counted === undefined ? undefined : parseJson(counted);
      return isObject(event) ? stringOf(event.modelVersion) : undefined;
    },
  };
}
