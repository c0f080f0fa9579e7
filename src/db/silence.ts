import { DatabaseAwayError } from "../lib/database-away.ts";

/** Time after which a call that is not answered makes the watch ask whether the database is there. */
const suspectAfterMs = 1_000;
/** Time for the answer to that. */
const probeWithinMs = 2_000;
/** Pause between two questions while there is no answer. */
const probeEveryMs = 500;

/** Settings of a watch. */
interface SilenceOptions {
  /** Asks the database anything, apart from all other calls. */
  readonly probe: () => Promise<unknown>;
  /** Ends the connections of calls that wait: nobody waits for them any more. */
  readonly disconnect: () => void;
}

/** A call that waits. */
interface Waiting {
  giveUp(error: Error): void;
}

function silent(reason: string): DatabaseAwayError {
  const error = new Error(`The database does not respond: ${reason}`);
  return new DatabaseAwayError(Object.assign(error, { code: "DATABASE_SILENT" }));
}

/**
 * Calls `act` after a time. What came while this process was busy is read before a second timer, so that a busy process is
 * not taken for a silent database.
 */
function after(delayMs: number, act: () => void): () => void {
  let timer = setTimeout(() => {
    timer = setTimeout(act, 1);
  }, delayMs);
  return () => clearTimeout(timer);
}

/**
 * Ends calls of a database on another machine that accepts them and does not answer. One question at a time shows whether it
 * is there. While it is not, calls fail at once.
 */
export class SilenceWatch {
  readonly #options: SilenceOptions;
  readonly #waiting = new Set<Waiting>();
  #isAway = false;
  #isAsking = false;
  #isClosed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SilenceOptions) {
    this.#options = options;
  }

  /**
   * Makes a call.
   *
   * @param withinMs Longest time it may take although the database answers others.
   * @throws {DatabaseAwayError} If it is not answered.
   */
  async run<Value>(call: () => Promise<Value>, withinMs: number): Promise<Value> {
    if (this.#isAway) throw silent("it is asked every half second whether it is back");
    let waiting: Waiting | undefined;
    let stop = () => {};
    const late = new Promise<never>((_, reject) => {
      const one = { giveUp: reject };
      waiting = one;
      stop = after(Math.min(suspectAfterMs, withinMs), () => {
        this.#ask();
        const leftMs = withinMs - suspectAfterMs;
        stop = after(leftMs, () => reject(silent(`no answer within ${withinMs} ms, although it answers other calls`)));
      });
      this.#waiting.add(one);
    });
    try {
      return await Promise.race([call(), late]);
    } finally {
      stop();
      if (waiting) this.#waiting.delete(waiting);
    }
  }

  /** Asks whether the database is there, unless that is being asked. */
  #ask(): void {
    if (this.#isAsking || this.#isClosed) return;
    this.#isAsking = true;
    const stop = after(probeWithinMs, () => {
      this.#lose();
      this.#options.disconnect();
    });
    const end = (isThere: boolean) => {
      stop();
      this.#isAsking = false;
      if (isThere) this.#isAway = false;
      // one that refuses connections fails by itself: only silence has to be watched
      else if (this.#isAway) this.#askLater();
    };
    this.#options.probe().then(
      () => end(true),
      () => end(false),
    );
  }

  #askLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.#ask(), probeEveryMs);
  }

  /** From now on calls fail at once; those that wait do so too. */
  #lose(): void {
    this.#isAway = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const one of waiting) one.giveUp(silent(`no answer to any question within ${probeWithinMs} ms`));
  }

  /** Ends the questions. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
