import { RequestStrings } from "../../guardrails/strings/member-kinds.ts";
import type { PhaseOutcome } from "../../guardrails/subject.ts";
import type { Body, RequestType } from "../../guardrails/types.ts";
import type { WindowChecks } from "../../guardrails/window.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { encodeEvent, readEvents } from "../../lib/sse.ts";
import { StreamAssembler } from "../../logs/assemble.ts";
import { StreamWindow } from "./stream-window.ts";

/** Longest streamed text that guardrails check, in bytes as sent. */
const maxSeen = 16 * 1024 * 1024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

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

/** What the stages of a stream's guardrails are made from. */
export interface GuardStagesOptions {
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
  }: Pick<GuardStagesOptions, "requestType" | "strict" | "before"> & {
    after: PhaseOutcome["results"];
  },
): string {
  if (strict) return text;
  const first = before.length === 0 ? "" : encodeResults(requestType, { before_request_hooks: before });
  const last = after.length === 0 ? "" : encodeResults(requestType, { after_request_hooks: after });
  const end = requestType === "createModelResponse" ? startOfLastEvent(text) : text.length;
  return withFirst(text.slice(0, end) + last + text.slice(end), first, requestType);
}

/** Collects what is sent of a response, for the guardrails that read all of it. */
class Watch {
  readonly #assembler = new StreamAssembler();
  readonly #decoder = new TextDecoder();
  #seen = 0;
  isCut = false;

  push(block: Uint8Array): void {
    this.#seen += block.length;
    if (this.#seen > maxSeen) this.isCut = true;
    else this.#assembler.push(this.#decoder.decode(block));
  }

  result(): Body | undefined {
    return this.#assembler.result();
  }
}

/**
 * What guardrails do to a stream behind its other stages. First they hold events back until the checks that decide
 * while it flows have seen enough of their text; then they collect what is sent, for those that read all of it; and
 * they add their results before the first event and after the last one.
 */
export class GuardStages {
  readonly #options: GuardStagesOptions;
  readonly #window: StreamWindow | undefined;
  readonly #watch: Watch | undefined;
  /** The results of the guardrails before the call were sent, or are not sent. */
  #hasBegun: boolean;

  constructor(options: GuardStagesOptions) {
    const { checks, requestType, request, isWatched, strict, before } = options;
    this.#options = options;
    this.#window = checks && new StreamWindow(checks, { requestType, request: new RequestStrings(request) });
    this.#watch = isWatched ? new Watch() : undefined;
    this.#hasBegun = strict || before.length === 0;
  }

  /** Events may be held back. */
  get holds(): boolean {
    return this.#window !== undefined;
  }

  /** The status of the response, for the client and the log. */
  get status(): number {
    return this.#options.guard.status;
  }

  /** The last event waits for the results: clients of this API read nothing after it. */
  get holdsLast(): boolean {
    const { requestType, strict } = this.#options;
    return (this.holds || this.#watch !== undefined) && !strict && requestType === "createModelResponse";
  }

  /** What may be sent of a block that was converted. @throws {GuardrailDeniedError} */
  async push(block: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#pass(this.#window ? await this.#window.push(block) : block);
  }

  /** The events that need not wait while the provider says nothing. @throws {GuardrailDeniedError} */
  releaseQuiet(): Uint8Array | undefined {
    return this.#pass(this.#window?.releaseQuiet());
  }

  /** What still waits at the end of the response, and what ends it. @throws {GuardrailDeniedError} */
  async finish(ending?: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#pass(this.#window ? await this.#window.finish(ending) : ending);
  }

  /** What is sent of the events that left the window: the first ones with the results of the guardrails before the call. */
  #pass(released: Uint8Array | undefined): Uint8Array | undefined {
    const { guard, checks, strict, requestType, before } = this.#options;
    if (checks?.isDenied) throw guard.toDenial(checks.results(), strict);
    if (released === undefined) return undefined;
    this.#watch?.push(released);
    if (this.#hasBegun) return released;
    this.#hasBegun = true;
    const first = encodeResults(requestType, { before_request_hooks: before });
    return encoder.encode(withFirst(decoder.decode(released), first, requestType));
  }

  /** Runs what reads the whole response; the event with the results, undefined without any. */
  async conclude(): Promise<Uint8Array | undefined> {
    const { guard, strict, checks, requestType } = this.#options;
    const answer = this.#watch?.result();
    const windowed = checks?.results() ?? [];
    const results = await guard.conclude(answer, { windowed, isCut: this.#watch?.isCut ?? false });
    guard.store(checks?.isTouched ? answer : undefined);
    if (strict || results.length === 0) return undefined;
    return encoder.encode(encodeResults(requestType, { after_request_hooks: results }));
  }

  /** The failure of a response as its client may see it. */
  readFailure(failure: unknown): Promise<unknown> {
    return this.#options.guard.readFailure(failure);
  }
}

/** Members of a failed response that say nothing of a model (https://platform.openai.com/docs/api-reference/responses). */
const responseFacts = ["id", "object", "created_at", "model", "status", "error"];

/**
 * What a client learns of a response that a guardrail denied while it was sent: of the events that end it those with the
 * error. The others repeat what was held back.
 */
export function toDenialEvents(ending: Uint8Array): Uint8Array {
  const events = readEvents(decoder.decode(ending)).map(({ event, data }) => ({ event, value: parseJson(data) }));
  const [first] = events;
  const start = isObject(first?.value) ? first.value.sequence_number : undefined;
  let number = typeof start === "number" ? start : undefined;
  let text = "";
  for (const { event, value } of events) {
    if (!isObject(value) || !(value.type === "error" || isObject(value.error) || isFailedResponse(value))) continue;
    const numbered = number === undefined ? value : { ...value, sequence_number: number++ };
    const { response } = value;
    const shown = isObject(response) ? { ...numbered, response: { ...pick(response), output: [] } } : numbered;
    text += encodeEvent(shown, event === "" ? undefined : event);
  }
  return encoder.encode(text);
}

const isFailedResponse = ({ type, response }: Record<string, unknown>): boolean =>
  type === "response.failed" && isObject(response);

function pick(response: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(response).filter(([name]) => responseFacts.includes(name)));
}
