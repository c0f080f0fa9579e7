import type { StreamError } from "../../dialects/types.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { encodeEvent, readEvents, someEvent } from "../../lib/sse.ts";
import type { StreamMapper } from "../../providers/core/types.ts";
import { dataSays } from "./says.ts";
import type { StreamObserver } from "./stages.ts";
import { toStreamError, toStreamFailure } from "./stream-errors.ts";

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
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Later counts replace earlier ones. */
function mergeUsage(known: Members | undefined, next: unknown): Members | undefined {
  if (!isObject(next)) return known;
  const reported = Object.entries(next).filter(([, value]) => value !== null && value !== undefined);
  return { ...known, ...Object.fromEntries(reported) };
}

/** Observer of streams of typed events that are forwarded unchanged. */
export class TypedObserver implements StreamObserver {
  protected readonly stream: TypedStream;
  state: StreamObserver["state"] = "open";
  hasSpoken: boolean;
  usage: Members | undefined;
  model: string | undefined;
  tier: unknown;
  answer: object | undefined;
  #isEnded = false;
  #begun: Members | undefined;
  /** Whole events that were sent last. */
  #last: Uint8Array | undefined;

  constructor(stream: TypedStream) {
    this.stream = stream;
    this.hasSpoken = stream.says === undefined;
  }

  push(block: Uint8Array): Uint8Array | undefined {
    if (this.isOver()) return undefined;
    const { mark } = this.stream;
    this.hear(block);
    const text = decoder.decode(block);
    if (!mark.test(text)) return block;
    for (const { data } of readEvents(text)) {
      const event = mark.test(data) ? parseJson(data) : undefined;
      if (isObject(event)) this.read(event);
    }
    return block;
  }

  isOver(): boolean {
    return this.#isEnded && !(this.state === "complete" && this.stream.hasSeveralLast === true);
  }

  failure(body: object, status: number): Uint8Array {
    const seen: StreamProgress = { begun: this.#begun, lastText: () => decoder.decode(this.#last) };
    const events = this.stream.toFailures(toStreamError(body, status), seen);
    return encoder.encode(events.map((event) => encodeEvent(event, String(event.type))).join(""));
  }

  /** Looks for what a block that is sent says, until something was said. */
  protected hear(block: Uint8Array): void {
    this.#last = block;
    const { says } = this.stream;
    if (says && !this.hasSpoken) this.hasSpoken = someEvent(block, ({ data }) => dataSays(data, says));
  }

  /** Reads an event. */
  protected read(event: Members): void {
    const type = String(event.type);
    const { failures, last, warnings, usageOf } = this.stream;
    this.#begun ??= event;
    this.usage = mergeUsage(this.usage, usageOf(event));
    const holder = event.message ?? event.response;
    if (isObject(holder) && typeof holder.model === "string") this.model = holder.model;
    if (isObject(holder)) this.tier = holder.service_tier;
    if (failures.has(type)) this.state = "failed";
    else if (last.has(type)) {
      this.state = "complete";
      if (isObject(event.response)) this.answer = event.response;
    }
    this.#isEnded ||= this.state !== "open" && warnings?.has(type) !== true;
  }
}

/** As `TypedObserver`, for upstreams that frame the same events differently: `mapper` unpacks them. */
export class ReframedObserver extends TypedObserver {
  readonly #mapper: StreamMapper;
  readonly #provider: string;
  #failure: Error | undefined;

  constructor(stream: TypedStream, mapper: StreamMapper, provider: string) {
    super(stream);
    this.#mapper = mapper;
    this.#provider = provider;
  }

  override push(block: Uint8Array): Uint8Array | undefined {
    let text = "";
    for (const upstream of readEvents(decoder.decode(block))) {
      if (this.#failure !== undefined || super.isOver()) break;
      try {
        // mappers make events of objects
        for (const event of this.#mapper.map(upstream) as readonly Members[]) {
          this.read(event);
          text += encodeEvent(event, String(event.type));
        }
      } catch (cause) {
        this.#failure = toStreamFailure(cause, this.#provider);
      }
    }
    if (this.#failure !== undefined && text === "") throw this.#failure;
    if (text === "") return undefined;
    const made = encoder.encode(text);
    this.hear(made);
    return made;
  }

  override isOver(): boolean {
    if (this.#failure !== undefined) throw this.#failure;
    return super.isOver();
  }
}
