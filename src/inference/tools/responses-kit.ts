import type { MarkCutter } from "./file-marks.ts";
import type { ToolOutcome } from "./mcp-tools.ts";

type Item = Readonly<Record<string, unknown>>;

/** A call of a function that the gateway runs. */
export interface OwnCall {
  /** Id of its item in the response. */
  readonly id: string;
  readonly name: string;
  /** Its arguments, as JSON text and as a value. */
  readonly text: string;
  readonly given: unknown;
}

/** One kind of tools that the gateway runs for a request of the Responses API. */
export interface ResponsesKit {
  /** What ids of its calls begin with. */
  readonly prefix: string;
  /** What names of `include` for its calls begin with. Absent: it has none. */
  readonly included?: string;
  /** Whether it stands for an entry of `tools`. */
  serves(tool: Item): boolean;
  /** Finds its tools; the items, without ids, that list them in the response. */
  open(): Promise<readonly Item[]>;
  /** The functions that models call. */
  functions(): readonly Item[];
  has(name: unknown): boolean;
  /** A choice of one of its tools, as the choice of a function; undefined for choices of others. */
  toChoice(choice: Item): unknown;
  /** The outcomes of calls, in their order. */
  callAll(calls: readonly OwnCall[]): Promise<readonly ToolOutcome[]>;
  /** A call as its item; without an outcome while it runs. */
  toItem(call: OwnCall, outcome: ToolOutcome | undefined): Item;
  /** The item as clients get it. Absent: unchanged. */
  toShown?(item: Item): Item;
  /** Events of a call that begins, and of one that ended. */
  toBegun(item: Item, output_index: number): readonly Item[];
  toEnded(item: Item, output_index: number): readonly Item[];
  /** A call of an earlier response as a call of a function; undefined for those of others. Absent: `toPlainItems` does it. */
  toPlain?(item: Item): Item[] | undefined;
  /** Annotations of a text of the model. Absent: none. */
  annotate?(text: string): readonly Item[];
  /** What takes the marks of citations out of a text; undefined or absent: it has none. */
  cutter?(): MarkCutter | undefined;
}
