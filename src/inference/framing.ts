import { AwsEventBlocks } from "../lib/aws-events.ts";
import { JsonLineBlocks } from "../lib/json-lines.ts";
import { EventBlocks, type EventCutter } from "../lib/sse.ts";
import type { StreamFraming } from "../providers/types.ts";

const cutters: Readonly<Record<StreamFraming, () => EventCutter>> = {
  sse: () => new EventBlocks(),
  aws: () => new AwsEventBlocks(),
  lines: () => new JsonLineBlocks(),
};

/** What cuts an upstream's bytes into whole events. */
export function createCutter(framing: StreamFraming = "sse"): EventCutter {
  return cutters[framing]();
}

const eventStream = /^(?:text\/event-stream|application\/vnd\.amazon\.eventstream)/i;
const lineStream = /^(?:text\/(?:event-stream|plain)|application\/(?:stream\+json|x-ndjson|jsonl|jsonlines))/i;

/** Whether an answer is a stream of events, whichever way they are framed. */
export function isEventStream(response: Response, framing: StreamFraming = "sse"): boolean {
  const type = response.headers.get("content-type") ?? "";
  return response.status === 200 && (framing === "lines" ? lineStream : eventStream).test(type);
}
