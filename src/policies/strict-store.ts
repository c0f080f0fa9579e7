import type { Claim, LimitStore, Refusal } from "./limit-store.ts";

/** Time after which a refused request may be sent again, in milliseconds. */
const againAfterMs = 1_000;

/**
 * A store that admits nothing while what requests use cannot be noted.
 *
 * @param isWritable Whether it can be noted now.
 * @param now Unix milliseconds.
 */
export function refuseUnnoted(store: LimitStore, isWritable: () => boolean, now: () => number): LimitStore {
  const refusalOf = (claim: Claim): Refusal => ({ claim, resetsAt: now() + againAfterMs, states: [], isAway: true });
  return {
    reserve(claims) {
      const [first] = claims;
      return first && !isWritable() ? refusalOf(first) : store.reserve(claims);
    },
    read: (limit, bucket) => store.read(limit, bucket),
    list: (limit) => store.list(limit),
    reset: (limit, bucket) => store.reset(limit, bucket),
    add: (limit, bucket, used) => store.add(limit, bucket, used),
    follow: (counters) => store.follow(counters),
    close: () => store.close(),
  };
}
