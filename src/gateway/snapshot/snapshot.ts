import type { InStatement, ResultSet } from "@libsql/client";
import type { MasterKey } from "../../auth/master-keys.ts";
import { resources } from "../../control/resources.ts";
import type { Database, StandIn } from "../../db/client.ts";
import { isLookUp, StaleRecords } from "../../db/last-known/stale.ts";
import { type KnownState, listKnownTables, openState, readState } from "../../db/last-known/state.ts";
import { DatabaseOpenError, describeDatabase } from "../../db/open-failure.ts";
import type { Change } from "../../db/stores/audit.ts";
import type { ControlStores } from "../../db/stores/control.ts";
import type { Clock } from "../../lib/clock.ts";
import { isDatabaseAway } from "../../lib/database-away.ts";
import { openSnapshot, readSnapshotHead, SnapshotError, type SnapshotHead, sealSnapshot } from "./seal.ts";

/** The file of a snapshot. */
export interface SnapshotPlace {
  /** As messages show it. */
  readonly name: string;
  /** Its content; undefined without a file. */
  read(): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Replaces it as a whole, durably. */
  write(content: Uint8Array): Promise<void>;
}

/** Where the last known state of a database on another machine is stored. */
export interface SnapshotSettings {
  readonly place: SnapshotPlace;
  /** How old a snapshot may be to be used, in milliseconds. */
  readonly maxAgeMs: number;
}

/** Dependencies of a snapshot. */
interface SnapshotOptions extends SnapshotSettings {
  /** Address of the database. */
  readonly url: string;
  readonly masterKeys: readonly [MasterKey, ...MasterKey[]];
  readonly clock: Clock;
  readonly warn: (message: string, error?: unknown) => void;
}

/** Least time between two snapshots: as long, and twenty times as long as the last one took. */
const leastPauseMs = 1_000;
const pauseFactor = 20;
/** A snapshot is made again after this part of its greatest age although nothing changed, and at most after so long. */
const renewalPart = 100;
const longestRenewalMs = 15 * 60_000;
/** Least time between two warnings. */
const warnEveryMs = 60_000;

/** What a process needs of the state from which it begins. */
export type StateMarks = Pick<KnownState, "change" | "nodes">;

/** A state in memory, and of when it is. */
interface Held {
  readonly head: SnapshotHead;
  readonly marks: StateMarks;
  readonly database: Database;
}

/**
 * The last known state of a database on another machine: a sealed file, written when something changes, that answers what
 * requests read while the database is away. It is read into memory with the first such question.
 */
export class Snapshot implements StandIn {
  readonly #options: SnapshotOptions;
  #isConnected = true;
  #held: Promise<Held> | undefined;
  readonly #stale = new StaleRecords();
  /** Time of the last snapshot that this process wrote. */
  #writtenAt = Number.NEGATIVE_INFINITY;
  #isDue = true;
  #isWriting = false;
  /** Monotonic time from which the next one may be written, and from which it is although nothing changed. */
  #mayWriteAt = Number.NEGATIVE_INFINITY;
  #renewAt = Number.NEGATIVE_INFINITY;
  #warnedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SnapshotOptions) {
    this.#options = options;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Unix milliseconds of the state from which this process began; undefined once its database was reached. */
  startedFrom: number | undefined;

  /**
   * Begins without the database: nothing asks it before `connect`.
   *
   * @param cause Why the database cannot be opened.
   * @throws {DatabaseOpenError} If there is no snapshot, or it cannot be used.
   */
  async begin(cause: Error): Promise<StateMarks> {
    try {
      const { head, marks } = await this.#hold();
      this.#isConnected = false;
      this.startedFrom = head.time;
      return marks;
    } catch (error) {
      if (!(error instanceof SnapshotError)) throw error;
      throw new DatabaseOpenError(`${cause.message}; ${error.message}`);
    }
  }

  /** The database is the one that is known: it is asked from now on. */
  connect(): void {
    this.#isConnected = true;
    this.startedFrom = undefined;
    this.#isDue = true;
  }

  /** Notes that records changed, or anything: until the next snapshot, an older one does not answer what they concern. */
  note(changes: readonly Change[] | undefined, newest: number | undefined): void {
    if (this.#stale.note(changes, newest)) this.#isDue = true;
  }

  async answer(statements: readonly InStatement[], error: Error): Promise<ResultSet[]> {
    const results = await this.#ask(statements).catch(() => undefined);
    if (!results) throw error;
    const proves = results.every((result, index) => result.rows.length > 0 || !isLookUp(statements[index] ?? ""));
    if (!proves || this.#stale.concern(statements, results)) throw error;
    return results;
  }

  async #ask(statements: readonly InStatement[]): Promise<ResultSet[] | undefined> {
    const { head, database } = await this.#hold();
    // a process that shares the file may have written an older state
    if (head.time < this.#writtenAt || this.#isTooOld(head)) return undefined;
    return database.readAsOne(statements);
  }

  #isTooOld({ time }: SnapshotHead): boolean {
    return this.#options.clock.now() - time > this.#options.maxAgeMs;
  }

  #hold(): Promise<Held> {
    if (this.#held) return this.#held;
    const held = this.#load();
    this.#held = held;
    // looked for again with the next question
    held.catch(() => {
      if (this.#held === held) this.#held = undefined;
    });
    return held;
  }

  async #load(): Promise<Held> {
    const { place, masterKeys, url, maxAgeMs } = this.#options;
    const refuse = (reason: string) =>
      new SnapshotError(`cannot use the snapshot ${place.name} (SNAPSHOT_FILE): ${reason}`);
    const content = await place.read();
    if (!content) throw new SnapshotError(`there is no snapshot ${place.name} (SNAPSHOT_FILE) to start from`);
    try {
      const head = readSnapshotHead(content);
      if (head.database !== describeDatabase(url)) throw new SnapshotError(`it is of the database ${head.database}`);
      if (this.#isTooOld(head)) {
        const hours = maxAgeMs / 3_600_000;
        throw new SnapshotError(
          `it is of ${new Date(head.time).toISOString()}, and SNAPSHOT_MAX_AGE_HOURS is ${hours}`,
        );
      }
      const state = await openSnapshot(content, masterKeys);
      const { change, nodes } = state;
      return { head, marks: { change, nodes }, database: await openState(state) };
    } catch (error) {
      if (error instanceof SnapshotError) throw refuse(error.message);
      throw error instanceof DatabaseOpenError ? refuse("a newer version of the gateway wrote it") : error;
    }
  }

  /** Lets go of what is in memory. */
  #drop(): void {
    const held = this.#held;
    this.#held = undefined;
    void held?.then(
      ({ database }) => database.close(),
      () => {},
    );
  }

  /** Writes a snapshot if one is due. */
  async write(database: Database, stores: ControlStores): Promise<void> {
    const { clock, maxAgeMs } = this.#options;
    const now = clock.monotonic();
    const isDue = (this.#isDue && now >= this.#mayWriteAt) || now >= this.#renewAt;
    if (!isDue || !this.#isConnected || this.#isWriting) return;
    this.#isWriting = true;
    this.#isDue = false;
    try {
      await this.#write(database, stores);
      this.#renewAt = clock.monotonic() + Math.min(maxAgeMs / renewalPart, longestRenewalMs);
    } catch (error) {
      this.#isDue = true;
      if (!isDatabaseAway(error)) this.#warn(error);
    } finally {
      this.#isWriting = false;
      const doneAt = clock.monotonic();
      this.#mayWriteAt = doneAt + Math.max(leastPauseMs, pauseFactor * (doneAt - now));
    }
  }

  async #write(database: Database, stores: ControlStores): Promise<void> {
    const { place, masterKeys, url, clock } = this.#options;
    // a change that is noted from now on may be missing
    const covers = this.#stale.take();
    const time = clock.now();
    const viewed = Object.values(resources).flatMap(({ reads }) => reads.map((name) => stores[name]));
    const state = await readState(database, listKnownTables(viewed));
    await place.write(await sealSnapshot(state, { time, database: describeDatabase(url) }, masterKeys[0]));
    covers(state.change);
    this.#writtenAt = time;
    this.#drop();
  }

  #warn(error: unknown): void {
    const { clock, warn, place } = this.#options;
    const now = clock.monotonic();
    if (now - this.#warnedAt < warnEveryMs) return;
    this.#warnedAt = now;
    warn(`Cannot write the snapshot ${place.name} (SNAPSHOT_FILE): no start while the database is away`, error);
  }

  /** Frees what is in memory, after the last question. */
  close(): void {
    this.#drop();
  }
}
