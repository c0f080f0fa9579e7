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

/** An event that tells what hooks said, in the form of the route. */
function encodeResults(requestType: RequestType, results: object): string {
  const isNamed = requestType === "messages" || requestType === "createModelResponse";
  if (!isNamed) return encodeEvent({ hook_results: results });
  return encodeEvent({ type: "hook_results", hook_results: results }, "hook_results");
}

/** The answer a stream adds up to; undefined where it holds none. */
export function readStream(text: string): Body | undefined {
  const assembler = new StreamAssembler();
  assembler.push(text);
  return assembler.result();
}

/** Where the last event of a text begins. */
export function startOfLastEvent(text: string): number {
  const end = text.trimEnd().lastIndexOf("\n\n");
  return end === -1 ? 0 : end + 2;
}

/** A whole stream with what hooks said: before its first event, and behind its last or, in Responses, before it. */
export function withStreamResults(
  text: string,
  {
    requestType,
    strict,
    before,
    after,
  }: Pick<StreamHooksOptions, "requestType" | "strict" | "before"> & {
    after: PhaseOutcome["results"];
  },
): string {
  if (strict) return text;
  const first = before.length === 0 ? "" : encodeResults(requestType, { before_request_hooks: before });
  const last = after.length === 0 ? "" : encodeResults(requestType, { after_request_hooks: after });
  const end = requestType === "createModelResponse" ? startOfLastEvent(text) : text.length;
  return first + text.slice(0, end) + last + text.slice(end);
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
    return encoder.encode(encodeResults(this.#options.requestType, results));
  }
}
