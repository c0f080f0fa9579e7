import assert from "node:assert/strict";
import { test } from "node:test";
import { dotModule } from "../../src/cache/dot-code.ts";
import { createDotKernel, createPlainKernel, type DotKernel } from "../../src/cache/dot-kernel.ts";
import { toUnit } from "../../src/cache/vector-codes.ts";
import { PackedVectors } from "../../src/cache/vector-scan.ts";
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

/** The largest cosine of all, by comparing every vector. */
function largestCosine(all: ReadonlyMap<number, Vector>, wanted: Vector): number {
  let largest = Number.NEGATIVE_INFINITY;
  for (const vector of all.values()) largest = Math.max(largest, cosineOf(vector, wanted));
  return largest;
}

function cosineOf(one: Vector, other: Vector): number {
  let sum = 0;
  for (let index = 0; index < one.length; index++) sum += (one[index] ?? 0) * (other[index] ?? 0);
  return sum;
}

async function compareWithAll(kernel: DotKernel, dimensions: number, shape: string, seed: number): Promise<void> {
  const random = createRandom(seed);
  const next = shapes[shape];
  assert.ok(next);
  const centres = Array.from({ length: 4 }, () => anyVector(dimensions, random));
  const packed = new PackedVectors(dimensions, kernel);
  const all = new Map<number, Vector>();
  const add = () => {
    const vector = next(centres, random);
    const index = packed.add(vector);
    assert.ok(!all.has(index), "the place was free");
    all.set(index, vector);
  };
  for (let count = 0; count < 150; count++) add();
  for (let count = 0; count < 24; count++) {
    if (count % 3 === 0) {
      const removed = [...all.keys()][Math.floor(random() * all.size)] ?? 0;
      packed.remove(removed);
      all.delete(removed);
    }
    if (count % 6 === 0) add();
    const wanted: Vector = count % 4 === 0 ? anyVector(dimensions, random) : next(centres, random);
    const least = count % 2 === 0 ? 0.95 : random() * 2 - 1;
    const largest = largestCosine(all, wanted);
    const found = await packed.nearest(wanted, least, () => true);
    const what = `${dimensions} dimensions, ${shape}, seed ${seed}, question ${count}`;
    assert.equal(found?.similarity, largest >= least ? largest : undefined, what);
    if (found) assert.equal(cosineOf(all.get(found.index) as Vector, wanted), largest, what);
  }
  assert.equal(packed.count, all.size);
}

const kernels = { WebAssembly: createDotKernel(), JavaScript: createPlainKernel() };

for (const [language, kernel] of Object.entries(kernels)) {
  test(`a search finds the same vector as comparing all of them, in ${language}`, async () => {
    for (const dimensions of sample([1, 2, 3, 15, 16, 17, 100, 256, 1_536], 3)) {
      for (const shape of Object.keys(shapes)) await compareWithAll(kernel, dimensions, shape, dimensions);
    }
    for (let seed = 0; seed < rounds(50); seed++) await compareWithAll(kernel, 24, "in groups", seed);
  });

  test(`sums of the largest codes fit into 32 bits, in ${language}`, async () => {
    const dimensions = 16_384;
    const flat = unitOf(dimensions, () => 1);
    const packed = new PackedVectors(dimensions, kernel);
    for (const vector of [unitOf(dimensions, () => -1), flat]) packed.add(vector);
    const found = await packed.nearest(flat, 0.95, () => true);
    assert.deepEqual(found, { index: 1, similarity: cosineOf(flat, flat) });
  });
}

test("both kernels give the same sums", () => {
  assert.ok(WebAssembly.validate(dotModule(3)), "the runtime can run the fast one");
  const random = createRandom(3);
  for (const width of [16, 256, 1_536, 16_384]) {
    const query = Int16Array.from({ length: width }, () => Math.floor(random() * 2_000 - 1_000));
    const codes = Int8Array.from({ length: 8 * width }, () => Math.floor(random() * 255 - 127));
    const sums = Object.values(kernels).map((kernel) => {
      kernel.load(query);
      return [kernel.dots(codes.subarray(0, width))[0], ...kernel.dots(codes)];
    });
    assert.deepEqual(sums[0], sums[1]);
  }
});

test("vectors that do not count are not found, nor do they hide others", async () => {
  const random = createRandom(8);
  const centre = anyVector(64, random);
  const packed = new PackedVectors(64, kernels.WebAssembly);
  const usable = new Map<number, Vector>();
  for (let count = 0; count < 200; count++) {
    const vector = around(centre, 1, random);
    const index = packed.add(vector);
    if (count % 2 === 0) usable.set(index, vector);
  }
  const found = await packed.nearest(centre, 0, (index) => usable.has(index));
  assert.equal(found?.similarity, largestCosine(usable, centre));
});

test("searches run beside each other, and while vectors come and go", async () => {
  const random = createRandom(9);
  const centre = anyVector(1_536, random);
  const packed = new PackedVectors(1_536, kernels.WebAssembly);
  const all = new Map<number, Vector>();
  for (let count = 0; count < rounds(4_000); count++) {
    const vector = around(centre, 2.3, random);
    all.set(packed.add(vector), vector);
  }
  const wanted = Array.from({ length: 6 }, () => around(centre, 2.3, random));
  const gone = packed.add(wanted[0] as Vector);
  const searches = wanted.map((vector) => packed.nearest(vector, 0, (index) => index !== gone));
  // while the searches run
  await new Promise((resolve) => setTimeout(resolve, 0));
  packed.remove(gone);
  packed.add(anyVector(1_536, random));
  for (const [place, found] of (await Promise.all(searches)).entries()) {
    assert.equal(found?.similarity, largestCosine(all, wanted[place] as Vector), `search ${place}`);
  }
});

for (const [what, spread] of [
  ["related", 2.3],
  ["at the threshold", 0.75],
] as const) {
  test(`10,000 vectors of 1,536 dimensions, ${what}: a search blocks the event loop for less than 10 ms`, async () => {
    const random = createRandom(10);
    const centre = anyVector(1_536, random);
    const noise = Float32Array.from({ length: 65_536 }, () => (spread * (random() - 0.5)) / Math.sqrt(1_536));
    const next = (count: number) =>
      unitOf(1_536, (index) => (centre[index] ?? 0) + (noise[(index + count * 7_919) % noise.length] ?? 0));
    const packed = new PackedVectors(1_536, kernels.WebAssembly);
    for (let count = 0; count < 10_000; count++) packed.add(next(count));
    const { gapMs } = await measureGap(() => packed.nearest(around(centre, spread, random), 0.95, () => true), 10);
    assert.ok(gapMs < 10, `${gapMs} ms`);
  });
}
