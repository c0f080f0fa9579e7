// How much of a matrix or of random input a run covers: all of it in `npm run test:all` and for files that are named, a
// sample in `npm test`. The runner prints the seed of the sample.

/** Whether matrices and random tests run whole. */
export const isWhole = process.env.GATEWAY_TESTS !== "sampled";

/** Chooses the sample. */
export const sampleSeed = Number(process.env.GATEWAY_TEST_SEED ?? 1);

let drawn = 0;

/** The next number in [0, 1) that looks random, the same in each run with the seed (splitmix32). */
function nextFraction(): number {
  drawn++;
  let mixed = (sampleSeed + Math.imul(drawn, 0x9e3779b9)) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
}

/** About one in `share` items in their order, at least one; all of them in a whole run. */
export function sample<Item>(items: readonly Item[], share: number): readonly Item[] {
  if (isWhole) return items;
  const chosen = items.filter(() => nextFraction() < 1 / share);
  const index = Math.floor(nextFraction() * items.length);
  return chosen.length > 0 ? chosen : items.slice(index, index + 1);
}

/** How often a random test runs: a fifth of `count` unless it runs whole. */
export function rounds(count: number): number {
  return isWhole ? count : Math.ceil(count / 5);
}

/** Whether the long forms of the tests of several processes run: `npm run test:cluster`. */
export const isCluster = process.env.GATEWAY_TESTS === "cluster";
