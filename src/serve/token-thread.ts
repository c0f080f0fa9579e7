import type { TokenCounter } from "../lib/token-count.ts";
import { Thread } from "./thread.ts";

/** A message to the thread: its reply is the number of tokens. */
export interface CountRequest {
  id: number;
  kind: "count";
  strings: readonly string[];
}

/** Loading the vocabulary takes half a second where the machine is busy. */
const maxCountMs = 10_000;

/**
 * Counts tokens on a separate thread: loading the vocabulary holds the thread, not the request loop. The thread starts
 * with the first count. If it ends, the next count starts a new one.
 */
export function createTokenThread(): { count: TokenCounter; close(): Promise<void> } {
  let thread: Thread<CountRequest> | undefined;
  return {
    async count(strings) {
      if (!thread || thread.ended) thread = new Thread("token-worker");
      const { promise: late, reject } = Promise.withResolvers<never>();
      const timer = setTimeout(() => reject(new Error("Cannot count tokens: the thread takes too long")), maxCountMs);
      return Promise.race([thread.ask({ kind: "count", strings }), late]).finally(() => clearTimeout(timer));
    },
    close: async () => thread?.end(),
  };
}
