import type { LogScope } from "../../db/stores/log-scope.ts";
import { RateLimitError, toGatewayError, UnavailableError } from "../../errors.ts";
import { startTimer } from "../../lib/clock.ts";
import type { Mac } from "../../lib/hash.ts";
import type { LogRecord } from "../record.ts";
import type { Foreseen } from "../writer.ts";
import { Follower, scopeKey, type WrittenRow, writeEvents, writePosition } from "./follower.ts";
import { type Group, Groups } from "./groups.ts";
import { type TailFilter, type TailPage, type TailPosition, type TailReader, wholeBatch } from "./page.ts";

/** Most followers. */
export interface FollowerLimits {
  /** Of one workspace, or of one organisation by its own keys. Default 100. */
  perWorkspace: number;
  /** Of this process. Default 500. */
  total: number;
}

/** What followers need. */
interface LogTailOptions extends TailReader {
  /** Number of the newest batch of the log. */
  newest(): Promise<number>;
  /** Digest of cursors. */
  mac: Mac;
  limits?: Partial<FollowerLimits> | undefined;
  /** How often the database is asked for rows of other nodes, in milliseconds. Default 500. */
  lookEveryMs?: number | undefined;
  /** Called once for each series of failing reads. */
  warn(message: string, error: unknown): void;
}

/** A page, with the events of its rows by the groups it was read for. */
interface GivenPage extends Omit<TailPage, "rows"> {
  readonly after: TailPosition;
  readonly events: ReadonlyMap<Group, readonly WrittenRow[]>;
}

/** Whether a position, or a row, lies behind another one. */
const isBehind = (one: TailPosition, other: TailPosition): boolean =>
  one.seq > other.seq || (one.seq === other.seq && one.index > other.index);

const defaultLookEveryMs = 500;
/** Shortest time between two looks when rows of this node are written. */
const shortestPauseMs = 100;
/** Looks between two heartbeats, and between two checks of a follower's rights: by default 15 and 2 seconds. */
const looksPerBeat = 30;
const looksPerCheck = 4;

/** How long nothing is read for those who are not live after a page, as a multiple of the time it took. */
const pausePerWork = 3;

const defaultLimits: FollowerLimits = { perWorkspace: 100, total: 500 };

/**
 * Those who follow the log. Rows are read from the database in the order of writing, once for all of them, so no row is
 * lost or comes twice, whichever process wrote it. A follower that cannot take rows is left behind: when it can, pages are
 * read again from where it stopped, until it has caught up and is live. Without followers nothing runs.
 */
export class LogTail {
  readonly #options: LogTailOptions;
  readonly #limits: FollowerLimits;
  readonly #groups = new Groups();
  readonly #followers = new Set<Follower>();
  readonly #perScope = new Map<string, number>();
  /** How far rows were read for those who are live. */
  #end: TailPosition = { seq: 0, index: wholeBatch };
  #looks = 0;
  #isLooking = false;
  #isCatchingUp = false;
  /** Rows were written during a look. */
  #isAwaited = false;
  #isFailing = false;
  #isClosed = false;
  #lastLook = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setInterval> | undefined;
  #soon: ReturnType<typeof setTimeout> | undefined;

  constructor(options: LogTailOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
  }

  /** How many follow, and how many of them are not live. */
  state(): { followers: number; behind: number } {
    return { followers: this.#followers.size, behind: [...this.#followers].filter(({ isLive }) => !isLive).length };
  }

  /**
   * Follows the log: the stream has an event for each row.
   *
   * @param start What is wanted; the rows behind `after`, or without it those that end from now on. `check` is called
   *   every two seconds: it returns what is wanted from then on, or throws what ends the stream.
   * @throws {RateLimitError} If too many of the workspace follow.
   * @throws {UnavailableError} If too many follow, or the gateway closes.
   */
  async follow(start: {
    filter: TailFilter;
    after: TailPosition | undefined;
    check(): Promise<TailFilter>;
  }): Promise<ReadableStream<Uint8Array>> {
    const { filter, check } = start;
    this.#enter(filter);
    try {
      const position = start.after ?? { seq: await this.#options.newest(), index: wholeBatch };
      const first = await writePosition(position, filter, this.#options.mac);
      this.#requireOpen();
      const follower = new Follower(
        { filter, position, first, check },
        { onRoom: () => void this.#catchUp(), onLeave: (one) => this.#remove(one) },
      );
      this.#add(follower, start.after === undefined);
      return follower.stream;
    } catch (error) {
      this.#leave(filter);
      throw error;
    }
  }

  /** Called with records before they are written: which filters may want their rows. Undefined without followers. */
  foresee(records: readonly Pick<LogRecord, "details">[]): Foreseen | undefined {
    return this.#groups.foresee(records);
  }

  /**
   * Called when rows were written.
   *
   * @param foreseen Which filters may want them; undefined if that is not known.
   */
  wake(foreseen?: Foreseen): void {
    if (foreseen && !this.#groups.mayWant(foreseen)) return;
    if (this.#followers.size === 0 || this.#soon !== undefined) return;
    const pauseMs = Math.max(0, this.#lastLook + shortestPauseMs - performance.now());
    this.#soon = setTimeout(() => {
      this.#soon = undefined;
      if (this.#isLooking) this.#isAwaited = true;
      else void this.#look();
    }, pauseMs);
  }

  /** Ends all streams; nobody can follow any more. */
  close(): void {
    this.#isClosed = true;
    for (const follower of [...this.#followers]) {
      follower.end();
      this.#remove(follower);
    }
  }

  #requireOpen(): void {
    if (!this.#isClosed) return;
    throw new UnavailableError("Cannot follow the log: the gateway stops", { code: "not_ready", retryAfterSeconds: 1 });
  }

  /** Counts a follower. */
  #enter(scope: LogScope): void {
    this.#requireOpen();
    const key = scopeKey(scope);
    const count = this.#perScope.get(key) ?? 0;
    const total = [...this.#perScope.values()].reduce((sum, one) => sum + one, 0);
    if (total >= this.#limits.total) {
      throw new UnavailableError("Cannot follow the log: this gateway has as many followers as it may", {
        code: "too_many_followers",
        retryAfterSeconds: 5,
      });
    }
    if (count >= this.#limits.perWorkspace) {
      throw new RateLimitError(`Cannot follow the log: ${count} followers of this workspace are connected`, {
        code: "too_many_followers",
        headers: { "retry-after": "5" },
      });
    }
    this.#perScope.set(key, count + 1);
  }

  #leave(scope: LogScope): void {
    const key = scopeKey(scope);
    const left = (this.#perScope.get(key) ?? 1) - 1;
    if (left === 0) this.#perScope.delete(key);
    else this.#perScope.set(key, left);
  }

  /** @param isNew It begins at the end of the log. */
  #add(follower: Follower, isNew: boolean): void {
    const { position } = follower;
    if (isNew && !this.#isLooking && !this.#hasLive()) this.#end = position;
    follower.isLive = isNew && position.seq >= this.#end.seq;
    this.#followers.add(follower);
    this.#groups.join(follower);
    this.#timer ??= setInterval(() => this.#tick(), this.#options.lookEveryMs ?? defaultLookEveryMs);
  }

  #remove(follower: Follower): void {
    if (!this.#followers.delete(follower)) return;
    this.#groups.leave(follower);
    this.#leave(follower.filter);
    if (this.#followers.size > 0) return;
    clearInterval(this.#timer);
    clearTimeout(this.#soon);
    this.#timer = undefined;
    this.#soon = undefined;
  }

  #tick(): void {
    this.#looks++;
    void this.#look();
    for (const follower of [...this.#followers]) {
      if (this.#looks % looksPerBeat === 0) void follower.beat(this.#options.mac);
      if (this.#looks % looksPerCheck === 0) void this.#check(follower);
    }
  }

  /** Reads what was written since the last look, for all who are live. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#lastLook = performance.now();
    try {
      do {
        this.#isAwaited = false;
        if (!this.#hasLive()) break;
        const page = await this.#read(this.#end, ({ isLive }) => isLive);
        // from here on nothing waits: who has become live meanwhile is given its part too
        this.#end = page.end;
        for (const follower of this.#followers) if (follower.isLive) this.#give(follower, page);
        this.#isAwaited ||= page.hasMore;
      } while (this.#isAwaited);
      this.#isFailing = false;
    } catch (error) {
      this.#noteFailure(error);
    } finally {
      this.#isLooking = false;
    }
    void this.#catchUp();
  }

  #noteFailure(error: unknown): void {
    if (!this.#isFailing) this.#options.warn("Cannot read the log for its followers: they wait", error);
    this.#isFailing = true;
  }

  #hasLive(): boolean {
    return [...this.#followers].some(({ isLive }) => isLive);
  }

  /** Reads a page for some followers, once for those that want the same rows. */
  async #read(after: TailPosition, isMeant: (follower: Follower) => boolean): Promise<GivenPage> {
    const groups = [...this.#groups].filter(({ followers }) => [...followers].some(isMeant));
    const filters = groups.map(({ filter }) => filter);
    const numbers = groups.map(({ number }) => number);
    const { rows, ...page } = await this.#options.readTail({ after, filters, numbers });
    return { ...page, after, events: await writeEvents(rows, groups, this.#options.mac) };
  }

  /** Gives a page to a follower that has read up to its beginning or beyond; who cannot take it is not live any more. */
  #give(follower: Follower, { after, end, events }: GivenPage): void {
    const { position } = follower;
    if (position.seq >= end.seq && position.index === wholeBatch) return;
    const group = this.#groups.of(follower);
    const written = group && events.get(group);
    const rows = written?.filter((row) => isBehind(row, position)) ?? [];
    const isMissed = written === undefined || isBehind(after, position);
    if (isMissed || (rows.length > 0 && !follower.hasRoom)) follower.isLive = false;
    else follower.take(rows, end);
  }

  /** Reads pages for all who are not live and can take rows, from the one who is furthest behind. */
  async #catchUp(): Promise<void> {
    if (this.#isCatchingUp) return;
    this.#isCatchingUp = true;
    const isMeant = ({ isLive, hasRoom }: Follower) => !isLive && hasRoom;
    try {
      for (;;) {
        const behind = [...this.#followers].filter(isMeant);
        const [first] = behind;
        if (!first) return;
        const after = behind.reduce(
          (least, { position }) => (isBehind(least, position) ? position : least),
          first.position,
        );
        const since = performance.now();
        const page = await this.#read(after, isMeant);
        const workMs = performance.now() - since;
        for (const follower of behind) this.#giveBehind(follower, page);
        // the log is written meanwhile
        await new Promise<void>((resolve) => void startTimer(workMs * pausePerWork, resolve));
      }
    } catch (error) {
      this.#noteFailure(error);
    } finally {
      this.#isCatchingUp = false;
    }
  }

  /** Gives a page to one who is behind; at the end of the log it is live again. */
  #giveBehind(follower: Follower, page: GivenPage): void {
    if (!this.#followers.has(follower) || follower.isLive) return;
    this.#give(follower, page);
    if (page.hasMore || isBehind(page.end, follower.position)) return;
    if (!this.#isLooking && !this.#hasLive()) this.#end = follower.position;
    follower.isLive = follower.position.seq >= this.#end.seq;
  }

  /** Looks whether a follower may still see what it sees. */
  async #check(follower: Follower): Promise<void> {
    if (follower.isChecking || follower.isEnded) return;
    follower.isChecking = true;
    try {
      const filter = await follower.check();
      if (follower.isEnded) return;
      follower.filter = filter;
      this.#groups.join(follower);
    } catch (thrown) {
      const error = toGatewayError(thrown);
      // without its database a gateway serves known callers
      if (error.status >= 500) return;
      follower.end(error);
      this.#remove(follower);
    } finally {
      follower.isChecking = false;
    }
  }
}
