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

  /** Grants memory to waiting bodies in order; those whose owner holds too much are skipped. */
  readonly #pump = (): void => {
    if (this.#queue.length === 0) return;
    const waiting: Waiter[] = [];
    for (const waiter of this.#queue) {
      if (waiter.hold.fits(waiter.more)) waiter.grant();
      else waiting.push(waiter);
    }
    this.#queue = waiting;
  };
}

/** What a hold uses of its budget. */
interface HoldParts {
  ask(hold: ByteHold, more: number): Promise<void> | undefined;
  freed(): void;
  close(): void;
}

/** Memory for one body. */
export class ByteHold {
  readonly #shares: readonly Share[];
  readonly #parts: HoldParts;
  #bytes = 0;
  #stalls = 0;
  #isOpen = true;

  constructor(shares: readonly Share[], parts: HoldParts) {
    this.#shares = shares;
    this.#parts = parts;
  }

  /**
   * Grows to the given size; waits if the budget is used up.
   *
   * @throws {BudgetFullError} If none becomes free in time.
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
    // it may still be waiting: bodies that proceed after it must not count its bytes
    while (this.#stalls > 0) this.stall(-1);
    this.add(-this.#bytes);
    this.#isOpen = false;
    this.#parts.close();
    this.#parts.freed();
  }

  /**
   * Whether there is memory for more. A body larger than a share must be its owner's only one; and if all bodies that hold
   * memory wait for more, the first of them gets it, as otherwise none would ever finish.
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
  }

  /** Records that this body starts or stops waiting. */
  stall(change: 1 | -1): void {
    if (!this.#isOpen) return;
    this.#stalls += change;
    for (const share of this.#shares) share.stalled += change * this.#bytes;
  }
}
