import type { StreamError } from "../../dialects/types.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { encodeEvent, readEvents, someEvent } from "../../lib/sse.ts";
import type { StreamMapper } from "../../providers/core/types.ts";
import { toStreamFailure } from "./block-writer.ts";
import { dataSays } from "./says.ts";
import type { StreamObserver } from "./stages.ts";
import { toStreamError } from "./stream-observer.ts";

type Members = Record<string, unknown>;

/** What a stream holds before it breaks off. */
interface StreamProgress {
  /** The first event that was inspected. */
  begun: Members | undefined;
  /** The last events. */
  lastText(): string;
}

/** Facts about a stream whose events name their type. */
export interface TypedStream {
  /** Types of the events that end a response. */
  readonly last: ReadonlySet<string>;
  /** Several of them may come: only the upstream's close says that no more do. */
  readonly hasSeveralLast?: boolean;
  /** Most bytes of one event; by default as for any stream. */
  readonly maxEventBytes?: number;
  /** Types of the events that report a failure; nothing follows them except `warnings`. */
  readonly failures: ReadonlySet<string>;
  /** Failures that the event which ends the stream may follow. */
  readonly warnings?: ReadonlySet<string>;
  /** Whether an event says something. Default: each does. */
  says?(event: Members): boolean;
  /** A string in every event that `last`, `failures` or `usageOf` reads: blocks without it are not parsed. */
  readonly mark: RegExp;
  /** Usage an event reports. */
  usageOf(event: Members): unknown;
  /** An error in the form of the stream: one event, or several. */
  toFailures(error: StreamError, seen: StreamProgress): readonly Members[];
  /** Data after the last event that belongs to the response, such as `[DONE]`. */
  readonly ending?: string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Later counts replace earlier ones. */
function mergeUsage(known: Members | undefined, next: unknown): Members | undefined {
  if (!isObject(next)) return known;
  const reported = Object.entries(next).filter(([, value]) => value !== null && value !== undefined);
  return { ...known, ...Object.fromEntries(reported) };
}

/** State of a stream. */
class TypedState {
  readonly #stream: TypedStream;
  usage: Members | undefined;
  model: string | undefined;
  tier: unknown;
  answer: object | undefined;
  ended: "complete" | "failed" | undefined;
  #isOver = false;
  begun: Members | undefined;
  hasSpoken: boolean;
  /** Whole events that were sent last. */
  last: Uint8Array | undefined;

  /** Whether the response is complete. */
  get isOver(): boolean {
    return this.#isOver && !(this.ended === "complete" && this.#stream.hasSeveralLast === true);
  }

  constructor(stream: TypedStream) {
    this.#stream = stream;
    this.hasSpoken = stream.says === undefined;
  }

  /** Looks for what a block of events says, until something was said. */
  hear(block: Uint8Array): void {
    const { says } = this.#stream;
    if (says && !this.hasSpoken) this.hasSpoken = someEvent(block, ({ data }) => dataSays(data, says));
  }

  /** Records an event. */
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
  push: StreamObserver["push"],
): Omit<StreamObserver, "isOver"> {
  return {
    push,
    state: () => state.ended ?? "open",
    hasSpoken: () => state.hasSpoken,
    failure(body, status) {
      const seen: StreamProgress = { begun: state.begun, lastText: () => decoder.decode(state.last) };
      const events = stream.toFailures(toStreamError(body, status), seen);
      return encoder.encode(events.map((event) => encodeEvent(event, String(event.type))).join(""));
    },
    usage: () => state.usage,
    model: () => state.model,
    tier: () => state.tier,
    answer: () => state.answer,
  };
}

/** Observer of streams of typed events that are forwarded unchanged. */
export function createTypedObserver(stream: TypedStream): StreamObserver {
  const state = new TypedState(stream);
  const push = (block: Uint8Array): Uint8Array | undefined => {
    if (state.isOver) return undefined;
    state.last = block;
    const text = decoder.decode(block);
    state.hear(block);
    if (!stream.mark.test(text)) return block;
    for (const { data } of readEvents(text)) {
      const event = stream.mark.test(data) ? parseJson(data) : undefined;
      if (isObject(event)) state.note(event);
    }
    return block;
  };
  return { ...observeWith(state, stream, push), isOver: () => state.isOver };
}

/** As `createTypedObserver`, for upstreams that frame the same events differently: `mapper` unpacks them. */
export function createReframedObserver(stream: TypedStream, mapper: StreamMapper, provider: string): StreamObserver {
  const state = new TypedState(stream);
  let failure: Error | undefined;
  const push = (block: Uint8Array): Uint8Array | undefined => {
    let text = "";
    for (const upstream of readEvents(decoder.decode(block))) {
      if (failure !== undefined || state.isOver) break;
      try {
        // mappers make events of objects
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
    state.hear(state.last);
    return state.last;
  };
  const isOver = () => {
    if (failure !== undefined) throw failure;
    return state.isOver;
  };
  return { ...observeWith(state, stream, push), isOver };
}
