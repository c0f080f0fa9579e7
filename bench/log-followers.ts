import { keys, wait } from "./processes.ts";

const headers = {
  "x-gateway-api-key": keys.workspace,
  "x-gateway-provider": "echo",
  "content-type": "application/json",
};
const body = JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Say hello" }] });

/** A small chat that needs no upstream. */
export const echoChat = { headers, body };

/** Longest time until a row is at its followers. */
const patienceMs = 15_000;

/** One who follows the log, and how often it got each marked row, by its trace. */
interface Follower {
  readonly seen: ReadonlyMap<string, number>;
  close(): void;
}

/** What followers wait for, the marked rows: half of them by the same filter, the others by one each. */
const queryOf = (index: number): string =>
  index % 2 === 0
    ? "metadata.mark=yes"
    : `metadata.mark=yes&status=200&model=echo-1&operation=chat&stream=false&provider=echo&from=${new Date(index).toISOString()}`;

async function follow(url: string, query: string): Promise<Follower> {
  const leaving = new AbortController();
  const response = await fetch(`${url}/v1/logs/tail?${query}`, { headers, signal: leaving.signal });
  if (!response.ok || !response.body) throw new Error(`Cannot follow: ${response.status} ${await response.text()}`);
  const seen = new Map<string, number>();
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stream) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) {
        const trace = /"trace_id":"(marked-[^"]*)"/.exec(block)?.[1];
        if (trace !== undefined) seen.set(trace, (seen.get(trace) ?? 0) + 1);
      }
    }
  };
  read(response.body).catch(() => {});
  return { seen, close: () => leaving.abort() };
}

/** Followers of the log of one workspace. */
export class Followers {
  readonly #all: readonly Follower[];

  private constructor(all: readonly Follower[]) {
    this.#all = all;
  }

  static async connect(url: string, count: number): Promise<Followers> {
    return new Followers(await Promise.all(Array.from({ length: count }, (_, index) => follow(url, queryOf(index)))));
  }

  /** Waits until all of them have some rows, but not for ever. */
  async untilSeen(traces: readonly string[]): Promise<void> {
    const deadline = performance.now() + patienceMs;
    while (this.#all.some(({ seen }) => !traces.every((trace) => seen.has(trace)))) {
      if (performance.now() > deadline) return;
      await wait(10);
    }
  }

  /** How many rows did not come, and how many came more than once. */
  count(traces: readonly string[]): { lost: number; doubled: number } {
    let [lost, doubled] = [0, 0];
    for (const { seen } of this.#all) {
      lost += traces.filter((trace) => !seen.has(trace)).length;
      doubled += [...seen.values()].filter((times) => times > 1).length;
    }
    return { lost, doubled };
  }

  close(): void {
    for (const follower of this.#all) follower.close();
  }
}

/** Sends a chat whose row the followers wait for. */
export async function sendMarked(url: string, trace: string): Promise<void> {
  const marks = { "x-gateway-trace-id": trace, "x-gateway-metadata": '{"mark":"yes"}' };
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...headers, ...marks },
    body,
  });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`Cannot send a marked chat: ${response.status}`);
}
