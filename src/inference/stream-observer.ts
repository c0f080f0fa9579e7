import { isObject, parseJson } from "../lib/json.ts";
import { doneEvent, encodeEvent, readEvents } from "../lib/sse.ts";
import { findNotable } from "./notable.ts";

/** Reads a stream of events that goes to the client in the upstream's own shape. */
export interface StreamObserver {
  /** Sees the bytes of whole events and says what goes on: the same, others, or none. */
  observe(block: Uint8Array): Uint8Array | undefined;
  /** `complete`: what was seen is a whole answer. `failed`: the upstream told the client of a failure itself. */
  state(): "open" | "complete" | "failed";
  /** Whether the event that ends a stream, or a failure, has come: nothing behind it goes on. */
  isOver(): boolean;
  /** What is still owed to the client after a right end. */
  ending(): Uint8Array | undefined;
  /** Error event in the form of the route; `status` is the one an answer would have had. */
  failure(body: object, status: number): Uint8Array;
  /** Usage the upstream told; undefined while it told none. */
  usage(): unknown;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const finishForm = /"finish_reason"\s*:\s*"/;
const usageForm = /"usage"\s*:\s*\{/;
const errorForm = /"error"\s*:\s*[{"]/;

const lineFeed = 0x0a;

/** Start of the event that holds the byte at `index`. Where lines do not end with plain line feeds: of all events. */
function startOfEvent(bytes: Uint8Array, index: number): number {
  if (bytes.includes(0x0d)) return 0;
  let end = bytes.lastIndexOf(lineFeed, index);
  while (end > 0 && bytes[end - 1] !== lineFeed) end = bytes.lastIndexOf(lineFeed, end - 1);
  return end > 0 ? end + 1 : 0;
}

function join(before: Uint8Array, text: string): Uint8Array | undefined {
  const behind = encoder.encode(text);
  if (before.length === 0) return behind.length === 0 ? undefined : behind;
  const joined = new Uint8Array(before.length + behind.length);
  joined.set(before);
  joined.set(behind, before.length);
  return joined;
}

/**
 * Observer of chat and text completion streams in OpenAI's shape. Sends `[DONE]` once, after a right end, and keeps the
 * trailing usage chunk back from clients that did not ask for it.
 */
export function createCompletionObserver(options: { includeUsage: boolean }): StreamObserver {
  let finished = false;
  let done = false;
  let failed = false;
  let usage: unknown;

  /** Looks into the events of a block one by one; false for those that do not go on. */
  const keep = (data: string): boolean => {
    if (data === "[DONE]") {
      if (done || failed) return false;
      done = true;
      return true;
    }
    if (done) return false;
    if (finishForm.test(data)) finished = true;
    const holdsUsage = usageForm.test(data);
    const holdsError = errorForm.test(data);
    if (!holdsUsage && !holdsError) return true;
    const chunk = parseJson(data);
    if (!isObject(chunk)) return true;
    if (isObject(chunk.error) || typeof chunk.error === "string") failed = true;
    if (!isObject(chunk.usage)) return true;
    usage = chunk.usage;
    const choices: unknown = chunk.choices;
    const isTrailer = Array.isArray(choices) && choices.length === 0;
    return options.includeUsage || !isTrailer;
  };

  const rewrite = (text: string): string => {
    let kept = "";
    for (const { event, data } of readEvents(text)) {
      if (!keep(data)) continue;
      if (event !== "") kept += `event: ${event}\n`;
      kept += `data: ${data.replaceAll("\n", "\ndata: ")}\n\n`;
    }
    return kept;
  };

  return {
    observe(block) {
      const { at, finishes } = findNotable(block);
      if (finishes) finished = true;
      if (at < 0 && !done) return block;
      const start = done ? 0 : startOfEvent(block, at);
      return join(block.subarray(0, start), rewrite(decoder.decode(block.subarray(start))));
    },
    state: () => (failed ? "failed" : done || finished ? "complete" : "open"),
    isOver: () => done || failed,
    ending: () => (done ? undefined : encoder.encode(doneEvent)),
    failure: (body) => encoder.encode(encodeEvent(body)),
    usage: () => usage,
  };
}
