import { isObject, objectsIn } from "../../lib/json.ts";
import { carryDetails, joinDetails, type ReasoningDetail } from "../../schemas/reasoning-details.ts";
import type { ConversionOptions, StreamMapper } from "../core/types.ts";
import { isSilent, type Members } from "./members.ts";

/** Field of messages and deltas. */
const member = "reasoning_details";

/** A message of a response whose dialect has no place for details: its calls carry them. */
export function carryInCalls(message: Members): Members {
  const details = objectsIn(message[member]);
  if (details.length === 0) return message;
  const { [member]: _, ...rest } = message;
  return "tool_calls" in rest ? { ...rest, tool_calls: carryDetails(rest.tool_calls, details) } : rest;
}

const hasCalls = ({ tool_calls: calls }: Members): boolean => Array.isArray(calls) && calls.length > 0;

/** Models whose details come with a call or after it (https://ai.google.dev/gemini-api/docs/thought-signatures). */
const comesLate = (chunk: Members): boolean => typeof chunk.model === "string" && /gemini/i.test(chunk.model);

/** The only choice of a chunk, and its delta; undefined for chunks with several. */
function readOnly(chunk: Members): { choice: Members; delta: Members } | undefined {
  const choices = objectsIn(chunk.choices);
  const [choice] = choices;
  if (choices.length !== 1 || !choice) return undefined;
  return { choice, delta: isObject(choice.delta) ? choice.delta : {} };
}

const withDelta = (chunk: Members, choice: Members, delta: Members): Members => ({
  ...chunk,
  choices: [{ ...choice, delta }],
});

/** One choice of a stream: the details that no call has carried, and the calls that wait for theirs. */
class DetailedChoice {
  readonly #isConverted: boolean;
  #pieces: ReasoningDetail[] = [];
  #held: Members[] = [];
  #hasCalls = false;
  #hasBegun = false;

  constructor(isConverted: boolean) {
    this.#isConverted = isConverted;
  }

  /** The chunk with the details in the place where clients send them back, after the chunks that waited for them. */
  add(chunk: Members): Members[] {
    const only = readOnly(chunk);
    if (!only) return [...this.#release(), chunk];
    const { [member]: given, ...delta } = only.delta;
    const isLast = typeof only.choice.finish_reason === "string";
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    if (hasCalls(delta)) this.#hasCalls = true;
    for (const piece of objectsIn(given)) this.#pieces.push(piece);
    if (this.#isConverted)
      return this.#carry(given === undefined ? chunk : withDelta(chunk, only.choice, delta), isLast);
    if (isLast) return [withDelta(chunk, only.choice, this.#finish(delta))];
    if (given === undefined) return [chunk];
    // nothing is left for the client
    return !isFirst && isSilent({ ...delta, role: null }) ? [] : [withDelta(chunk, only.choice, delta)];
  }

  /** All details at once: clients put the items of lists together by their index, which details may share. */
  #finish(delta: Members): Members {
    return this.#hasCalls && this.#pieces.length > 0 ? { ...delta, [member]: joinDetails(this.#pieces) } : delta;
  }

  #carry(chunk: Members, isLast: boolean): Members[] {
    const calls = hasCalls(readOnly(chunk)?.delta ?? {});
    if (!calls)
      return isLast || this.#pieces.length > 0 ? [...this.#release(), chunk] : [...this.#held.splice(0), chunk];
    if (this.#held.length === 0 && this.#pieces.length > 0) return [this.#attach(chunk)];
    if (!comesLate(chunk)) return [chunk];
    this.#held.push(chunk);
    return isLast ? this.#release() : [];
  }

  /** The chunks that waited; the first call has the details. */
  #release(): Members[] {
    const [first, ...rest] = this.#held.splice(0);
    return first ? [this.#attach(first), ...rest] : [];
  }

  #attach(chunk: Members): Members {
    const only = readOnly(chunk);
    if (!only) return chunk;
    const details = joinDetails(this.#pieces.splice(0));
    return withDelta(chunk, only.choice, { ...only.delta, tool_calls: carryDetails(only.delta.tool_calls, details) });
  }
}

/** A mapper whose chunks have details where clients send them back. */
class DetailMapper implements StreamMapper {
  readonly #inner: StreamMapper;
  readonly #choice: DetailedChoice;

  constructor(inner: StreamMapper, isConverted: boolean) {
    this.#inner = inner;
    this.#choice = new DetailedChoice(isConverted);
  }

  map(event: Parameters<StreamMapper["map"]>[0]): readonly object[] {
    return this.#inner.map(event).flatMap((chunk) => this.#choice.add({ ...chunk }));
  }

  isComplete(): boolean {
    return this.#inner.isComplete();
  }

  usage(): unknown {
    return this.#inner.usage();
  }
}

/** A mapper that brings details back to the client; the same mapper for clients that get what the host sends. */
export function withDetails(inner: StreamMapper, { strict, isConverted = false }: ConversionOptions): StreamMapper {
  return strict || isConverted ? new DetailMapper(inner, isConverted) : inner;
}
