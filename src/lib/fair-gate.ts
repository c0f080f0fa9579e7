/** Work that waits to run. */
type Start = () => void;

/**
 * Lets a limited number of works run at once. Of those that wait, the owners take turns, so that one with many does not
 * hold up the others.
 */
export class FairGate {
  /** Waiting work by owner; the owner whose turn is next comes first. */
  readonly #waiting = new Map<string, Start[]>();
  readonly #atOnce: number;
  #running = 0;

  /** @param atOnce Most works that run at once. */
  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  async run<Value>(owner: string, work: () => Promise<Value>): Promise<Value> {
    if (this.#running < this.#atOnce) this.#running++;
    else await new Promise<void>((start) => this.#wait(owner, start));
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #wait(owner: string, start: Start): void {
    const own = this.#waiting.get(owner);
    if (own) own.push(start);
    else this.#waiting.set(owner, [start]);
  }

  /** Hands the place of a work that has ended to the next. */
  #next(): void {
    const [first] = this.#waiting;
    if (!first) {
      this.#running--;
      return;
    }
    const [owner, own] = first;
    const start = own.shift();
    this.#waiting.delete(owner);
    if (own.length > 0) this.#waiting.set(owner, own);
    start?.();
  }
}
