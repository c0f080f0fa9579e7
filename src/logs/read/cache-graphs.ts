import type { FieldName } from "../index/fields.ts";
import { meanOf } from "../index/measures.ts";
import type { RowBlock } from "../index/row-block.ts";
import { cacheHitsOf, type Places, rateOf, Sums, toCents } from "./sums.ts";

/** The sums up to and including each point. */
function cumulate(sums: Sums, points: number): number[] {
  let sum = 0;
  return Array.from({ length: points }, (_, at) => {
    sum += sums.at(at);
    return toCents(sum);
  });
}

function hitRateRun({ points }: { points: number }) {
  const [requests, simple, semantic] = [new Sums(points), new Sums(points), new Sums(points)];
  const [simpleSavings, semanticSavings] = [new Sums(points), new Sums(points)];
  return {
    add(block: RowBlock, places: Places) {
      const hits = cacheHitsOf(block);
      const saved = block.numbers("savedCost");
      requests.countRows(places);
      simple.countRows(places, hits.simple);
      semantic.countRows(places, hits.semantic);
      simpleSavings.addRows(places, saved, hits.simple);
      semanticSavings.addRows(places, saved, hits.semantic);
    },
    finish() {
      const total = simple.total() + semantic.total();
      const saved = { simple: cumulate(simpleSavings, points), semantic: cumulate(semanticSavings, points) };
      return {
        summary: { total, rate: rateOf(total, requests.total()) },
        point: (at: number) => ({
          simple_hits: simple.at(at),
          semantic_hits: semantic.at(at),
          rate: rateOf(simple.at(at) + semantic.at(at), requests.at(at)),
          cumulative_simple_cache_savings: saved.simple[at] ?? 0,
          cumulative_semantic_cache_savings: saved.semantic[at] ?? 0,
        }),
      };
    },
  };
}

function latencyRun({ points }: { points: number }) {
  const [hits, durations] = [new Sums(points), new Sums(points)];
  return {
    add(block: RowBlock, places: Places) {
      const { any } = cacheHitsOf(block);
      hits.countRows(places, any);
      durations.addRows(places, block.numbers("duration"), any);
    },
    finish: () => ({ summary: {}, point: (at: number) => ({ avg: meanOf(durations.at(at), hits.at(at)) }) }),
  };
}

function promptRun({ points }: { points: number }) {
  const [input, cached, saved] = [new Sums(points), new Sums(points), new Sums(points)];
  const add = (block: RowBlock, places: Places) => {
    input.addRows(places, block.numbers("inputTokens"));
    cached.addRows(places, block.numbers("cachedTokens"));
    saved.addRows(places, block.numbers("promptCacheSaved"));
  };
  const show = (read: number, all: number, cents: number) => ({
    cached_tokens: read,
    rate: rateOf(read, all),
    saved_cost: toCents(cents),
  });
  return {
    add,
    addParts: add,
    finish: () => ({
      summary: show(cached.total(), input.total(), saved.total()),
      point: (at: number) => show(cached.at(at), input.at(at), saved.at(at)),
    }),
  };
}

function autoRun({ points }: { points: number }) {
  const [largest, saved] = [new Sums(points), new Sums(points)];
  const show = (all: number, cents: number) => ({
    largest_cost: toCents(all),
    saved_cost: toCents(cents),
    rate: rateOf(cents, all),
  });
  return {
    add(block: RowBlock, places: Places) {
      largest.addRows(places, block.numbers("autoLargest"));
      saved.addRows(places, block.numbers("autoSaved"));
    },
    finish: () => ({
      summary: show(largest.total(), saved.total()),
      point: (at: number) => show(largest.at(at), saved.at(at)),
    }),
  };
}

/** Graphs of responses from the cache, and of the prompt caches of providers. */
export const cacheGraphs = {
  "cache/hit-rate": {
    summary: "Responses from the cache over time, and what they saved in US cents",
    fields: ["cacheStatus", "savedCost"],
    start: hitRateRun,
  },
  "cache/latency": {
    summary: "Duration of requests that the cache served over time, in milliseconds",
    fields: ["cacheStatus", "duration"],
    start: latencyRun,
  },
  "auto/savings": {
    summary:
      "What requests of the mode auto would have cost at the largest target over time, and what that saved in US cents",
    fields: ["autoLargest", "autoSaved"],
    start: autoRun,
  },
  "cache/prompt": {
    summary: "Input that providers read from their prompt caches over time, and what that saved in US cents",
    fields: ["inputTokens", "cachedTokens", "promptCacheSaved"],
    start: promptRun,
  },
} as const;

/** What the cache served, and how much faster that was. */
export class CacheTotals {
  static readonly fields: readonly FieldName[] = ["cacheStatus", "duration"];
  readonly #hits = new Sums(2);
  readonly #durations = new Sums(2);

  /** Adds requests. */
  add(block: RowBlock): void {
    // place 1: served by the cache
    const places = Uint32Array.from(cacheHitsOf(block).any);
    this.#hits.countRows(places);
    this.#durations.addRows(places, block.numbers("duration"));
  }

  /** The summary; milliseconds, and the part of the time that the cache saves in percent. */
  summary(): { hits: number; avg_latency: number; total_requests: number; cache_speedup: number } {
    const meanAt = (place: number) => meanOf(this.#durations.at(place), this.#hits.at(place));
    const [others, hits] = [meanAt(0), meanAt(1)];
    return {
      hits: this.#hits.at(1),
      avg_latency: hits,
      total_requests: this.#hits.total(),
      cache_speedup: this.#hits.at(1) === 0 ? 0 : rateOf(others - hits, others),
    };
  }
}
