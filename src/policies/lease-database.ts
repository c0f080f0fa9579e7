import type { BucketCount, BucketQuery, LeaseExchange, LeaseState, NodeSighting } from "../schemas/limit-leases.ts";

/** Leases in the database that processes share. Every function rejects if the database is away. */
export interface LeaseDatabase {
  /** Adds a node; nothing changes if it is known. */
  register(nodeId: string): Promise<void>;
  /** Marks a node as alive, unless it was removed. */
  beat(nodeId: string): Promise<{
    /** Unix milliseconds, by the clock of the database. */
    now: number;
    /** Every node that was not removed. */
    nodes: readonly NodeSighting[];
  }>;
  /** Removes nodes without a heartbeat since they were seen and their leases, leases of ended windows, closed leases. */
  clean(nodeId: string, dead: readonly NodeSighting[]): Promise<void>;
  /** Returns the states of what was asked, then of what was looked at; undefined if the node was removed. */
  exchange(nodeId: string, exchange: LeaseExchange): Promise<readonly LeaseState[] | undefined>;
  /** Use of one bucket of a limit in a window, or of all its buckets. */
  count(nodeId: string, where: BucketQuery): Promise<BucketCount[]>;
  /** Removes a node that ends, and its leases. */
  leave(nodeId: string): Promise<void>;
}
