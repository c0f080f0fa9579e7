import { isObject, parseJson } from "../../lib/json.ts";
import { JsonMembers } from "../../lib/json-members.ts";
import { EventBlocks, readEvents } from "../../lib/sse.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { countsOfBody, modelOfBody } from "../call/usage-units.ts";

type Members = Record<string, unknown>;

/** What a forwarded response reported of its counts. */
export interface ReportedCounts {
  readonly usage: LoggedUsage | null;
  readonly model: string | null;
  /** The usage as the provider sent it. */
  readonly sent: unknown;
}

/** Reads the counts of a response while it is forwarded. */
interface AnswerCounts {
  /** Sees the next bytes, which stay as they are. */
  push(bytes: Uint8Array): void;
  /** What was reported up to here. */
  result(): ReportedCounts;
}

const decoder = new TextDecoder();

/** Members that hold counts, or that their price depends on. */
const countMembers = ["usage", "usageMetadata", "model", "modelVersion", "service_tier", "candidates"];
/** Members whose later values add to earlier ones: an event may report a part of them. */
const mergedMembers = new Set(["usage", "usageMetadata"]);

/** The counts of an event stand in it, or in the message or response that it reports on. */
function holderOf(event: Members): Members {
  if (isObject(event.message)) return event.message;
  return isObject(event.response) ? event.response : event;
}

/** What several events, or parts of a text, say of one response. */
class Collected {
  readonly #members: Members = {};
  /** Candidates that say what a response was grounded in. */
  readonly #grounded: unknown[] = [];

  add(event: Members): void {
    const holder = holderOf(event);
    for (const name of [...countMembers, "output", "tools"]) if (holder[name] != null) this.set(name, holder[name]);
    // of a message that goes on, the event has the counts
    if (holder !== event && isObject(event.usage)) this.set("usage", event.usage);
  }

  set(name: string, value: unknown): void {
    const before = this.#members[name];
    if (name === "candidates") this.#ground(value);
    else if (!mergedMembers.has(name) || !isObject(before) || !isObject(value)) this.#members[name] = value;
    else {
      const reported = Object.entries(value).filter(([, count]) => count !== null && count !== undefined);
      this.#members[name] = { ...before, ...Object.fromEntries(reported) };
    }
  }

  #ground(candidates: unknown): void {
    if (!Array.isArray(candidates)) return;
    this.#grounded.push(...candidates.filter((one) => isObject(one) && isObject(one.groundingMetadata)));
  }

  result(): ReportedCounts {
    const answer = { ...this.#members, candidates: this.#grounded };
    return { usage: countsOfBody(answer), model: modelOfBody(answer), sent: this.#members.usage };
  }
}

/** A string in every event that is read. The first event of a response names its model. */
const countForm = /"(?:usage|usageMetadata|groundingMetadata)"\s*:/;

/** Reads the events of a stream. What cannot be framed is forwarded unread. */
export function createEventCounts(): AnswerCounts {
  const collected = new Collected();
  const blocks = new EventBlocks();
  let isReadable = true;
  let hasBegun = false;
  const read = (text: string) => {
    if (hasBegun && !countForm.test(text)) return;
    for (const { data } of readEvents(text)) {
      const event = !hasBegun || countForm.test(data) ? parseJson(data) : undefined;
      if (!isObject(event)) continue;
      hasBegun = true;
      collected.add(event);
    }
  };
  return {
    push(bytes) {
      if (!isReadable) return;
      try {
        const block = blocks.push(bytes);
        if (block) read(decoder.decode(block));
      } catch {
        isReadable = false;
      }
    },
    result() {
      // a last event may lack its blank line
      const rest = isReadable ? blocks.takeRest() : undefined;
      if (rest) read(decoder.decode(rest));
      return collected.result();
    },
  };
}

/**
 * The counts of a whole JSON text, an object or a list of parts of one response, and what the model wrote in it. Undefined
 * of anything else.
 */
export function readCounts(text: string): (ReportedCounts & { readonly answer: object }) | undefined {
  const value = parseJson(text);
  if (isObject(value))
    return { usage: countsOfBody(value), model: modelOfBody(value), sent: value.usage, answer: value };
  if (!Array.isArray(value)) return undefined;
  const collected = new Collected();
  for (const part of value) if (isObject(part)) collected.add(part);
  return { ...collected.result(), answer: { candidates: value } };
}

/** Members of an item of `output` that say whether it was a call of the provider's own tools, and of which. */
const itemMembers = ["type", "status", "action", "container_id", "id"];
/** Most items that are noted. */
const maxItems = 10_000;

/** Reads a list of items, of any length: those that may be calls of tools. */
function createItemReader(): { push(bytes: Uint8Array): void; readonly items: readonly Members[] } {
  const items: Members[] = [];
  let item: Members = {};
  const members = new JsonMembers(
    itemMembers,
    (name, text) => {
      item[name] = parseJson(text);
    },
    {
      ended() {
        if (typeof item.type === "string" && item.type.endsWith("_call") && items.length < maxItems) items.push(item);
        item = {};
      },
    },
  );
  return { items, push: (bytes) => members.push(bytes) };
}

/** Reads a JSON text, of any length: an object, or a list of parts of one response. */
export function createTextCounts(): AnswerCounts {
  const collected = new Collected();
  const output = createItemReader();
  const members = new JsonMembers(
    [...countMembers, "tools"],
    (name, text) => {
      const value = parseJson(text);
      if (value !== undefined && value !== null) collected.set(name, value);
    },
    { long: { output: output.push } },
  );
  return {
    push: (bytes) => members.push(bytes),
    result() {
      if (output.items.length > 0) collected.set("output", output.items);
      return collected.result();
    },
  };
}
