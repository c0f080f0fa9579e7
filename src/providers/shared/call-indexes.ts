import { ArgumentsWatch } from "../../lib/arguments-watch.ts";
import { isObject, nonEmptyString } from "../../lib/json.ts";

type Call = Readonly<Record<string, unknown>>;

/** A call of a stream: what it has sent so far. */
interface OpenCall {
  id: string | undefined;
  readonly arguments: ArgumentsWatch;
}

const argumentsOf = ({ function: named }: Call): string =>
  isObject(named) && typeof named.arguments === "string" ? named.arguments : "";

const nameOf = ({ function: named }: Call): string | undefined =>
  isObject(named) ? nonEmptyString(named.name) : undefined;

/** A call with a string in place of arguments that are null: clients add them to a string. */
function withStringArguments(call: Call): Call {
  const { function: named } = call;
  return isObject(named) && named.arguments === null ? { ...call, function: { ...named, arguments: "" } } : call;
}

/**
 * Numbers the tool calls of one streamed choice. Some hosts give every call the index 0, or none: a new id under a known index,
 * or a new name after complete arguments, begins another call (https://github.com/ollama/ollama/blob/main/docs/openai.md,
 * https://ai.google.dev/gemini-api/docs/openai).
 */
export class CallIndexes {
  readonly #calls: OpenCall[] = [];
  /** The first call of each id. */
  readonly #byId = new Map<string, number>();
  /** The newest call of each of the host's indexes. */
  readonly #newest = new Map<unknown, number>();

  /** How many calls have begun. */
  get count(): number {
    return this.#calls.length;
  }

  /** The index of a call or of more of its arguments. */
  indexOf(call: Call): number {
    const id = nonEmptyString(call.id);
    const known = this.#find(call, id);
    const index = known ?? this.#calls.length;
    const open = this.#calls[index] ?? { id, arguments: new ArgumentsWatch() };
    open.id ??= id;
    if (open.id !== undefined && !this.#byId.has(open.id)) this.#byId.set(open.id, index);
    open.arguments.add(argumentsOf(call));
    this.#calls[index] = open;
    this.#newest.set(call.index ?? undefined, index);
    return index;
  }

  /** Calls of a delta with their indexes and arguments as strings; the same list where the host's are right. */
  settle(calls: readonly unknown[]): readonly unknown[] {
    let isSame = true;
    const settled = calls.map((given) => {
      if (!isObject(given)) return given;
      const call = withStringArguments(given);
      const index = this.indexOf(call);
      if (call.index === index && call === given) return call;
      isSame = false;
      return { ...call, index };
    });
    return isSame ? calls : settled;
  }

  /** The open call that a delta belongs to; undefined for one that begins a call. */
  #find(call: Call, id: string | undefined): number | undefined {
    const hasIndex = typeof call.index === "number";
    const index = hasIndex ? this.#newest.get(call.index) : this.#calls.length - 1;
    const open = index === undefined ? undefined : this.#calls[index];
    if (index === undefined || !open) return undefined;
    if (id !== undefined && open.id !== undefined) {
      if (id === open.id) return index;
      return this.#byId.get(id);
    }
    const begins = nameOf(call) !== undefined && open.arguments.isWhole();
    return begins ? undefined : index;
  }
}
