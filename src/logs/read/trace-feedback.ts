import type { FeedbackStore, RatingPlace } from "../../db/stores/feedback.ts";
import { giveWay } from "../../lib/pace.ts";
import { WeightedCache } from "../../lib/weighted-cache.ts";
import type { FieldName } from "../index/fields.ts";
import type { RowTest } from "../index/row-block.ts";
import type { Bounds } from "../index/row-test.ts";
import { noTrace, Ratings } from "./ratings.ts";

/** Fields by which rows find their feedback. */
export const feedbackFields = ["trace", "workspace"] as const satisfies readonly FieldName[];

/** Most bytes of feedback that stay in memory: those of more than a million ratings. */
export const feedbackBytes = 96 * 2 ** 20;

/** Feedback that is read at a time. */
const pageRows = 2_048;

/** What is known of an organisation's feedback. */
interface KnownRatings {
  readonly ratings: Ratings;
  /** The last that was read. */
  readonly last: RatingPlace | undefined;
}

/** Reads the feedback of organisations: whole at first, then only what has changed. */
export class FeedbackReader {
  readonly #store: FeedbackStore;
  readonly #known: WeightedCache<KnownRatings>;
  /** The last reading of each organisation whose feedback is being read. */
  readonly #running = new Map<string, Promise<unknown>>();

  /** @param maxBytes Most bytes that stay in memory; an organisation with more is read each time. */
  constructor(store: FeedbackStore, maxBytes: number) {
    this.#store = store;
    this.#known = new WeightedCache(maxBytes, maxBytes);
  }

  /** All feedback of an organisation. Statistics and feedback are stored for the same time. */
  async read(organisationId: string): Promise<Ratings> {
    // one after the other, as each changes what is known
    const before = this.#running.get(organisationId);
    const reading = Promise.resolve(before).then(() => this.#update(organisationId));
    const settled = reading.catch(() => {});
    this.#running.set(organisationId, settled);
    try {
      return await reading;
    } finally {
      if (this.#running.get(organisationId) === settled) this.#running.delete(organisationId);
    }
  }

  /** Reads what was added, changed and removed since the last time. */
  async #update(organisationId: string): Promise<Ratings> {
    let { ratings, last } = this.#known.get(organisationId) ?? { ratings: new Ratings(), last: undefined };
    for (;;) {
      const page = await this.#store.readAfter(organisationId, last, pageRows);
      for (const rating of page) ratings.set(rating);
      last = page.at(-1) ?? last;
      if (page.length < pageRows) break;
      await giveWay();
    }
    ratings = await ratings.since(await this.#store.readOldest());
    this.#known.set(organisationId, { ratings, last }, { owner: organisationId, weight: ratings.bytes });
    return ratings;
  }
}

/** Rows whose trace has feedback with a mean of value times weight within bounds. */
export function feedbackTest(ratings: Ratings, { least = -10, most = 10 }: Partial<Bounds>): RowTest {
  return {
    fields: feedbackFields,
    of(block) {
      const traceOf = ratings.of(block);
      return (place) => {
        const trace = traceOf(place);
        if (trace === noTrace) return false;
        const mean = ratings.meanOf(trace);
        return mean >= least && mean <= most;
      };
    },
  };
}
