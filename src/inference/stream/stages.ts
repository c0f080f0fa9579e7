import { joinBytes } from "../../lib/bytes.ts";

/** One step on the way of a stream from its provider to its client. Blocks hold whole events. */
export interface Stage {
  /** Takes a block; what goes on to the next stage: the same, other bytes, or nothing. */
  push(block: Uint8Array): Uint8Array | undefined;
  /** What it still holds at the normal end of the stream. */
  end?(): Uint8Array | undefined;
}

/** The stage that makes the client's events of the provider's, or forwards them, and reads what they report. */
export interface StreamObserver extends Stage {
  /** `complete`: the response is complete. `failed`: the upstream reported a failure to the client itself. */
  readonly state: "open" | "complete" | "failed";
  /** Whether an event said something: others name the response, count tokens, or keep the connection open. */
  readonly hasSpoken: boolean;
  /**
   * Whether the event that ends a stream, or a failure, has come: nothing after it is sent.
   *
   * @throws The failure of an event that could not be used, once what came before it was sent.
   */
  isOver(): boolean;
  /** Error event in the form of the route; `status` is the one a non-streaming response would have had. */
  failure(body: object, status: number): Uint8Array;
  /** Usage the upstream reported; undefined while it reported none. */
  readonly usage: unknown;
  /** The model that responds; undefined where no inspected event names it. */
  readonly model?: string | undefined;
  /** The service tier that answers; undefined where no event that was looked into names it. */
  readonly tier?: unknown;
  /** The complete response, if the last event of the stream contains it. */
  readonly answer?: object | undefined;
}

/** The stages of every stream, in order. */
export const stageOrder = [
  // reads what the provider says the response costs
  "charge",
  // records the events that came, for the log
  "original",
  // takes out numbers that lose digits when they are parsed
  "shelter",
  // makes the client's events of the provider's
  "convert",
  // puts those numbers back
  "restore",
  // forgets the recorded events of a stream that reaches the client as it came
  "compare",
  // remembers the response, for the cache
  "capture",
] as const;

/** The stages of a stream by their names; those without work are absent. */
export type StageParts = Partial<Record<(typeof stageOrder)[number], Stage | undefined>> & { convert: StreamObserver };

/** The stages of one stream; those of its guardrails come behind them (guard-stages.ts). */
export class StreamStages {
  readonly conversion: StreamObserver;
  readonly #stages: Stage[] = [];

  constructor(parts: StageParts) {
    this.conversion = parts.convert;
    for (const name of stageOrder) {
      const stage = parts[name];
      if (stage) this.#stages.push(stage);
    }
  }

  /** What a block of the provider's events becomes, before guardrails see it. */
  push(block: Uint8Array): Uint8Array | undefined {
    let passed: Uint8Array | undefined = block;
    for (const stage of this.#stages) {
      passed = stage.push(passed);
      if (passed === undefined) return undefined;
    }
    return passed;
  }

  /** What the stages still hold at the normal end. */
  end(): Uint8Array | undefined {
    let held: Uint8Array | undefined;
    for (const stage of this.#stages) {
      const passed = held && stage.push(held);
      const own = stage.end?.();
      held = passed && own ? joinBytes([passed, own]) : (passed ?? own);
    }
    return held;
  }
}
