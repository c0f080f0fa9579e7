/** Stands for no number. */
const none = -1;

/** A list of `NumberLists`. */
export class NumberList {
  first: number = none;
  last: number = none;

  get isEmpty(): boolean {
    return this.first === none;
  }
}

/**
 * Lists of small numbers, each number in one list at most. What enters and leaves them creates no objects that the garbage
 * collector would have to find.
 */
export class NumberLists {
  readonly #before: number[] = [];
  readonly #after: number[] = [];

  /** Adds a number at the end of a list. It must be in none. */
  append(list: NumberList, number: number): void {
    this.#before[number] = list.last;
    this.#after[number] = none;
    if (list.last === none) list.first = number;
    else this.#after[list.last] = number;
    list.last = number;
  }

  /** Takes a number out of the list that it is in. */
  remove(list: NumberList, number: number): void {
    const [before, after] = [this.#before[number] ?? none, this.#after[number] ?? none];
    if (before === none) list.first = after;
    else this.#after[before] = after;
    if (after === none) list.last = before;
    else this.#before[after] = before;
  }

  /** The numbers of a list. The current one may be removed meanwhile; what is appended meanwhile follows. */
  *of(list: NumberList): Generator<number> {
    for (let number = list.first; number !== none; ) {
      const after = this.#after[number] ?? none;
      yield number;
      number = after;
    }
  }
}
