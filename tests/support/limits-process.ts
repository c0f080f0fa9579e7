// One of several processes that count in Redis: the arguments are its address, the key of the installation in hex, how many
// processes there are, and how many seeds they run. It prints what it was granted with each seed.

import process from "node:process";
import { Redis } from "ioredis";
import { book, claimOf, createLimit } from "../policies/store-conformance.ts";
import { createRandom } from "./gateway.ts";
import { startNode } from "./redis-store.ts";
import { createTestCounters } from "./stored-counters.ts";

const [url = "", key = "", processes = "1", seeds = "1"] = process.argv.slice(2);

const control = new Redis(url);
const bytes = Uint8Array.from(key.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
const { store } = await startNode({ url }, { key: bytes, stored: createTestCounters() });
const own = createRandom(process.pid);

/** Resolves when all processes are there. */
async function meet(name: string): Promise<void> {
  await control.incr(name);
  while (Number(await control.get(name)) < Number(processes)) await new Promise((resolve) => setTimeout(resolve, 1));
}

const wait = () => new Promise((resolve) => setTimeout(resolve, own() * 5));

for (let seed = 0; seed < Number(seeds); seed++) {
  const random = createRandom(seed);
  const requests = createLimit({ id: `requests-${seed}`, most: 100 });
  const cost = createLimit({ id: `cost-${seed}`, counts: "cost", most: 1_000 });
  const granted = { requests: 0, cost: 0 };
  await meet(`seed-${seed}`);
  const work = Array.from({ length: 200 }, async () => {
    const isFast = random() < 0.5;
    const [least, beyond] = [1 + Math.floor(random() * 20), Math.floor(random() * 50)];
    const [one, other] = [await book(store, claimOf(requests)), await book(store, claimOf(cost, least, beyond))];
    if (!isFast) await wait();
    if (one) granted.requests++;
    one?.settle({ requests: 1, tokens: 0, cost: 0 });
    // it uses all it asked for, also where less was left
    for (const { used } of other?.settle({ requests: 1, tokens: 0, cost: least + beyond }) ?? []) granted.cost += used;
  });
  await Promise.all(work);
  console.log(JSON.stringify({ seed, ...granted }));
}
await store.close();
control.disconnect();
