import { startTimer } from "./clock.ts";
import type { Answer, Link } from "./link.ts";

/** A connection to the other process. */
interface Connected {
  readonly link: Link;
  /** Which process it is: another one that takes its place has another id. */
  readonly peer: string;
}

/** Connects to the other process; rejects while it is away. */
export type ConnectLink = (answers: Readonly<Record<string, Answer>>) => Promise<Connected>;

/** Pause between two attempts to connect, in milliseconds. */
const pauseMs = 25;

/** A link to a process that may end and be replaced. */
export class SteadyLink {
  readonly #connect: ConnectLink;
  readonly #answers: Record<string, Answer> = {};
  readonly #greetings: ((link: Link) => void)[] = [];
  #waiting: (() => void)[] = [];
  #link: Link | undefined;
  #peer = "";
  #cancelPause = () => {};
  #isClosed = false;

  constructor(connect: ConnectLink) {
    this.#connect = connect;
  }

  /** The link, if it is connected now. */
  get current(): Link | undefined {
    return this.#link;
  }

  /** Which process it is connected to now; empty without a connection. */
  get peer(): string {
    return this.#link ? this.#peer : "";
  }

  /** Answers messages of one kind. Call it before `start`. */
  answer(kind: string, answer: Answer): void {
    this.#answers[kind] = answer;
  }

  /** Calls back on each new connection, in the order of these calls, before anything else is sent. */
  greet(greeting: (link: Link) => void): void {
    this.#greetings.push(greeting);
  }

  /** Connects, and again whenever the connection ends. */
  start(): void {
    void this.#open();
  }

  /** The link; undefined if it is not connected within so many milliseconds. */
  async within(waitMs: number): Promise<Link | undefined> {
    if (this.#link || this.#isClosed) return this.#link;
    await new Promise<void>((resolve) => {
      const cancel = startTimer(waitMs, resolve);
      this.#waiting.push(() => {
        cancel();
        resolve();
      });
    });
    return this.#link;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelPause();
    this.#link?.close();
    this.#goOn();
  }

  #goOn(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }

  async #open(): Promise<void> {
    try {
      const { link, peer } = await this.#connect(this.#answers);
      if (this.#isClosed) {
        link.close();
        return;
      }
      this.#link = link;
      this.#peer = peer;
      link.onClose(() => {
        this.#link = undefined;
        this.#openLater();
      });
      for (const greeting of this.#greetings) greeting(link);
      this.#goOn();
    } catch {
      this.#openLater();
    }
  }

  #openLater(): void {
    if (!this.#isClosed) this.#cancelPause = startTimer(pauseMs, () => void this.#open());
  }
}
