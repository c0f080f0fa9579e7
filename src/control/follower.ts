import type { AuditStore, Change, NumberedChange } from "../db/stores/audit.ts";
import { isDatabaseAway } from "../lib/database-away.ts";

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

/** Reports changes. `newest` is the number of the newest of them. */
interface FollowerEvents {
  changed(changes: readonly Change[], newest: number): void;
  /** The same for changes that this node made. A replica may have answered reads with what was before them. */
  repeated(changes: readonly Change[]): void;
  /** More changed than can be listed, or the database is another one: a copy of earlier was put in its place. */
  lost(): void;
  /** The database is back. A copy of earlier may be in its place that has all changes which were seen. */
  returned(): void;
}

/** By what a change is known again: another database may have another one with its number. */
function markOf({ time, organisationId, resource, recordId }: NumberedChange): string {
  return JSON.stringify([time, organisationId, resource, recordId]);
}

/**
 * Creates a follower.
 *
 * @param first Number of the change behind which it starts. Default: the newest.
 */
export async function createFollower(audit: AuditStore, events: FollowerEvents, first?: number): Promise<Follower> {
  let seen = first ?? (await audit.newestChange());
  /** What the last change that was seen is known by; undefined until its row was read. */
  let mark: string | undefined;
  let isAway = false;
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const own = new Set<number>();

  /** Whether the database is not the one that was read before, or lacks what was seen of it. */
  const isOther = async (last: NumberedChange | undefined): Promise<boolean> => {
    if (last) return mark !== undefined && mark !== markOf(last);
    return mark !== undefined || (await audit.newestChange()) < seen;
  };
  const loseAll = async () => {
    seen = await audit.newestChange();
    mark = undefined;
    own.clear();
    events.lost();
  };
  const look = async () => {
    const found = await audit.changesFrom(seen, maxChanges + 1);
    const last = found[0]?.seq === seen ? found[0] : undefined;
    if (await isOther(last)) return loseAll();
    if (last) mark = markOf(last);
    const changes = last ? found.slice(1) : found;
    const [first] = changes;
    const newest = changes.at(-1);
    if (!first || !newest) return;
    // numbers are given without gaps: a first one that is too high means that older ones were forgotten
    if (first.seq !== seen + 1 || changes.length >= maxChanges) return loseAll();
    seen = newest.seq;
    mark = markOf(newest);
    const isOwn = changes.map(({ seq }) => own.delete(seq));
    events.changed(
      changes.filter((_, index) => !isOwn[index]),
      seen,
    );
    events.repeated(changes.filter((_, index) => isOwn[index]));
  };
  const lookOnce = async () => {
    try {
      await look();
      if (isAway) events.returned();
      isAway = false;
    } catch (error) {
      isAway ||= isDatabaseAway(error);
      throw error;
    }
  };
  const begin = (): Promise<void> => {
    next = undefined;
    running = lookOnce().finally(() => {
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
