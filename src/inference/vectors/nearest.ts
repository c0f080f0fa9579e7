import { cosineOf } from "../../cache/vectors.ts";
import type { BlockSeal } from "../../control/vector-stores/block-seal.ts";
import type { BlockPlace, VectorStoreStore } from "../../db/stores/vector-stores.ts";
import type { VectorStoreRow } from "../../db/tables/vector-stores.ts";
import { turns } from "../../lib/turns.ts";
import { blockChunks } from "./block-size.ts";

/** Sealed vectors in memory at a time, in bytes. */
const pageBytes = 4 * 2 ** 20;

/** A chunk that is near to a query. */
export interface NearChunk {
  readonly place: BlockPlace;
  /** Its number in the block. */
  readonly index: number;
  /** The cosine, from 0 to 1. */
  readonly score: number;
}

/** The best chunks so far, best first. */
class Best {
  readonly chunks: NearChunk[] = [];
  readonly #most: number;
  readonly #least: number;

  constructor(most: number, least: number) {
    this.#most = most;
    this.#least = least;
  }

  add(chunk: NearChunk): void {
    const { score } = chunk;
    if (score < this.#least) return;
    if (this.chunks.length >= this.#most && score <= (this.chunks.at(-1)?.score ?? 0)) return;
    const place = this.chunks.findIndex((one) => one.score < score);
    this.chunks.splice(place < 0 ? this.chunks.length : place, 0, chunk);
    if (this.chunks.length > this.#most) this.chunks.pop();
  }
}

/** What is searched, and where. */
interface Question {
  readonly queries: readonly Float32Array[];
  /** Files to search, as a JSON list. */
  readonly fileIds: string;
  readonly most: number;
  readonly least: number;
}

/** Compares the vectors of a block with the queries: the best of them counts. */
function compareBlock(place: BlockPlace, vectors: Float32Array, queries: readonly Float32Array[], best: Best): void {
  const length = queries[0]?.length ?? 1;
  for (let index = 0; (index + 1) * length <= vectors.length; index++) {
    let score = 0;
    for (const query of queries) score = Math.max(score, cosineOf(vectors, index * length, query));
    best.add({ place, index, score: Math.min(1, score) });
  }
}

/** The chunks of a store that are nearest to the queries, best first. Its vectors are read page by page, and never all. */
export async function findNearest(
  row: VectorStoreRow,
  { queries, fileIds, most, least }: Question,
  { store, seal }: { store: VectorStoreStore; seal: BlockSeal },
): Promise<readonly NearChunk[]> {
  const best = new Best(most, least);
  const length = queries[0]?.length ?? 1;
  const limit = Math.max(1, Math.floor(pageBytes / (blockChunks * length * 4)));
  let after: BlockPlace = { fileId: "", seq: -1 };
  for (;;) {
    const page = await store.vectors(row, fileIds, { after, limit });
    for (const { vectors: sealed, ...place } of page) {
      const vectors = await seal.openVectors(place, sealed);
      const startedAt = performance.now();
      compareBlock(place, vectors, queries, best);
      turns.spend(performance.now() - startedAt);
      if (turns.isOver) await turns.untilFree(() => false);
      after = place;
    }
    if (page.length < limit) return best.chunks;
  }
}
