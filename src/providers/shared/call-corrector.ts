import { isObject } from "../../lib/json.ts";
import { createTextFinder } from "../../lib/text-search.ts";
import type { ChunkCorrector } from "../core/types.ts";
import { CallIndexes } from "./call-indexes.ts";

const namesCalls = createTextFinder(['"tool_calls"']);

type Members = Record<string, unknown>;

/** Corrects the indexes of calls in a stream that is forwarded unchanged otherwise. */
class CallCorrector implements ChunkCorrector {
  readonly isLocal = true;
  readonly concerns = namesCalls;
  readonly #indexes = new Map<unknown, CallIndexes>();

  correct(chunk: Members): Members {
    const given: readonly unknown[] = Array.isArray(chunk.choices) ? chunk.choices : [];
    const choices = given.map((choice) => this.#settle(choice));
    return choices.every((choice, place) => choice === given[place]) ? chunk : { ...chunk, choices };
  }

  #settle(choice: unknown): unknown {
    if (!isObject(choice) || !isObject(choice.delta) || !Array.isArray(choice.delta.tool_calls)) return choice;
    const { delta } = choice;
    const indexes = this.#indexes.get(choice.index) ?? new CallIndexes();
    this.#indexes.set(choice.index, indexes);
    const calls = indexes.settle(choice.delta.tool_calls);
    return calls === delta.tool_calls ? choice : { ...choice, delta: { ...delta, tool_calls: calls } };
  }
}

/** Whether a response may have calls. */
function mayCall(request: object): boolean {
  const tools: unknown = Reflect.get(request, "tools");
  return Array.isArray(tools) && tools.length > 0;
}

/** A corrector of the indexes of calls, for hosts that may give each the same one; undefined for requests without tools. */
export function correctCalls(request: object): ChunkCorrector | undefined {
  return mayCall(request) ? new CallCorrector() : undefined;
}

/** Two correctors that look at the events they are concerned with, one after the other. */
export function joinCorrectors(first: ChunkCorrector | undefined, second: ChunkCorrector | undefined) {
  if (!first || !second) return first ?? second;
  const joined: ChunkCorrector = {
    isLocal: first.isLocal === true && second.isLocal === true,
    concerns: (block) => first.concerns(block) || second.concerns(block),
    correct(chunk) {
      const corrected = first.correct(chunk);
      return corrected && second.correct(corrected);
    },
  };
  return joined;
}
