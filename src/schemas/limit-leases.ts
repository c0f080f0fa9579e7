/** Which lease of a node: one bucket of a limit in one window. */
export interface LeaseKey {
  readonly organisationId: string;
  readonly limitId: string;
  readonly bucket: string;
  /** Unix milliseconds; 0 for limits that never reset. */
  readonly windowStart: number;
  /** Unix milliseconds; null for limits that never reset. */
  readonly windowEnd: number | null;
  /** Distinguishes the leases that the node has had, one after the other, in the window. */
  readonly number: number;
}

/** What a node does with its leases in one transaction, in this order. */
export interface LeaseExchange {
  /** Sets what the node may use in all. */
  readonly held: readonly HeldLease[];
  /** Ends leases: no more is used than is set here. A lease that has ended stays so. */
  readonly closed: readonly HeldLease[];
  /** Grants what is free. */
  readonly asked: readonly LeaseRequest[];
  /** Only reads. */
  readonly looked: readonly (LeaseKey & { readonly most: number })[];
}

/** A lease, and what the node may use of it in all. */
export interface HeldLease extends LeaseKey {
  readonly granted: number;
}

/** A request for more of a limit. */
export interface LeaseRequest extends LeaseKey {
  /** The limit itself. */
  readonly most: number;
  /** What the node must hold in all for the grant to be of use. */
  readonly least: number;
  /** What it would use at once if it held it. */
  readonly wanted: number;
}

/** A lease as the database has it. */
export interface LeaseState {
  /** What the node may use in the window in all; 0 without a lease. */
  readonly granted: number;
  /** What its log rows have used under this lease. */
  readonly written: number;
  /** What log rows of all nodes have used of the limit in the window. */
  readonly counted: number;
  /** What is neither used nor leased. */
  readonly free: number;
}

/** A process that shares the database. */
export interface NodeSighting {
  readonly id: string;
  /** Unix milliseconds of its last heartbeat, by the clock of the database. */
  readonly seenAt: number;
}

/** What the counter of a bucket holds. */
export interface BucketCount {
  readonly bucket: string;
  readonly counted: number;
  /** The part of it that log rows of one node used under its present lease. */
  readonly written: number;
  /** What other nodes hold and have not used yet. */
  readonly held: number;
}

/** One bucket of a limit in a window, or all of its buckets. */
export interface BucketQuery {
  readonly organisationId: string;
  readonly limitId: string;
  readonly windowStart: number;
  readonly bucket?: string;
}
