import { isObject, objectsIn } from "../lib/json.ts";

type Members = Record<string, unknown>;

/** Most searches of one response. */
const maxQueries = 1_000;

/** From this generation of the models on each search is charged, before it each response that has results. */
const chargesQueries = 3;

/** Whether each search of a model is charged. Names without a generation stand for the latest one. */
function paysForQueries(model: unknown): boolean {
  const generation = typeof model === "string" ? /gemini-(\d{1,3})/.exec(model)?.[1] : undefined;
  return generation === undefined || Number(generation) >= chargesQueries;
}

/**
 * What a Gemini response was grounded in. Providers charge for a response that has results of Google Search or Google
 * Maps, or for each search of it (https://ai.google.dev/gemini-api/docs/pricing).
 */
export class Grounding {
  readonly #queries = new Set<string>();
  #hasPages = false;
  #hasPlaces = false;

  /** Adds a response, or a part of one. */
  add(answer: unknown): this {
    for (const { groundingMetadata: found } of objectsIn(isObject(answer) ? answer.candidates : undefined)) {
      if (isObject(found)) this.#note(found);
    }
    return this;
  }

  #note({ webSearchQueries: queries, groundingChunks }: Members): void {
    for (const query of Array.isArray(queries) ? queries : []) {
      if (typeof query === "string" && query !== "" && this.#queries.size < maxQueries) this.#queries.add(query);
    }
    for (const chunk of objectsIn(groundingChunks)) {
      if (isObject(chunk.web)) this.#hasPages = true;
      if (isObject(chunk.maps)) this.#hasPlaces = true;
    }
  }

  /**
   * What is charged, as a member of usage; undefined without anything.
   *
   * @param model The model that responded.
   */
  toUse(model: unknown): Record<string, number> | undefined {
    const isByQuery = paysForQueries(model);
    const pages = this.#hasPages ? 1 : 0;
    const searches = isByQuery ? Math.max(this.#queries.size, pages) : pages;
    if (searches === 0 && !this.#hasPlaces) return undefined;
    return {
      ...(searches > 0 && { web_search_requests: searches }),
      ...(this.#hasPlaces && { maps_requests: 1 }),
    };
  }
}
