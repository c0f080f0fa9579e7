import assert from "node:assert/strict";
import { test } from "node:test";
import { toUnit, Vectors } from "../../src/cache/vectors.ts";
import { createRandom } from "../support/gateway.ts";
import { measureGap } from "../support/loop-gap.ts";
import { rounds, sample } from "../support/sample.ts";

type Random = () => number;
type Vector = Float32Array<ArrayBuffer>;

function unitOf(dimensions: number, at: (index: number) => number): Vector {
  const unit = toUnit(Float32Array.from({ length: dimensions }, (_, index) => at(index)));
  assert.ok(unit);
  return unit;
}

/** A vector in any direction. */
const anyVector = (dimensions: number, random: Random) => unitOf(dimensions, () => random() - 0.5 || 1e-9);

/** A vector around another one; the larger `spread`, the farther. */
const around = (centre: Vector, spread: number, random: Random) =>
  unitOf(centre.length, (index) => (centre[index] ?? 0) + (spread * (random() - 0.5)) / Math.sqrt(centre.length));

/** Ways in which the vectors of a partition lie, each from a few centres. */
const shapes: Readonly<Record<string, (centres: readonly Vector[], random: Random) => Vector>> = {
  unrelated: ([centre], random) => anyVector(centre?.length ?? 1, random),
  related: ([centre], random) => around(centre as Vector, 2.3, random),
  "close to the threshold": ([centre], random) => around(centre as Vector, 0.8, random),
  "almost equal": ([centre], random) => around(centre as Vector, 1e-4, random),
  "in groups": (centres, random) => around(centres[Math.floor(random() * centres.length)] as Vector, 1, random),
  "equal ones": (centres, random) => centres[Math.floor(random() * centres.length)] as Vector,
  "with few numbers": ([centre], random) => {
    const length = centre?.length ?? 1;
    const places = [Math.floor(random() * length), Math.floor(random() * length)];
    return unitOf(length, (index) => (places.includes(index) ? random() - 0.5 || 1 : 0));
  },
  "with numbers of one size": ([centre], random) => unitOf(centre?.length ?? 1, () => (random() < 0.5 ? -1 : 1)),
  "with one large number": ([centre], random) =>
    unitOf(centre?.length ?? 1, (index) => (index === 0 ? 1 : 1e-3 * (random() - 0.5))),
};

function cosineOf(one: Vector, other: Vector): number {
  let sum = 0;
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0);
  return sum;
}

/** The largest cosine of all, by comparing every vector. */
function largestCosine(all: Iterable<Vector>, wanted: Vector): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (const vector of all) largest = Math.max(largest, cosineOf(vector, wanted));
  return largest;
}

/** Sums in another order differ in their last digits. */
function assertNear(one: number | undefined, other: number | undefined, what: string): void {
  assert.ok(Math.abs((one ?? 9) - (other ?? 9)) < 1e-12, `${what}: ${one} and ${other}`);
}

const [now, later] = [1_000, 2_000];

async function compareWithAll(dimensions: number, shape: string, seed: number): Promise<void> {
  const random = createRandom(seed);
  const next = shapes[shape];
  assert.ok(next);
  const centres = Array.from({ length: 4 }, () => anyVector(dimensions, random));
  const vectors = new Vectors(dimensions, 1_000);
  const all = new Map<string, Vector>();
  const add = (key: string) => {
    const vector = next(centres, random);
    assert.ok(vectors.add(key, vector, later));
    all.set(key, vector);
  };
  for (let count = 0; count < 150; count++) add(`first ${count}`);
  for (let count = 0; count < 24; count++) {
    if (count % 3 === 0) {
      const removed = [...all.keys()][Math.floor(random() * all.size)] ?? "";
      vectors.remove(removed);
      all.delete(removed);
    }
    // a new one, or one that takes the place of another
    if (count % 6 === 0) add(count % 12 === 0 ? `second ${count}` : ([...all.keys()][count] ?? ""));
    const wanted: Vector = count % 4 === 0 ? anyVector(dimensions, random) : next(centres, random);
    // no threshold lies on a cosine, which sums in another order may pass or miss
    const least = count % 2 === 0 ? 0.95 : random() * 2 - 1;
    const largest = largestCosine(all.values(), wanted);
    const found = await vectors.nearest(wanted, least, now);
    const what = `${dimensions} dimensions, ${shape}, seed ${seed}, question ${count}`;
    assertNear(found?.similarity, largest >= least ? largest : undefined, what);
    if (found) assertNear(cosineOf(all.get(found.key) as Vector, wanted), largest, what);
  }
}

test("a search finds the same vector as comparing all of them", async () => {
  for (const dimensions of sample([1, 2, 3, 15, 16, 17, 100, 256, 1_536], 3)) {
    for (const shape of Object.keys(shapes)) await compareWithAll(dimensions, shape, dimensions);
  }
  for (let seed = 0; seed < rounds(50); seed++) await compareWithAll(24, "in groups", seed);
});

test("vectors that expired are not found, nor do they hide others", async () => {
  const random = createRandom(8);
  const centre = anyVector(64, random);
  const vectors = new Vectors(64, 1_000);
  const usable: Vector[] = [];
  for (let count = 0; count < 200; count++) {
    const vector = around(centre, 1, random);
    vectors.add(`key ${count}`, vector, count % 2 === 0 ? later : now);
    if (count % 2 === 0) usable.push(vector);
  }
  const found = await vectors.nearest(centre, 0, now);
  assertNear(found?.similarity, largestCosine(usable, centre), "expired ones are left out");
  vectors.removeExpired(later);
  assert.equal(await vectors.nearest(centre, 0, now), undefined);
});

test("vectors for which there is no room are not added, until others are removed", async () => {
  const random = createRandom(7);
  const vectors = new Vectors(16, 3);
  const given = Array.from({ length: 5 }, () => anyVector(16, random));
  const add = (index: number) => vectors.add(`key ${index}`, given[index] as Vector, later);
  assert.deepEqual([0, 1, 2, 3].map(add), [true, true, true, false]);
  assert.equal(add(1), true);
  vectors.remove("key 0");
  assert.deepEqual([4, 3].map(add), [true, false]);
  assert.equal((await vectors.nearest(given[4] as Vector, 0.99, now))?.key, "key 4");
  assert.equal(await vectors.nearest(given[0] as Vector, 0.99, now), undefined);
});

test("searches run beside each other, and while vectors come and go", async () => {
  const random = createRandom(9);
  const centre = anyVector(1_536, random);
  const vectors = new Vectors(1_536, 10_000);
  const all: Vector[] = [];
  const wanted = Array.from({ length: 6 }, () => around(centre, 2.3, random));
  // it is the nearest of the first question, and is found early
  vectors.add("gone", wanted[0] as Vector, later);
  // so many that every search has to wait for others
  for (let count = 0; count < 3_000; count++) {
    const vector = around(centre, 2.3, random);
    all.push(vector);
    vectors.add(`key ${count}`, vector, later);
  }
  const searches = wanted.map((vector) => vectors.nearest(vector, 0, now));
  // while the searches run
  vectors.remove("gone");
  vectors.add("other", anyVector(1_536, random), later);
  for (const [place, found] of (await Promise.all(searches)).entries()) {
    assertNear(found?.similarity, largestCosine(all, wanted[place] as Vector), `search ${place}`);
  }
});

test("eight searches at a time among 5,000 vectors block the event loop for less than 15 ms", async () => {
  const random = createRandom(10);
  const dimensions = 1_536;
  const noise = Float32Array.from({ length: 65_536 }, () => random() - 0.5);
  const next = (count: number) => unitOf(dimensions, (index) => noise[(index + count * 7_919) % noise.length] ?? 0);
  const vectors = new Vectors(dimensions, 5_000);
  for (let count = 0; count < 5_000; count++) vectors.add(`key ${count}`, next(count), later);
  const questions = Array.from({ length: 8 }, () => anyVector(dimensions, random));
  const search = () => Promise.all(questions.map((question) => vectors.nearest(question, 0.95, now)));
  const { gapMs } = await measureGap(search, 15);
  assert.ok(gapMs < 15, `${gapMs} ms`);
});
