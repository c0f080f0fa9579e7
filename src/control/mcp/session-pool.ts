/** Sessions that the gateway itself has at servers, where it translates between protocol revisions. */
export interface McpPoolSettings {
  /** Sessions are used again. Otherwise each call begins one. Default true. */
  isEnabled: boolean;
  /** Longest time without a call. Default 300,000. */
  idleMs: number;
  /** Longest life. Default 600,000. */
  lifeMs: number;
  /** Time between two looks for sessions that are over. Default 60,000. */
  cleanupMs: number;
  /** Most sessions of the process. Default 1,000. */
  sessions: number;
  /** Time before the end of a credential at which it counts as expired. Default 60,000. */
  tokenExpiryBufferMs: number;
}

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

interface Entry {
  readonly session: Promise<PooledSession>;
  readonly bornAt: number;
  usedAt: number;
}

/** Sessions at upstream servers, for callers whose protocol revision has none. A cache of this process: it may be lost. */
export class SessionPool {
  readonly #settings: McpPoolSettings;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry>();
  #lookedAt = 0;

  /** @param now Milliseconds of a monotonic clock. */
  constructor(settings: McpPoolSettings, now: () => number) {
    this.#settings = settings;
    this.#now = now;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Whether sessions are used again. */
  get isEnabled(): boolean {
    return this.#settings.isEnabled;
  }

  #isOver({ bornAt, usedAt }: Entry): boolean {
    const now = this.#now();
    return now - usedAt > this.#settings.idleMs || now - bornAt > this.#settings.lifeMs;
  }

  #drop(key: string, { session }: Entry): void {
    this.#entries.delete(key);
    session.then(
      (one) => void one.end(),
      () => {},
    );
  }

  /** Ends sessions that are over; more often than the settings say it does nothing. */
  #clean(): void {
    const now = this.#now();
    if (now - this.#lookedAt < this.#settings.cleanupMs) return;
    this.#lookedAt = now;
    for (const [key, entry] of this.#entries) if (this.#isOver(entry)) this.#drop(key, entry);
  }

  /**
   * The session of a key; without one, a session begins. Callers at the same time share one beginning.
   *
   * @param begin Begins a session.
   */
  get(key: string, begin: () => Promise<PooledSession>): Promise<PooledSession> {
    this.#clean();
    const known = this.#entries.get(key);
    if (known && !this.#isOver(known)) {
      known.usedAt = this.#now();
      // the newest last: the first is dropped when there is no room
      this.#entries.delete(key);
      this.#entries.set(key, known);
      return known.session;
    }
    if (known) this.#drop(key, known);
    const [oldest] = this.#entries;
    if (oldest && this.#entries.size >= this.#settings.sessions) this.#drop(...oldest);
    const entry: Entry = { session: begin(), bornAt: this.#now(), usedAt: this.#now() };
    this.#entries.set(key, entry);
    entry.session.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return entry.session;
  }

  /** Forgets a session that its server does not know any more. */
  forget(key: string, session: PooledSession): void {
    const entry = this.#entries.get(key);
    entry?.session.then(
      (one) => {
        if (one === session && this.#entries.get(key) === entry) this.#entries.delete(key);
      },
      () => {},
    );
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    const all = [...this.#entries.values()];
    this.#entries.clear();
    await Promise.all(all.map(({ session }) => session.then((one) => one.end()).catch(() => {})));
  }
}
