import type { StreamError } from "../../dialects/types.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { encodeEvent, readEvents } from "../../lib/sse.ts";
import type { StreamMapper } from "../../providers/core/types.ts";
import { toStreamFailure } from "./block-writer.ts";
import { type StreamObserver, toStreamError } from "./stream-observer.ts";

type Members = Record<string, unknown>;

/** What came of a stream before it broke off. */
interface SeenStream {
  /** The first event that was looked into. */
  begun: Members | undefined;
  /** The last events. */
  lastText(): string;
}

/** What is to be known of a stream whose events tell their type. */
export interface TypedStream {
  /** Types of the events that end an answer. */
  readonly last: ReadonlySet<string>;
  /** Several of them may come: the upstream says by closing that nothing more does. */
  readonly hasSeveralLast?: boolean;
  /** Most bytes of one event; by default as of any stream. */
  readonly maxEventBytes?: number;
  /** Types of the events that tell of a failure; nothing follows them, `warnings` aside. */
  readonly failures: ReadonlySet<string>;
  /** Failures that the event which ends the stream may follow. */
  readonly warnings?: ReadonlySet<string>;
  /** A text that is in every event `last`, `failures` or `usageOf` is about: blocks without it are not looked into. */
  readonly mark: RegExp;
  /** Usage an event tells. */
  usageOf(event: Members): unknown;
  /** An error in the form of the stream: one event, or several. */
  toFailures(error: StreamError, seen: SeenStream): readonly Members[];
  /** Data behind the last event that belongs to the answer, such as `[DONE]`. */
  readonly ending?: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Later counts replace earlier ones. */
function mergeUsage(known: Members | undefined, next: unknown): Members | undefined {
  if (!isObject(next)) return known;
  const told = Object.entries(next).filter(([, value]) => value !== null && value !== undefined);
  return { ...known, ...Object.fromEntries(told) };
}

/** What is known of a stream so far. */
class TypedState {
  readonly #stream: TypedStream;
  usage: Members | undefined;
  model: string | undefined;
  tier: unknown;
  answer: object | undefined;
  ended: "complete" | "failed" | undefined;
  #isOver = false;
  begun: Members | undefined;
  /** Whole events that went on last. */
  last: Uint8Array | undefined;

  /** Whether nothing more belongs to the answer. */
  get isOver(): boolean {
    return this.#isOver && !(this.ended === "complete" && this.#stream.hasSeveralLast === true);
  }

  constructor(stream: TypedStream) {
    this.#stream = stream;
  }

  /** Takes note of an event. */
  note(event: Members): void {
    const type = String(event.type);
    this.begun ??= event;
    this.usage = mergeUsage(this.usage, this.#stream.usageOf(event));
    const holder = event.message ?? event.response;
    if (isObject(holder) && typeof holder.model === "string") this.model = holder.model;
    if (isObject(holder)) this.tier = holder.service_tier;
    if (this.#stream.failures.has(type)) this.ended = "failed";
    else if (this.#stream.last.has(type)) {
      this.ended = "complete";
      if (isObject(event.response)) this.answer = event.response;
    }
    this.#isOver ||= this.ended !== undefined && this.#stream.warnings?.has(type) !== true;
  }
}

function observeWith(
  state: TypedState,
  stream: TypedStream,
  observe: StreamObserver["observe"],
): Pick<StreamObserver, "observe" | "state" | "ending" | "failure" | "usage" | "model" | "tier" | "answer"> {
  return {
    observe,
    state: () => state.ended ?? "open",
    ending: () => undefined,
    failure(body, status) {
      const seen: SeenStream = { begun: state.begun, lastText: () => decoder.decode(state.last) };
      const events = stream.toFailures(toStreamError(body, status), seen);
      return encoder.encode(events.map((event) => encodeEvent(event, String(event.type))).join(""));
    },
    usage: () => state.usage,
    model: () => state.model,
    tier: () => state.tier,
    answer: () => state.answer,
  };
}

/** Observer of streams of typed events that go to the client as they come. */
export function createTypedObserver(stream: TypedStream): StreamObserver {
  const state = new TypedState(stream);
  const observe = (block: Uint8Array): Uint8Array | undefined => {
    if (state.isOver) return undefined;
    state.last = block;
    const text = decoder.decode(block);
    if (!stream.mark.test(text)) return block;
    for (const { data } of readEvents(text)) {
      const event = stream.mark.test(data) ? parseJson(data) : undefined;
      if (isObject(event)) state.note(event);
    }
    return block;
  };
  return { ...observeWith(state, stream, observe), isOver: () => state.isOver };
}

/** As `createTypedObserver`, for upstreams that frame the same events otherwise: `mapper` undoes that. */
export function createReframedObserver(stream: TypedStream, mapper: StreamMapper, provider: string): StreamObserver {
  const state = new TypedState(stream);
  let failure: Error | undefined;
  const observe = (block: Uint8Array): Uint8Array | undefined => {
    let text = "";
    for (const upstream of readEvents(decoder.decode(block))) {
      if (failure !== undefined || state.isOver) break;
      try {
        for (const event of mapper.map(upstream) as readonly Members[]) {
          state.note(event);
          text += encodeEvent(event, String(event.type));
        }
      } catch (cause) {
        failure = toStreamFailure(cause, provider);
      }
    }
    if (failure !== undefined && text === "") throw failure;
    if (text === "") return undefined;
    state.last = encoder.encode(text);
    return state.last;
  };
  const isOver = () => {
    if (failure !== undefined) throw failure;
    return state.isOver;
  };
  return { ...observeWith(state, stream, observe), isOver };
}
