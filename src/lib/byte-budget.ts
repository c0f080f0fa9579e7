import type { Timers } from "./timers.ts";

/** Owner of a body, and its largest share of the budget. */
export interface ByteOwner {
  name: string;
  bytes: number;
}

/** No memory became available for a body in time. */
export class BudgetFullError extends Error {
  override readonly name = "BudgetFullError";
  constructor() {
    super("Cannot hold more bodies: the memory budget is used up");
  }
}

/** An owner's part of the budget. */
interface Share {
  readonly limit: number;
  used: number;
  /** Bytes of bodies that wait for more. */
  stalled: number;
  holds: number;
}

/** A body's bytes, held and requested. */
interface Waiter {
  hold: ByteHold;
  more: number;
  grant(): void;
}

/** Longest wait for memory. */
const maxWaitMs = 10_000;
/** Most waiting bodies; further ones are rejected at once. */
const maxWaiting = 1_000;

/** Limits the bytes of bodies in memory: in total, and per owner. */
export class ByteBudget {
  readonly #shares = new Map<string, Share>();
  readonly #all: Share;
  readonly #timers: Timers;
  #queue: Waiter[] = [];

  constructor(bytes: number, timers: Timers) {
    this.#all = { limit: bytes, used: 0, stalled: 0, holds: 1 };
    this.#timers = timers;
  }

  /** Bytes currently held. */
  get used(): number {
    return this.#all.used;
  }

  /** Bodies waiting for memory. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Registers a body, without any bytes yet. */
  open(owners: readonly ByteOwner[]): ByteHold {
    const shares = owners.map(({ name, bytes }) => {
      const share = this.#shares.get(name) ?? { limit: bytes, used: 0, stalled: 0, holds: 0 };
      this.#shares.set(name, share);
      share.holds++;
      return share;
    });
    const close = () => {
      for (const [index, share] of shares.entries()) {
        if (--share.holds === 0) this.#shares.delete(owners[index]?.name ?? "");
      }
    };
    return new ByteHold([this.#all, ...shares], {
      ask: (hold, more) => this.#ask(hold, more),
      freed: this.#pump,
      close,
    });
  }

  #ask(hold: ByteHold, more: number): Promise<void> | undefined {
    if (this.#queue.length === 0 && hold.fits(more)) {
      hold.add(more);
      return undefined;
    }
    if (this.#queue.length >= maxWaiting) throw new BudgetFullError();
    return new Promise((resolve, reject) => {
      hold.stall(1);
      const leave = () => {
        hold.stall(-1);
        cancel();
      };
      const waiter: Waiter = {
        hold,
        more,
        grant() {
          leave();
          hold.add(more);
          resolve();
        },
      };
      const cancel = this.#timers.start(maxWaitMs, () => {
        this.#queue = this.#queue.filter((one) => one !== waiter);
        leave();
        reject(new BudgetFullError());
        this.#pump();
      });
      this.#queue.push(waiter);
      this.#pump();
    });
  }

  /**
   * Gives room to those who wait, in their order; a body waits while its owner has too much. If all of
   * them wait, the one that holds most continues: if they took turns, all of them would grow.
   */
  readonly #pump = (): void => {
    if (this.#queue.length === 0) return;
    const granted = new Set<Waiter>();
    const grantWhere = (waiters: readonly Waiter[], mayGoOn: (waiter: Waiter) => boolean) => {
      for (const waiter of waiters) {
        if (granted.has(waiter) || !mayGoOn(waiter)) continue;
        granted.add(waiter);
        waiter.grant();
      }
    };
    grantWhere(this.#queue, ({ hold, more }) => hold.isWithin(more));
    const byBytes = this.#queue.toSorted((one, other) => other.hold.bytes - one.hold.bytes);
    grantWhere(byBytes, ({ hold, more }) => hold.fits(more));
    this.#queue = this.#queue.filter((waiter) => !granted.has(waiter));
  };
}

/** What a hold uses of its budget. */
interface HoldParts {
  ask(hold: ByteHold, more: number): Promise<void> | undefined;
  freed(): void;
  close(): void;
}

/** Room for the bodies of one request: what waits for one of them keeps all of them. */
export class ByteHold {
  readonly #shares: readonly Share[];
  readonly #parts: HoldParts;
  #bytes = 0;
  #stalls = 0;
  /** What of the bytes is counted as stalled. */
  #stalled = 0;
  #isOpen = true;

  constructor(shares: readonly Share[], parts: HoldParts) {
    this.#shares = shares;
    this.#parts = parts;
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Changes how much memory is held. It waits while too little is free.
   *
   * @throws {BudgetFullError} If too little is freed in time.
   */
  resize(bytes: number): Promise<void> | undefined {
    const more = bytes - this.#bytes;
    if (!this.#isOpen || more === 0) return undefined;
    if (more > 0) return this.#parts.ask(this, more);
    this.add(more);
    this.#parts.freed();
    return undefined;
  }

  /** Releases all of it, once. */
  release(): void {
    if (!this.#isOpen) return;
    // it may wait for more: those who go on behind it must not count on bytes that are gone
    this.#stalls = 0;
    this.add(-this.#bytes);
    this.#isOpen = false;
    this.#parts.close();
    this.#parts.freed();
  }

  /** Whether there is room for more within the limits. */
  isWithin(more: number): boolean {
    return this.#shares.every(({ limit, used }) => used + more <= limit);
  }

  /**
   * Whether there is room for more. A body that is larger than a share has it alone; and where all who hold something wait
   * for more, one of them gets it: else none would ever go on.
   */
  fits(more: number): boolean {
    return this.#shares.every(({ limit, used, stalled }) => {
      const own = this.#stalls > 0 ? 0 : this.#bytes;
      return used + more <= limit || used - stalled - own <= 0;
    });
  }

  /** Adds bytes without a check. */
  add(bytes: number): void {
    if (!this.#isOpen) return;
    this.#bytes += bytes;
    for (const share of this.#shares) share.used += bytes;
    this.#countStalled();
  }

  /** Notes that a body begins, or ends, to wait. */
  stall(change: 1 | -1): void {
    if (!this.#isOpen) return;
    this.#stalls += change;
    this.#countStalled();
  }

  #countStalled(): void {
    const stalled = this.#stalls > 0 ? this.#bytes : 0;
    for (const share of this.#shares) share.stalled += stalled - this.#stalled;
    this.#stalled = stalled;
  }
}
