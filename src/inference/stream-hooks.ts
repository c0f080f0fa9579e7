import type { PhaseOutcome } from "../guardrails/run.ts";
import type { Body, RequestType } from "../guardrails/types.ts";
import { encodeEvent } from "../lib/sse.ts";
import { StreamAssembler } from "../logs/assemble.ts";

/** Longest streamed text hooks look at, in bytes as it was sent. */
const maxSeen = 16 * 1024 * 1024;

const encoder = new TextEncoder();

/** The guardrails of a streamed answer's target. */
export interface StreamGuard {
  readonly status: number;
  check(answer: Body, options: { isStreamed: boolean; isCut: boolean }): Promise<PhaseOutcome>;
  keep(body: Body | undefined): void;
}

/** What the hooks of a stream are made from. */
export interface StreamHooksOptions {
  guard: StreamGuard;
  requestType: RequestType;
  /** What hooks say is not told in the stream. */
  strict: boolean;
  /** There are hooks that look at the answer. */
  isWatched: boolean;
  before: PhaseOutcome["results"];
}

/** Watches a stream for its hooks and writes what they say. */
export class StreamHooks {
  readonly #options: StreamHooksOptions;
  readonly #assembler = new StreamAssembler();
  readonly #decoder = new TextDecoder();
  #seen = 0;
  #isCut = false;

  constructor(options: StreamHooksOptions) {
    this.#options = options;
  }

  get status(): number {
    return this.#options.guard.status;
  }

  /** The last event waits for what the hooks say: clients of this API read nothing behind it. */
  get holdsLast(): boolean {
    const { requestType, isWatched, strict } = this.#options;
    return isWatched && !strict && requestType === "createModelResponse";
  }

  /** What goes before the first event. */
  prologue(): Uint8Array | undefined {
    const { strict, before } = this.#options;
    return strict || before.length === 0 ? undefined : this.#encode({ before_request_hooks: before });
  }

  /** Sees whole events as they are sent. */
  see(bytes: Uint8Array): void {
    if (!this.#options.isWatched || this.#isCut) return;
    this.#seen += bytes.length;
    if (this.#seen > maxSeen) this.#isCut = true;
    else this.#assembler.push(this.#decoder.decode(bytes));
  }

  /** What is told behind a whole answer; undefined where nothing is. */
  async finish(): Promise<Uint8Array | undefined> {
    const { guard, strict, isWatched } = this.#options;
    const answer = isWatched ? this.#assembler.result() : undefined;
    if (!answer) {
      guard.keep(undefined);
      return undefined;
    }
    const { results } = await guard.check(answer, { isStreamed: true, isCut: this.#isCut });
    guard.keep(undefined);
    return strict || results.length === 0 ? undefined : this.#encode({ after_request_hooks: results });
  }

  #encode(results: object): Uint8Array {
    const { requestType } = this.#options;
    const isNamed = requestType === "messages" || requestType === "createModelResponse";
    if (!isNamed) return encoder.encode(encodeEvent({ hook_results: results }));
    return encoder.encode(encodeEvent({ type: "hook_results", hook_results: results }, "hook_results"));
  }
}
