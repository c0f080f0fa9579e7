import type { CacheEntry, CachePlace } from "../../cache/entry.ts";
import type { Partition } from "../../cache/vector-index.ts";
import type { CallerContext } from "../../context.ts";
import { type Embedder, embed, embedderOf } from "./embedding.ts";
import { type CallOfTarget, keyPartsOf } from "./key-parts.ts";
import { type Question, readQuestion } from "./question.ts";

/** A search among similar questions: made for one call. */
export class SemanticSearch {
  readonly #question: Question;
  readonly #embedder: Embedder;
  readonly #partition: Partition;
  readonly #context: CallerContext;
  #vector: Float32Array | undefined;

  constructor(question: Question, embedder: Embedder, partition: Partition, context: CallerContext) {
    this.#question = question;
    this.#embedder = embedder;
    this.#partition = partition;
    this.#context = context;
  }

  /** Makes the embedding of the question. False, with the reason in the log, where that fails. */
  async prepare(): Promise<boolean> {
    const made = await embed(this.#question.text, this.#embedder, this.#context);
    if (made instanceof Float32Array) {
      this.#vector = made;
      return true;
    }
    this.#context.log.cacheProblem = made.problem;
    return false;
  }

  /** The response to the most similar question; undefined where none is similar enough, or the database fails. */
  async find(maxAgeMs: number): Promise<CacheEntry | undefined> {
    const { cache } = this.#context.services;
    if (!this.#vector) return undefined;
    try {
      const found = await cache.questions.nearest(this.#partition, this.#vector, this.#embedder.threshold);
      if (!found) return undefined;
      const entry = await cache.find(this.#partition.place, found.key, Number.POSITIVE_INFINITY);
      if (!entry) await this.remove(found.key);
      return entry && cache.isFresh(entry, maxAgeMs) ? entry : undefined;
    } catch {
      this.#context.log.cacheProblem = "similar questions could not be read";
      return undefined;
    }
  }

  /** Adds the question of a response that was stored. */
  add({ key, storedAt, expiresAt }: CacheEntry): void {
    if (!this.#vector) return;
    const { questions } = this.#context.services.cache;
    // the response is served by its key all the same
    questions.add(this.#partition, { key, vector: this.#vector, storedAt, expiresAt }).catch(() => {});
  }

  /** Removes the question of a response. */
  async remove(key: string): Promise<void> {
    await this.#context.services.cache.questions.remove(this.#partition, key).catch(() => {});
  }
}

/**
 * The search of a call; undefined where its question is not one, which makes its cache a simple one. A string says why
 * there is no search though there could be one.
 */
export async function openSemanticSearch(
  call: CallOfTarget,
  request: object,
  { place, namespace, context }: { place: CachePlace; namespace: string | null; context: CallerContext },
): Promise<SemanticSearch | string | undefined> {
  const { cache, semantic } = context.services;
  // schemas make requests objects
  const question = readQuestion(call.operation, request as Readonly<Record<string, unknown>>);
  if (!question) return undefined;
  const embedder = embedderOf(call.view, semantic);
  if (!embedder) return "no provider makes embeddings: set semantic_cache or SEMANTIC_CACHE_PROVIDER";
  const { target, ...rest } = keyPartsOf(call, question.rest, { namespace, context });
  const { provider, model, dimensions } = embedder;
  const name = await cache.partitionOf(place, { ...rest, target: [...target, provider, model, dimensions ?? null] });
  if (name === undefined) return undefined;
  return new SemanticSearch(question, embedder, { place, name }, context);
}
