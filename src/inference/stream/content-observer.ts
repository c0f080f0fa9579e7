import { fromUsageMetadata } from "../../dialects/gemini/candidates.ts";
import { toErrorEvent } from "../../dialects/gemini/events.ts";
import { isObject, parseJson, stringOf } from "../../lib/json.ts";
import { encodeEvent, readEvents } from "../../lib/sse.ts";
import { Grounding } from "../../schemas/grounding.ts";
import { contentSays, dataSays } from "./says.ts";
import type { StreamObserver } from "./stages.ts";
import { toStreamError } from "./stream-errors.ts";

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
export class ContentObserver implements StreamObserver {
  state: StreamObserver["state"] = "open";
  hasSpoken = false;
  /** Every event has counts: only the last ones are read. */
  #counted: string | undefined;
  readonly #grounding = new Grounding();

  push(block: Uint8Array): Uint8Array | undefined {
    if (this.state === "failed") return undefined;
    for (const { data } of readEvents(decoder.decode(block))) {
      this.hasSpoken ||= dataSays(data, contentSays);
      if (usageForm.test(data)) this.#counted = data;
      const event = endForm.test(data) || groundingForm.test(data) ? parseJson(data) : undefined;
      if (!isObject(event)) continue;
      this.#grounding.add(event);
      if (event.error) this.state = "failed";
      else if (isLast(event)) this.state = "complete";
    }
    return block;
  }

  isOver(): boolean {
    return this.state === "failed";
  }

  failure(body: object, status: number): Uint8Array {
    return encoder.encode(encodeEvent(toErrorEvent(toStreamError(body, status))));
  }

  get usage(): unknown {
    const event = this.#lastCounted();
    return event && fromUsageMetadata(event, this.#grounding);
  }

  get model(): string | undefined {
    return stringOf(this.#lastCounted()?.modelVersion);
  }

  #lastCounted(): Record<string, unknown> | undefined {
    const event = this.#counted === undefined ? undefined : parseJson(this.#counted);
    return isObject(event) ? event : undefined;
  }
}
