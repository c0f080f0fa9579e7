// Simulates limits and the volume of the log for many nodes at a high rate, without a network. It prints the table of
// docs/scaling.md ("Many nodes"), which says what it assumes.
// Usage: node scripts/run.mjs bun bench/cluster-model.ts [--nodes 100] [--rate 100000] [--seconds 60] [--seed 1]

import { parseArgs } from "node:util";
import { createRandom } from "../tests/support/gateway.ts";

const { values } = parseArgs({
  options: {
    nodes: { type: "string", default: "100" },
    rate: { type: "string", default: "100000" },
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
  },
});
const nodes = Number(values.nodes);
const rate = Number(values.rate);
const seconds = Number(values.seconds);

/** Keys, each with one limit on requests in a window of `seconds`. The n-th asks for a share in proportion to 1/n. */
const keys = 10_000;
/** The limit of a key as a part of what it asks for: half of the keys ask for more than they may. */
const limitParts = { least: 0.5, most: 1.5 };
/** Way to the database and back, and least time between two contacts of a node for a limit that had nothing free. */
const [contactMs, pauseMs] = [5, 200];
/** A lease without requests is given back after so long. */
const idleMs = 20_000;
/** When Redis is lost, in parts of the window, and how old what a node heard of a limit is that it uses seldom. */
const lostAt = 0.5;
/** Rows go to the database after so long, or once there are so many. */
const [flushMs, batchRows] = [250, 1_024];
const rowBytes = { least: 900, most: 1_800 };

/** Sums of the shares of the keys, for a choice by a number in [0, 1). */
const sums = new Float64Array(keys);
let total = 0;
for (let key = 0; key < keys; key++) {
  total += 1 / (key + 1);
  sums[key] = total;
}

function chooseKey(random: () => number): number {
  const wanted = random() * total;
  let [low, high] = [0, keys - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sums[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Limits of the keys, the same for each way of counting. */
function createLimits(): Float64Array {
  const random = createRandom(Number(values.seed));
  const limits = new Float64Array(keys);
  for (let key = 0; key < keys; key++) {
    const part = limitParts.least + random() * (limitParts.most - limitParts.least);
    limits[key] = Math.max(1, Math.round((part * rate * seconds) / (key + 1) / total));
  }
  return limits;
}

/** Calls `take` for each request: its key, its node and its time in milliseconds. */
function forEachRequest(take: (key: number, node: number, at: number) => void): void {
  const random = createRandom(Number(values.seed) + 1);
  const count = rate * seconds;
  for (let request = 0; request < count; request++) {
    take(chooseKey(random), Math.floor(random() * nodes), (request * 1_000) / rate);
  }
}

const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(2)} %`;
const limits = createLimits();

/** How many requests of each key an exact counter admits, and in all. */
function countExact(): { admitted: Float64Array; sum: number } {
  const admitted = new Float64Array(keys);
  let sum = 0;
  forEachRequest((key) => {
    if ((admitted[key] ?? 0) >= (limits[key] ?? 0)) return;
    admitted[key] = (admitted[key] ?? 0) + 1;
    sum++;
  });
  return { admitted, sum };
}

/** Leases of a quarter of what is left for all nodes together, as through the database. */
function simulateLeases() {
  const free = Float64Array.from(limits);
  const left = new Float64Array(keys * nodes);
  const usedAt = new Float64Array(keys * nodes).fill(Number.NEGATIVE_INFINITY);
  const askFrom = new Float64Array(keys * nodes);
  /** Until when a contact of a node is under way, which others of the node then join. */
  const contactUntil = new Float64Array(nodes);
  let [sum, refused, asked, contacts] = [0, 0, 0, 0];
  const giveBack = (key: number, at: number) => {
    for (let node = 0; node < nodes; node++) {
      const place = key * nodes + node;
      if (at - (usedAt[place] ?? 0) < idleMs) continue;
      free[key] = (free[key] ?? 0) + (left[place] ?? 0);
      left[place] = 0;
    }
  };
  forEachRequest((key, node, at) => {
    const place = key * nodes + node;
    if ((left[place] ?? 0) < 1 && at >= (askFrom[place] ?? 0)) {
      asked++;
      if (at >= (contactUntil[node] ?? 0)) {
        contacts++;
        contactUntil[node] = at + contactMs;
      }
      if ((free[key] ?? 0) < 1) giveBack(key, at);
      const granted = Math.min(free[key] ?? 0, Math.max(1, Math.ceil((free[key] ?? 0) / (4 * nodes))));
      free[key] = (free[key] ?? 0) - granted;
      left[place] = granted;
      if (granted === 0) askFrom[place] = at + pauseMs;
    }
    usedAt[place] = at;
    if ((left[place] ?? 0) < 1) {
      refused++;
      return;
    }
    left[place] = (left[place] ?? 0) - 1;
    sum++;
  });
  return { sum, refused, asked, contacts };
}

/** One counter for all until Redis is lost, then an equal share of what was left for each node, as it heard last. */
function simulateLostRedis() {
  const used = new Float64Array(keys);
  const admitted = new Float64Array(keys);
  const heard = new Float64Array(keys * nodes);
  const local = new Float64Array(keys * nodes);
  const lostMs = lostAt * seconds * 1_000;
  forEachRequest((key, node, at) => {
    const place = key * nodes + node;
    const limit = limits[key] ?? 0;
    if (at < lostMs) {
      if ((used[key] ?? 0) < limit) {
        used[key] = (used[key] ?? 0) + 1;
        admitted[key] = (admitted[key] ?? 0) + 1;
      }
      heard[place] = used[key] ?? 0;
      return;
    }
    const share = Math.floor((limit - (heard[place] ?? 0)) / nodes);
    if ((local[place] ?? 0) >= share) return;
    local[place] = (local[place] ?? 0) + 1;
    admitted[key] = (admitted[key] ?? 0) + 1;
  });
  let [over, worst, sum, overrun] = [0, 0, 0, 0];
  for (let key = 0; key < keys; key++) {
    const beyond = (admitted[key] ?? 0) - (limits[key] ?? 0);
    sum += admitted[key] ?? 0;
    if (beyond <= 0) continue;
    over++;
    overrun += beyond;
    worst = Math.max(worst, beyond / (limits[key] ?? 1));
  }
  return { over, worst, sum, overrun };
}

const exact = countExact();
const leases = simulateLeases();
const lost = simulateLostRedis();
const rowsOfNode = rate / nodes;
const writes = nodes * Math.max(1_000 / flushMs, rowsOfNode / batchRows);
const bytes = [rowBytes.least, rowBytes.most].map((size) => size * rate);
const terabytes = bytes.map((one) => ((one * 86_400) / 1e12).toFixed(1)).join(" to ");
const megabytes = bytes.map((one) => Math.round(one / 1e6)).join(" to ");

const whole = (count: number) => Math.round(count).toLocaleString("en");
const table: readonly [string, string][] = [
  ["requests that exact counters admit", `${percent(exact.sum, rate * seconds)} of ${whole(rate * seconds)}`],
  ["Redis: scripts in a second, a reservation and a settlement for each request", whole(2 * rate)],
  [
    "Redis is lost in the middle of the window: limits that are overrun",
    `${percent(lost.over, keys)} of ${whole(keys)}`,
  ],
  ["the same: requests beyond the limits", percent(lost.overrun, exact.sum)],
  ["the same: the worst limit, beyond itself", percent(lost.worst, 1)],
  ["the same: admitted, of what exact counters admit", percent(lost.sum, exact.sum)],
  ["leases: beyond the limits", "0"],
  ["leases: admitted, of what exact counters admit", percent(leases.sum, exact.sum)],
  ["leases: requests that wait for the database", percent(leases.asked, rate * seconds)],
  ["leases: transactions in a second", whole(leases.contacts / seconds)],
  ["log: rows in a second of a node, of all", `${whole(rowsOfNode)}, ${whole(rate)}`],
  ["log: transactions in a second", whole(writes)],
  ["log: MB in a second, with headers and bodies", megabytes],
  ["log: TB in a day, with headers and bodies", terabytes],
];
console.log(`${nodes} nodes, ${whole(rate)} requests in a second for ${seconds} seconds, seed ${values.seed}\n`);
console.log("| figure | value |\n|---|---|");
for (const [name, value] of table) console.log(`| ${name} | ${value} |`);
