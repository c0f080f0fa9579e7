import { fromUsageMetadata } from "../../dialects/gemini/candidates.ts";
import { toErrorEvent } from "../../dialects/gemini/events.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { encodeEvent, readEvents } from "../../lib/sse.ts";
import { type StreamObserver, toStreamError } from "./stream-observer.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A text that is in every event which ends an answer or tells of a failure. */
const endForm = /"(?:finishReason|blockReason|error)"\s*:/;
const usageForm = /"usageMetadata"\s*:/;

/** Whether an event ends an answer. */
function isLast(event: Record<string, unknown>): boolean {
  const { candidates, promptFeedback } = event;
  const ends = Array.isArray(candidates) && candidates.some((one) => isObject(one) && Boolean(one.finishReason));
  return ends || (isObject(promptFeedback) && Boolean(promptFeedback.blockReason));
}

/**
 * Observer of streams of slices of an answer, which go to the client as they come. Nothing in them says that they are over
 * but their end (https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent).
 */
export function createContentObserver(): StreamObserver {
  let state: "open" | "complete" | "failed" = "open";
  // counts come with every event: only the last are read
  let counted: string | undefined;
  return {
    observe(block) {
      if (state === "failed") return undefined;
      for (const { data } of readEvents(decoder.decode(block))) {
        if (usageForm.test(data)) counted = data;
        const event = endForm.test(data) ? parseJson(data) : undefined;
        if (!isObject(event)) continue;
        if (event.error) state = "failed";
        else if (isLast(event)) state = "complete";
      }
      return block;
    },
    state: () => state,
    isOver: () => state === "failed",
    ending: () => undefined,
    failure: (body, status) => encoder.encode(encodeEvent(toErrorEvent(toStreamError(body, status)))),
    usage() {
      const event = counted === undefined ? undefined : parseJson(counted);
      return isObject(event) ? fromUsageMetadata(event) : undefined;
    },
    model() {
      const event = counted === undefined ? undefined : parseJson(counted);
      return isObject(event) && typeof event.modelVersion === "string" ? event.modelVersion : undefined;
    },
  };
}
