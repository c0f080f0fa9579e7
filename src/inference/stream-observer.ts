import { isObject, parseJson } from "../lib/json.ts";
import { doneEvent, encodeEvent, readEvents } from "../lib/sse.ts";

/** Whole events, as bytes and as the text they are: each stream is decoded once. */
export interface EventBlock {
  bytes: Uint8Array;
  text: string;
}

/** Reads a stream of events that goes to the client in the upstream's own shape. */
export interface StreamObserver {
  /** Sees whole events and says what goes on: the same, others, or none. */
  observe(block: EventBlock): EventBlock | undefined;
  /** `complete`: what was seen is a whole answer. `failed`: the upstream told the client of a failure itself. */
  state(): "open" | "complete" | "failed";
  /** Whether the event that ends a stream, or a failure, has come: nothing behind it goes on. */
  isOver(): boolean;
  /** What is still owed to the client after a right end. */
  ending(): EventBlock | undefined;
  /** Error event in the form of the route. */
  failure(body: object): EventBlock;
  /** Usage the upstream told; undefined while it told none. */
  usage(): unknown;
}

const encoder = new TextEncoder();

const finishForm = /"finish_reason"\s*:\s*"/;
const usageForm = /"usage"\s*:\s*\{/;
const errorForm = /"error"\s*:\s*[{"]/;

function toBlock(text: string): EventBlock {
  return { bytes: encoder.encode(text), text };
}

/** Where the event that ends a stream stands; -1 when it is not there. It may stand inside other data too: events are looked into. */
function indexOfDone(text: string): number {
  return text.indexOf("[DONE]");
}

/** Start of the first event that has to be looked into; -1 when none has. All before it goes on as it is. */
function startOfNotable(text: string): number {
  const found = [indexOfDone(text), text.search(usageForm), text.search(errorForm)].filter((index) => index >= 0);
  if (found.length === 0) return -1;
  if (text.includes("\r")) return 0;
  const before = text.lastIndexOf("\n\n", Math.min(...found));
  return before < 0 ? 0 : before + 2;
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
      const { text } = block;
      const start = done ? 0 : startOfNotable(text);
      if (finishForm.test(start < 0 ? text : text.slice(0, start))) finished = true;
      if (start < 0) return block;
      const kept = text.slice(0, start) + rewrite(text.slice(start));
      return kept === "" ? undefined : toBlock(kept);
    },
    state: () => (failed ? "failed" : done || finished ? "complete" : "open"),
    isOver: () => done || failed,
    ending: () => (done ? undefined : toBlock(doneEvent)),
    failure: (body) => toBlock(encodeEvent(body)),
    usage: () => usage,
  };
}
