// Measures what followers of the log cost under full load, and counts whether they lose rows. Rounds with and without
// followers alternate; each follower waits for rows that are marked.
// Usage: node scripts/run.mjs bun bench/log-tail.ts [--followers 50] [--rounds 4] [--seconds 6]

import { parseArgs } from "node:util";
import { cpuMicroseconds, mean } from "./measure.ts";
import { cleanUp, createFolder, keys, startGateway, wait } from "./processes.ts";
import { judge } from "./verdict.ts";
import { countFailures, ensureWrk, runWrk, writeWrkScript } from "./wrk.ts";

const { values } = parseArgs({
  options: {
    followers: { type: "string", default: "50" },
    rounds: { type: "string", default: "4" },
    seconds: { type: "string", default: "6" },
  },
});
const [followers, rounds, seconds] = [values.followers, values.rounds, values.seconds].map(Number) as [
  number,
  number,
  number,
];
/** Marked requests in a second. */
const markedPerSecond = 5;

const headers = {
  "x-gateway-api-key": keys.workspace,
  "x-gateway-provider": "echo",
  "content-type": "application/json",
};
const body = JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Say hello" }] });

/** Counts the rows of one follower by their trace. */
async function follow(url: string, query: string): Promise<{ seen: Map<string, number>; close(): void }> {
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

/** Sends marked requests until it is stopped; returns their traces. */
function sendMarked(url: string, round: number): { stop(): Promise<string[]> } {
  const sent: string[] = [];
  let isStopped = false;
  const run = async () => {
    while (!isStopped) {
      const trace = `marked-${round}-${sent.length}`;
      const marks = { "x-gateway-trace-id": trace, "x-gateway-metadata": '{"mark":"yes"}' };
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { ...headers, ...marks },
        body,
      });
      await response.text();
      sent.push(trace);
      await wait(1_000 / markedPerSecond);
    }
  };
  const running = run();
  return {
    async stop() {
      isStopped = true;
      await running;
      return sent;
    },
  };
}

ensureWrk();
const folder = createFolder("log-tail");
const gateway = await startGateway("bun");
const url = `http://127.0.0.1:${gateway.port}`;
const target = { url: `${url}/v1/chat/completions`, connections: 32, headers, body };
const script = writeWrkScript(folder, "chat", target);
await runWrk(target, script, 3);

const costs: Record<"with" | "without", number[]> = { with: [], without: [] };
let [lost, doubled, marked] = [0, 0, 0];
for (let round = 0; round < rounds * 2; round++) {
  const kind = round % 2 === 0 ? "without" : "with";
  const queries = Array.from({ length: kind === "with" ? followers : 0 }, (_, index) =>
    index % 2 === 0
      ? "metadata.mark=yes"
      : `metadata.mark=yes&status=200&model=echo-1&operation=chat&stream=false&provider=echo`,
  );
  const readers = await Promise.all(queries.map((query) => follow(url, query)));
  const before = cpuMicroseconds(gateway.pid);
  const sender = sendMarked(url, round);
  const result = await runWrk(target, script, seconds);
  const sent = await sender.stop();
  costs[kind].push((cpuMicroseconds(gateway.pid) - before) / result.requests);
  const deadline = Date.now() + 15_000;
  while (readers.some(({ seen }) => !sent.every((trace) => seen.has(trace))) && Date.now() < deadline) await wait(50);
  marked += sent.length * readers.length;
  for (const { seen, close } of readers) {
    lost += sent.filter((trace) => !seen.has(trace)).length;
    doubled += [...seen.values()].filter((count) => count > 1).length;
    close();
  }
  console.log(
    `${kind.padEnd(8)} ${Math.round(result.requestsPerSecond)} requests/s, ${costs[kind].at(-1)?.toFixed(1)} us of CPU each, ${countFailures(result)} failures`,
  );
}
const [plain, followed] = [mean(costs.without), mean(costs.with)];
console.log(`${followers} followers, ${marked} rows for them`);
judge({ line: "rows lost for followers", figure: lost, most: 0, unit: "rows" });
judge({ line: "rows sent twice", figure: doubled, most: 0, unit: "rows" });
judge({ line: "CPU of followers for each request", figure: 100 * (followed / plain - 1), most: 5, unit: "%" });
await gateway.stop();
cleanUp();
process.exit();
