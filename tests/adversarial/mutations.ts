import { mutateJson } from "./json-mutations.ts";

/** Numbers that look random, the same for a seed (splitmix32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  }

  below(most: number): number {
    return Math.floor(this.next() * most);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item; // lists here have items
  }
}

/** What inputs are made of. */
export interface Grammar {
  /** Inputs that are valid, or nearly. */
  readonly seeds: readonly Uint8Array[];
  /** Delimiters and the like. */
  readonly tokens: readonly Uint8Array[];
  /** The bound of an input. */
  readonly maxBytes: number;
  /** The seeds are JSON: half of the inputs are too. */
  readonly isJson?: true;
}

function join(...pieces: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    joined.set(piece, at);
    at += piece.length;
  }
  return joined;
}

function repeat(piece: Uint8Array, length: number): Uint8Array {
  if (piece.length === 0) return piece;
  const repeated = new Uint8Array(Math.ceil(length / piece.length) * piece.length);
  for (let at = 0; at < repeated.length; at += piece.length) repeated.set(piece, at);
  return repeated;
}

const edges = [0x00, 0x7f, 0x80, 0xff, 0x22, 0x5c, 0x0a, 0x0d];

type Mutation = (bytes: Uint8Array, random: Random, grammar: Grammar) => Uint8Array;

/** A place in the bytes, and one behind it. */
function rangeIn(bytes: Uint8Array, random: Random): [number, number] {
  const start = random.below(bytes.length + 1);
  return [start, Math.min(bytes.length, start + random.below(64))];
}

const mutations: readonly Mutation[] = [
  (bytes, random) => {
    const changed = bytes.slice();
    if (changed.length > 0) changed[random.below(changed.length)] = random.pick(edges);
    return changed;
  },
  (bytes, random) => {
    const changed = bytes.slice();
    const at = random.below(changed.length || 1);
    if (changed.length > 0) changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
    return changed;
  },
  (bytes, random) => {
    const [start, end] = rangeIn(bytes, random);
    return join(bytes.subarray(0, start), bytes.subarray(end));
  },
  (bytes, random) => {
    const [start, end] = rangeIn(bytes, random);
    return join(bytes.subarray(0, end), bytes.subarray(start));
  },
  (bytes, random, { tokens }) => {
    const [start, end] = rangeIn(bytes, random);
    return join(bytes.subarray(0, start), random.pick(tokens), bytes.subarray(random.next() < 0.5 ? start : end));
  },
  (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1)),
  (bytes, random, { seeds }) => {
    const other = random.pick(seeds);
    return join(bytes.subarray(0, random.below(bytes.length + 1)), other.subarray(random.below(other.length + 1)));
  },
];

/** Grows an input: a part of it, or pieces of the grammar, again and again, between its beginning and its end. */
function grow(bytes: Uint8Array, random: Random, { tokens, maxBytes }: Grammar): Uint8Array {
  const length = Math.floor(maxBytes ** (0.6 + 0.4 * random.next()));
  const [start, end] = rangeIn(bytes, random);
  const one = random.next();
  const piece = one < 0.4 ? bytes.subarray(start, end) : one < 0.7 ? bytes : random.pick(tokens);
  const other = random.next() < 0.5 ? random.pick(tokens) : new Uint8Array(0);
  const grown = join(bytes.subarray(0, start), repeat(join(piece, other), length), bytes.subarray(start));
  return grown.subarray(0, maxBytes);
}

/** One input in so many is grown. */
const grownShare = 20;

/** An input made of the seeds; the same for a number. */
export function makeInput(grammar: Grammar, seed: number): Uint8Array {
  const random = new Random(Math.imul(seed, 0x9e3779b1));
  if (grammar.isJson && random.next() < 0.5) {
    const text = new TextDecoder().decode(random.pick(grammar.seeds));
    return new TextEncoder().encode(mutateJson(text, random, grammar.maxBytes)).subarray(0, grammar.maxBytes);
  }
  const isGrown = seed % grownShare === 0;
  let bytes = random.pick(grammar.seeds);
  // half of the grown inputs are long without being broken
  const most = isGrown && random.next() < 0.5 ? 0 : 1 + random.below(6);
  for (let count = 0; count < most; count++) bytes = random.pick(mutations)(bytes, random, grammar);
  return isGrown ? grow(bytes, random, grammar) : bytes.subarray(0, grammar.maxBytes);
}
