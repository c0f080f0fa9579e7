import type { ToolOutcome } from "./mcp-tools.ts";

type Item = Readonly<Record<string, unknown>>;

/** A call of a function that the gateway runs: a block of the model. */
export interface UseBlock {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
}

/** One kind of tools that the gateway runs for a request of the Messages API. */
export interface MessagesKit {
  /** Whether it stands for an entry of `tools`. */
  serves(tool: Item): boolean;
  /** Finds its tools. @throws {GatewayError} For those that the caller cannot use. */
  open(): Promise<void>;
  /** The tools that models call. */
  functions(): readonly Item[];
  has(name: unknown): boolean;
  /** The outcomes of calls, in their order. */
  callAll(calls: readonly UseBlock[]): Promise<readonly ToolOutcome[]>;
  /** The blocks of a call and of its result, as clients get them. */
  toBlocks(call: UseBlock, outcome: ToolOutcome): readonly Item[];
  /** Citations of a text of the model. Absent: none. */
  cite?(text: string): readonly Item[];
  /** What it adds to the usage. Absent: nothing. */
  usage?(): Item | undefined;
}
