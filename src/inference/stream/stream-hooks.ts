import { RequestStrings } from "../../guardrails/members.ts";
import type { PhaseOutcome } from "../../guardrails/subject.ts";
import type { Body, RequestType } from "../../guardrails/types.ts";
import type { WindowChecks } from "../../guardrails/window.ts";
import { encodeEvent } from "../../lib/sse.ts";
import { StreamAssembler } from "../../logs/assemble.ts";
import { StreamWindow } from "./stream-window.ts";

/** Longest streamed text that guardrails check, in bytes as sent. */
const maxSeen = 16 * 1024 * 1024;

const encoder = new TextEncoder();

/** The guardrails of a streamed response's target. */
interface StreamGuard {
  readonly status: number;
  conclude(
    answer: Body | undefined,
    options: { windowed: PhaseOutcome["results"]; isCut: boolean },
  ): Promise<PhaseOutcome["results"]>;
  toDenial(windowed: PhaseOutcome["results"], strict: boolean): Error;
  store(body: Body | undefined): void;
  readFailure(failure: unknown): Promise<unknown>;
}

/** What the guardrails of a stream are made from. */
interface StreamHooksOptions {
  guard: StreamGuard;
  requestType: RequestType;
  /** The request that is answered. */
  request: Body;
  /** Guardrail results are not sent in the stream. */
  strict: boolean;
  /** Something reads the whole response at its end. */
  isWatched: boolean;
  /** The checks that decide while the response flows. */
  checks: WindowChecks | undefined;
  before: PhaseOutcome["results"];
}

/**
 * An event with guardrail results, in the form of the route, made so that clients which do not know it ignore it:
 * clients read the `choices` of a chunk, and in the Responses API they ignore `keepalive` events only.
 */
function encodeResults(requestType: RequestType, results: object): string {
  switch (requestType) {
    case "chatComplete":
    case "complete":
      return encodeEvent({ choices: [], hook_results: results });
    case "messages":
      return encodeEvent({ type: "hook_results", hook_results: results }, "hook_results");
    case "createModelResponse":
      return encodeEvent({ type: "keepalive", hook_results: results }, "hook_results");
    default:
      return encodeEvent({ hook_results: results });
  }
}

/** The response a stream adds up to; undefined where it holds none. */
export function readStream(text: string): Body | undefined {
  const assembler = new StreamAssembler();
  assembler.push(text);
  return assembler.result();
}

/** What ends an event: two line ends of one kind. */
const gaps = ["\n\n", "\r\n\r\n", "\r\r"];

/** Where the last event of a text starts. */
export function startOfLastEvent(text: string): number {
  const events = text.trimEnd();
  const starts = gaps.map((gap) => {
    const end = events.lastIndexOf(gap);
    return end === -1 ? 0 : end + gap.length;
  });
  return Math.max(...starts);
}

/** Where the first event of a text ends. */
function endOfFirstEvent(text: string): number {
  const start = Math.max(0, text.search(/^data:/m));
  const ends = gaps.flatMap((gap) => {
    const end = text.indexOf(gap, start);
    return end === -1 ? [] : [end + gap.length];
  });
  return Math.min(text.length, ...ends);
}

/** Whole events with another one before them; in Responses after the first, which clients expect to come first. */
function withFirst(text: string, first: string, requestType: RequestType): string {
  const start = requestType === "createModelResponse" ? endOfFirstEvent(text) : 0;
  return text.slice(0, start) + first + text.slice(start);
}

/** A whole stream with guardrail results: before its first event, and after its last; in Responses between the two. */
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
  return withFirst(text.slice(0, end) + last + text.slice(end), first, requestType);
}

/** Observes a stream for its guardrails and writes their results. */
export class StreamHooks {
  readonly #options: StreamHooksOptions;
  readonly #assembler = new StreamAssembler();
  readonly #decoder = new TextDecoder();
  #seen = 0;
  #isCut = false;
  #hasBegun = false;
  readonly #window: StreamWindow | undefined;

  constructor(options: StreamHooksOptions) {
    this.#options = options;
    const { checks, requestType, request } = options;
    this.#window = checks && new StreamWindow(checks, { requestType, request: new RequestStrings(request) });
  }

  /** Events are held back for a window. */
  get holds(): boolean {
    return this.#window !== undefined;
  }

  /**
   * Takes whole events and returns those that may be sent.
   *
   * @throws {GuardrailDeniedError} If a guardrail denies the response.
   */
  release(bytes: Uint8Array): Uint8Array | undefined | Promise<Uint8Array | undefined> {
    const released = this.#window ? this.#window.push(bytes) : bytes;
    if (released instanceof Promise) return released.then((sent) => this.#permit(sent));
    return this.#permit(released);
  }

  /**
   * The events that still wait, at the end of the response.
   *
   * @param ending What follows them.
   * @throws {GuardrailDeniedError} If a guardrail denies the response.
   */
  async releaseRest(ending?: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#window && this.#permit(await this.#window.finish(ending));
  }

  /**
   * The events that need not wait while the provider says nothing.
   *
   * @throws {GuardrailDeniedError} If a guardrail denies the response.
   */
  releaseQuiet(): Uint8Array | undefined {
    return this.#permit(this.#window?.releaseQuiet());
  }

  /** The failure of a response as its client may see it. */
  readFailure(failure: unknown): Promise<unknown> {
    return this.#options.guard.readFailure(failure);
  }

  #permit(released: Uint8Array | undefined): Uint8Array | undefined {
    const { checks, guard, strict } = this.#options;
    if (checks?.isDenied) throw guard.toDenial(checks.results(), strict);
    return released;
  }

  get status(): number {
    return this.#options.guard.status;
  }

  /** The last event waits for the guardrail results: clients of this API read nothing after it. */
  get holdsLast(): boolean {
    const { requestType, isWatched, strict } = this.#options;
    return (isWatched || this.holds) && !strict && requestType === "createModelResponse";
  }

  /** Whole events to be sent; the first ones with the results of the guardrails before the call. */
  withPrologue(bytes: Uint8Array): Uint8Array {
    const { strict, before, requestType } = this.#options;
    if (this.#hasBegun || strict || before.length === 0) return bytes;
    this.#hasBegun = true;
    const first = encodeResults(requestType, { before_request_hooks: before });
    return encoder.encode(withFirst(this.#decoder.decode(bytes), first, requestType));
  }

  /** Observes whole events as they are sent. */
  see(bytes: Uint8Array): void {
    if (!this.#options.isWatched || this.#isCut) return;
    this.#seen += bytes.length;
    if (this.#seen > maxSeen) this.#isCut = true;
    else this.#assembler.push(this.#decoder.decode(bytes));
  }

  /** The event after a complete response; undefined where there are no results. */
  async finish(): Promise<Uint8Array | undefined> {
    const { guard, strict, isWatched, checks } = this.#options;
    const answer = isWatched ? this.#assembler.result() : undefined;
    const windowed = checks?.results() ?? [];
    const results = await guard.conclude(answer, { windowed, isCut: this.#isCut });
    guard.store(checks?.isTouched ? answer : undefined);
    return strict || results.length === 0 ? undefined : this.#encode({ after_request_hooks: results });
  }

  #encode(results: object): Uint8Array {
    return encoder.encode(encodeResults(this.#options.requestType, results));
  }
}
