import type { AuditStore, Change } from "../db/stores/audit.ts";

/** How often other nodes' changes are looked for. */
export const followEveryMs = 500;
/** Changes read at once; who missed more lets go of everything. */
const maxChanges = 1_000;

/** Most changes of this node whose numbers are remembered. */
const maxOwn = 10_000;

/** Follows what other nodes change. */
export interface Follower {
  /** Takes the numbers of changes that this node made and applied already. */
  made(numbers: readonly number[]): void;
  /** Looks once. While an earlier look is still running, resolves after one more, which all who wait share. */
  look(): Promise<void>;
}

/** Reports changes. */
interface FollowerEvents {
  changed(changes: readonly Change[]): void;
  /** The same for changes that this node made. A replica may have answered reads with what was before them. */
  repeated(changes: readonly Change[]): void;
  /** More changed than can be listed. */
  lost(): void;
}

/** Creates a follower that starts behind the newest change. */
export async function createFollower(audit: AuditStore, events: FollowerEvents): Promise<Follower> {
  let seen = await audit.newestChange();
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const own = new Set<number>();

  const look = async () => {
    const changes = await audit.changesAfter(seen, maxChanges);
    const [first] = changes;
    if (!first) return;
    // numbers are given without gaps: a first one that is too high means that older ones were forgotten
    const missed = first.seq !== seen + 1 || changes.length === maxChanges;
    seen = missed ? await audit.newestChange() : (changes.at(-1)?.seq ?? seen);
    if (missed) {
      own.clear();
      return events.lost();
    }
    const isOwn = changes.map(({ seq }) => own.delete(seq));
    events.changed(changes.filter((_, index) => !isOwn[index]));
    events.repeated(changes.filter((_, index) => isOwn[index]));
  };
  const begin = (): Promise<void> => {
    next = undefined;
    running = look().finally(() => {
      running = undefined;
    });
    return running;
  };
  return {
    made(numbers) {
      for (const number of numbers) own.add(number);
      for (const oldest of own) {
        if (own.size <= maxOwn) break;
        own.delete(oldest);
      }
    },
    look() {
      if (running) {
        // what was written since it began may not be in its answer
        next ??= running.catch(() => {}).then(begin);
        return next;
      }
      return begin();
    },
  };
}
