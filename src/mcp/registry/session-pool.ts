/** Sessions that the gateway itself has at servers, where it translates between protocol revisions. */
export interface McpPoolSettings {
  /** Sessions are used again. Otherwise each call begins one. Default true. */
  isEnabled: boolean;
  /** Longest time since the last call was over. Default 300,000. */
  idleMs: number;
  /** Longest life: no call begins in an older session. Default 600,000. */
  lifeMs: number;
  /** Time between two looks for sessions that are over. Default 60,000. */
  cleanupMs: number;
  /** Most sessions of the process that are used again. Default 1,000. */
  sessions: number;
  /** Time before the end of a credential at which it counts as expired. Default 60,000. */
  tokenExpiryBufferMs: number;
}

/** Time between two searches of a full pool for sessions that are over. */
const fullSearchMs = 1_000;

/** A session that the gateway itself has at an upstream server. */
export interface PooledSession {
  /** The upstream's id; undefined where it needs none. */
  readonly id: string | undefined;
  /** Revision of the protocol that the server chose. */
  readonly version: string;
  /** What the server says of itself: the result of `initialize`. */
  readonly about: Readonly<Record<string, unknown>>;
  /** Ends it at the server, as far as that is possible. Never rejects. */
  end(): Promise<void>;
}

/** A session for one call. It is not ended at its server before the call is over. */
export interface SessionLease {
  readonly session: PooledSession;
  /** The call is over. Does nothing the second time. */
  release(): void;
  /** The server does not know the session any more: no other call gets it. */
  forget(): void;
}

interface Entry {
  readonly session: Promise<PooledSession>;
  readonly bornAt: number;
  /** When its last call was over; it counts only without running calls. */
  idleSince: number;
  /** Running calls. */
  calls: number;
}

async function end({ session }: Entry): Promise<void> {
  await session.then((one) => one.end()).catch(() => {});
}

/** Sessions at upstream servers, for callers whose protocol revision has none. A cache of this process: it may be lost. */
export class SessionPool {
  readonly #settings: McpPoolSettings;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  /** Sessions out of the pool whose last call is not over yet. */
  readonly #leaving = new Set<Entry>();
  #lookedAt = 0;

  /** @param now Milliseconds of a monotonic clock. */
  constructor(settings: McpPoolSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  /** Whether sessions are used again. */
  get isEnabled(): boolean {
    return this.#settings.isEnabled;
  }

  #isOver({ bornAt, idleSince, calls }: Entry): boolean {
    const now = this.#now();
    return now - bornAt > this.#settings.lifeMs || (calls === 0 && now - idleSince > this.#settings.idleMs);
  }

  /** Takes a session out of the pool. It ends at its server now, or with its last call. */
  #retire(key: string, entry: Entry): void {
    this.#entries.delete(key);
    if (entry.calls > 0) this.#leaving.add(entry);
    else end(entry);
  }

  #retireOver(): void {
    this.#lookedAt = this.#now();
    for (const [key, entry] of this.#entries) if (this.#isOver(entry)) this.#retire(key, entry);
  }

  /** Ends sessions that are over; more often than the settings say it does nothing. */
  clean(): void {
    if (this.#now() - this.#lookedAt >= this.#settings.cleanupMs) this.#retireOver();
  }

  /** Whether there is room for one more session. */
  #hasRoom(): boolean {
    const isFull = () => this.#entries.size >= this.#settings.sessions;
    // a full pool is not searched at each call
    if (isFull() && this.#now() - this.#lookedAt >= fullSearchMs) this.#retireOver();
    return !isFull();
  }

  /** Begins a session: in the pool if there is room, else for one call. */
  #begin(key: string | undefined, begin: () => Promise<PooledSession>): Entry {
    const now = this.#now();
    const entry: Entry = { session: begin(), bornAt: now, idleSince: now, calls: 0 };
    if (key === undefined || !this.#hasRoom()) this.#leaving.add(entry);
    else this.#entries.set(key, entry);
    entry.session.catch(() => this.#forget(key, entry));
    return entry;
  }

  #forget(key: string | undefined, entry: Entry): void {
    this.#leaving.delete(entry);
    if (key !== undefined && this.#entries.get(key) === entry) this.#entries.delete(key);
  }

  #release(entry: Entry): void {
    entry.calls--;
    entry.idleSince = this.#now();
    if (entry.calls === 0 && this.#leaving.delete(entry)) end(entry);
  }

  /**
   * The session of a key for one call. Without one, a session begins; callers at the same time share one beginning.
   * A full pool begins sessions for one call.
   *
   * @param key Undefined for a session that no other call uses.
   * @param begin Begins a session.
   */
  async take(key: string | undefined, begin: () => Promise<PooledSession>): Promise<SessionLease> {
    this.clean();
    let entry = key === undefined ? undefined : this.#entries.get(key);
    if (key !== undefined && entry && this.#isOver(entry)) {
      this.#retire(key, entry);
      entry = undefined;
    }
    const taken = entry ?? this.#begin(key, begin);
    taken.calls++;
    const session = await taken.session;
    let isReleased = false;
    const release = () => {
      if (!isReleased) this.#release(taken);
      isReleased = true;
    };
    return { session, release, forget: () => this.#forget(key, taken) };
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    const all = [...this.#entries.values(), ...this.#leaving];
    this.#entries.clear();
    this.#leaving.clear();
    await Promise.all(all.map(end));
  }
}
