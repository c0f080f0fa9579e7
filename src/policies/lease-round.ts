import type { HeldLease, LeaseExchange, LeaseRequest } from "../schemas/limit-leases.ts";
import { fullOf, type Lease } from "./lease.ts";
import type { Claim } from "./limit-store.ts";

/** What one transaction asks of the database and reports to it, with the leases that its answers belong to. */
export interface Round {
  readonly asked: Map<Lease, LeaseRequest>;
  readonly trimmed: Lease[];
  readonly looked: Lease[];
  readonly held: HeldLease[];
  readonly closed: readonly HeldLease[];
}

/** What the claims of some requests want of one lease. */
export function addWish(round: Round, lease: Lease, claim: Claim): void {
  const { committed, limit } = lease;
  const known = round.asked.get(lease);
  const least = committed + Math.max(1, claim.least);
  round.asked.set(lease, {
    ...lease.key,
    most: limit.most,
    least: Math.min(known?.least ?? Number.POSITIVE_INFINITY, least),
    wanted: (known?.wanted ?? committed) + fullOf(claim),
  });
}

/** The transaction as the database is asked for it. */
export function toExchange({ asked, looked, held, closed }: Round): LeaseExchange {
  return {
    held,
    closed,
    asked: [...asked.values()],
    looked: looked.map((lease) => ({ ...lease.key, most: lease.limit.most })),
  };
}
