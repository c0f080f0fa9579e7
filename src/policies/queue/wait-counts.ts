import { type Priority, priorities } from "../../schemas/queues.ts";

/** How waits end. `full`: the request did not wait, because the queue had no place or could not help. */
type WaitEnd = "admitted" | "refused" | "left" | "full";

/** Figures of queues, by class. */
export interface QueueState {
  readonly classes: readonly {
    readonly priority: Priority;
    /** Requests that wait now. */
    readonly waiting: number;
    readonly ended: Readonly<Record<WaitEnd, number>>;
    /** Seconds that all of them waited. */
    readonly seconds: number;
  }[];
}

const noEnds = (): Record<WaitEnd, number> => ({ admitted: 0, refused: 0, left: 0, full: 0 });

/** Counts of a class. */
interface ClassCounts {
  readonly ended: Record<WaitEnd, number>;
  ms: number;
}

const noCounts = (): ClassCounts => ({ ended: noEnds(), ms: 0 });

/** Counts how waits of requests ended. */
export class WaitCounts {
  readonly #classes = new Map<Priority, ClassCounts>(priorities.map((priority) => [priority, noCounts()]));

  count(priority: Priority, end: WaitEnd, ms: number): void {
    const own = this.#classes.get(priority);
    if (!own) return;
    own.ended[end]++;
    own.ms += ms;
  }

  /** @param lines The queues of now. */
  state(lines: readonly { sizeOf(priority: Priority): number }[]): QueueState {
    return {
      classes: priorities.map((priority) => {
        const { ended, ms } = this.#classes.get(priority) ?? noCounts();
        const waiting = lines.reduce((sum, line) => sum + line.sizeOf(priority), 0);
        return { priority, waiting, ended, seconds: ms / 1_000 };
      }),
    };
  }
}
