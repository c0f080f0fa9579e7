import { startTimer } from "./clock.ts";
import type { Answer, Link } from "./link.ts";

/** Answers the messages of a link. */
export type AnswersOf = (link: () => Link) => Readonly<Record<string, Answer>>;

/** The links to all other processes of a gateway. */
export class Crew {
  /** Processes that were there before this one, and will connect. */
  readonly expected: number;
  /** With the group of each process: those that one parent process has started. */
  readonly #links = new Map<Link, string>();
  readonly #served = Promise.withResolvers<AnswersOf>();

  constructor(expected: number) {
    this.expected = expected;
  }

  /** What answers them, once this process can. */
  get answers(): Promise<AnswersOf> {
    return this.#served.promise;
  }

  /** Begins to answer. */
  serve(answersOf: AnswersOf): void {
    this.#served.resolve(answersOf);
  }

  /** Adds a process until its connection ends. */
  add(link: Link, group: string): void {
    this.#links.set(link, group);
    link.onClose(() => this.#links.delete(link));
  }

  /** Resolves once no process of a group is connected, or after a time. Those of others find another owner. */
  async left(group: string, withinMs: number): Promise<void> {
    const own = [...this.#links].filter(([, one]) => one === group);
    const ends = own.map(([link]) => new Promise<void>((resolve) => link.onClose(resolve)));
    await settledWithin(ends, withinMs);
  }

  /** Sends a message to all but one. */
  tell(kind: string, value: unknown, except?: Link): void {
    for (const link of this.#links.keys()) if (link !== except) link.tell(kind, value);
  }

  /** Resolves once all but one have answered or ended, or after a time. */
  async ask(kind: string, { except, withinMs }: { except?: Link | undefined; withinMs: number }): Promise<void> {
    const asked = [...this.#links.keys()].filter((link) => link !== except).map((link) => link.ask(kind, null));
    await settledWithin(asked, withinMs);
  }
}

/** Resolves once promises are settled, or after a time. */
export async function settledWithin(promises: readonly Promise<unknown>[], withinMs: number): Promise<void> {
  if (promises.length === 0) return;
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const cancel = startTimer(withinMs, resolve);
  await Promise.race([Promise.allSettled(promises), late]);
  cancel();
}
