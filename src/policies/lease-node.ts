import type { Clock } from "../lib/clock.ts";
import type { NodeSighting } from "../schemas/limit-leases.ts";
import type { LeaseDatabase } from "./lease-database.ts";

/** How often a node reports that it is alive. */
export const beatEveryMs = 10_000;
/** A node without a heartbeat for so long uses no lease: soon others take it for dead. */
const trustedForMs = 20_000;
/** A node whose heartbeat stands still for so long is dead. */
const deadAfterMs = 30_000;

/** Dependencies of a node. */
interface LeaseNodeOptions {
  database: LeaseDatabase;
  clock: Clock;
  /** Makes ids that no node ever had. */
  createId(): string;
  /** Called when others removed this node: it has no leases, and a new id. */
  removed(): void;
}

/** Another node, and since when its heartbeat has not changed, in monotonic time. */
interface Watched {
  readonly seenAt: number;
  readonly since: number;
}

/**
 * This process among those that share the database. Only the removal of a node frees its leases, and no wall clock decides
 * about it: an observer that sees a heartbeat stand still in its own monotonic time removes the node.
 */
export class LeaseNode {
  readonly #options: LeaseNodeOptions;
  readonly #watched = new Map<string, Watched>();
  #id: string;
  #isRegistered = false;
  #nodes = 1;
  /** Monotonic and wall time of the last heartbeat. */
  #beat = { at: Number.NEGATIVE_INFINITY, wallTime: Number.NEGATIVE_INFINITY };
  /** What the clock of the database is ahead of the monotonic time. */
  #aheadMs: number;
  #latest = Number.NEGATIVE_INFINITY;

  constructor(options: LeaseNodeOptions) {
    const { clock, createId } = options;
    this.#options = options;
    this.#id = createId();
    this.#aheadMs = clock.now() - clock.monotonic();
  }

  /** New after others removed this node. */
  get id(): string {
    return this.#id;
  }

  /** Nodes that share the database, as of the last heartbeat. */
  get count(): number {
    return this.#nodes;
  }

  /** Takes over how many nodes shared the database when it was last known. */
  suppose(nodes: number): void {
    this.#nodes = Math.max(1, nodes);
  }

  /** Unix milliseconds by the clock of the database. It never goes back. */
  time(): number {
    this.#latest = Math.max(this.#latest, this.#options.clock.monotonic() + this.#aheadMs);
    return this.#latest;
  }

  /** Milliseconds since the last heartbeat. The wall clock counts too: it goes on while the machine is suspended. */
  #silentMs(): number {
    const { clock } = this.#options;
    return Math.max(clock.monotonic() - this.#beat.at, clock.now() - this.#beat.wallTime);
  }

  /** Whether a heartbeat is due. */
  get isDue(): boolean {
    return this.#silentMs() >= beatEveryMs;
  }

  /** Whether the leases of this node count. */
  get isTrusted(): boolean {
    return this.#silentMs() < trustedForMs;
  }

  /** Makes a heartbeat due: the database no longer knows this node. */
  distrust(): void {
    this.#beat = { at: Number.NEGATIVE_INFINITY, wallTime: Number.NEGATIVE_INFINITY };
  }

  /** Reports that this node is alive, and removes the nodes that are dead. */
  async beat(): Promise<void> {
    const { database, clock, createId, removed } = this.#options;
    if (!this.#isRegistered) await database.register(this.#id);
    this.#isRegistered = true;
    const begun = { at: clock.monotonic(), wallTime: clock.now() };
    const { now, nodes } = await database.beat(this.#id);
    if (!nodes.some(({ id }) => id === this.#id)) {
      this.#id = createId();
      this.#isRegistered = false;
      removed();
      return await this.beat();
    }
    // an observer that could not look knows nothing: the others may have had no database either
    if (!this.isTrusted) this.#watched.clear();
    this.#beat = begun;
    this.#nodes = nodes.length;
    const repliedAt = clock.monotonic();
    this.#aheadMs = now - (begun.at + repliedAt) / 2;
    await database.clean(this.#id, this.#findDead(nodes, repliedAt));
  }

  /** Nodes whose heartbeat has stood still for too long. */
  #findDead(nodes: readonly NodeSighting[], time: number): NodeSighting[] {
    const others = nodes.filter(({ id }) => id !== this.#id);
    const present = new Set(others.map(({ id }) => id));
    for (const id of this.#watched.keys()) if (!present.has(id)) this.#watched.delete(id);
    return others.filter(({ id, seenAt }) => {
      const watched = this.#watched.get(id);
      if (watched?.seenAt === seenAt) return time - watched.since >= deadAfterMs;
      this.#watched.set(id, { seenAt, since: time });
      return false;
    });
  }

  /** Removes this node and its leases. */
  async leave(): Promise<void> {
    if (this.#isRegistered) await this.#options.database.leave(this.#id);
  }
}
