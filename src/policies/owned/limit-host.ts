import type { Answer } from "../../lib/link.ts";
import type { LimitIncrement } from "../../schemas/logs.ts";
import type { Booked, Ledger } from "../ledger.ts";
import type { Claim, Limit } from "../limit-store.ts";
import { type ReserveAnswer, type SentClaim, type SentUse, toSentState } from "./messages.ts";

/** A booking of another process. */
interface Held {
  readonly claims: readonly Claim[];
  readonly booked: Booked;
  /** Names of its buckets. */
  readonly buckets: readonly string[];
}

/** What one connection has booked. */
interface Customer {
  readonly limits: Map<number, Limit>;
  readonly held: Map<number, Held>;
}

/** Lets other processes count in the ledger of this one. */
export class LimitHost {
  readonly #ledger: Ledger;
  readonly #ready: () => Promise<void> | undefined;

  /** @param ready Resolves once the ledger knows what others have booked; undefined from then on. */
  constructor(ledger: Ledger, ready: () => Promise<void> | undefined) {
    this.#ledger = ledger;
    this.#ready = ready;
  }

  /** Counts what rows have used that this ledger does not know. */
  gain(organisationId: string, counted: string): void {
    // written by `packRecords`
    if (counted !== "") this.#ledger.gain(organisationId, JSON.parse(counted) as LimitIncrement[]);
  }

  /** Answers the messages of one connection. `end` gives back what it has booked. */
  serve(): { answers: Readonly<Record<string, Answer>>; end(): void } {
    const customer: Customer = { limits: new Map(), held: new Map() };
    const ledger = this.#ledger;
    // the types are those that `OwnedLimitStore` sends
    const answers: Record<string, Answer> = {
      "limits.new": () => customer.limits.clear(),
      "limits.limit": ({ value }) => {
        const [number, limit] = value as [number, Limit];
        customer.limits.set(number, limit);
      },
      "limits.reserve": ({ value }) => {
        const [id, claims] = value as [number, SentClaim[]];
        const isReady = this.#ready();
        if (!isReady) return this.#reserve(customer, id, claims);
        return isReady.then(() => this.#reserve(customer, id, claims));
      },
      "limits.takeOver": ({ value }) => {
        const [id, sent] = value as [number, SentClaim[]];
        const claims = toClaims(customer, sent);
        const booked = ledger.takeOver(claims);
        customer.held.set(id, { claims, booked, buckets: booked.buckets });
      },
      "limits.settle": ({ value }) => {
        const [id, uses] = value as [number, SentUse[]];
        this.#settle(customer, id, uses);
      },
      "limits.read": ({ value }) => {
        const [limit, bucket] = value as [Limit, string];
        return toSentState(ledger.read(limit, bucket));
      },
      "limits.list": ({ value }) =>
        ledger.list(value as Limit).map(([bucket, state]) => [bucket, toSentState(state)] as const),
      "limits.reset": ({ value }) => {
        const [limit, bucket] = value as [Limit, string];
        return ledger.reset(limit, bucket);
      },
      "limits.add": ({ value }) => {
        const [limit, bucket, used] = value as [Limit, string, number];
        return ledger.add(limit, bucket, used);
      },
      "limits.gain": ({ value }) => {
        const [organisationId, increments] = value as [string, LimitIncrement[]];
        ledger.gain(organisationId, increments);
      },
    };
    const end = () => {
      for (const { booked } of customer.held.values()) booked.release();
      customer.held.clear();
    };
    return { answers, end };
  }

  #reserve(customer: Customer, id: number, sent: readonly SentClaim[]): ReserveAnswer {
    const claims = toClaims(customer, sent);
    const outcome = this.#ledger.reserve(claims);
    if ("claim" in outcome) {
      const { claim, resetsAt } = outcome;
      const states = claims.map(({ limit, bucket }) => toSentState(this.#ledger.read(limit, bucket)));
      return { refused: claims.indexOf(claim), resetsAt: Number.isFinite(resetsAt) ? resetsAt : null, states };
    }
    const { buckets } = outcome;
    customer.held.set(id, { claims, booked: outcome, buckets });
    return { booked: outcome.states.map((state, index) => [buckets[index] ?? "", toSentState(state)]) };
  }

  #settle({ held }: Customer, id: number, uses: readonly SentUse[]): void {
    const found = held.get(id);
    if (!found) return;
    held.delete(id);
    found.booked.release();
    for (const [index, windowStart, used] of uses) {
      const [claim, bucket] = [found.claims[index], found.buckets[index]];
      if (claim && bucket !== undefined) this.#ledger.count({ limit: claim.limit, bucket }, windowStart, used);
    }
  }
}

function toClaims({ limits }: Customer, sent: readonly SentClaim[]): Claim[] {
  return sent.map(([number, bucket, least, beyond]) => {
    const limit = limits.get(number);
    if (!limit) throw new Error("Cannot reserve: the limit is not known");
    return { limit, bucket, least, beyond };
  });
}
