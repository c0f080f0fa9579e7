import { parseJson } from "../lib/json.ts";
import { isLogBatches, type LogBatch, type LogDetails } from "../schemas/logs.ts";
import { packCharged } from "./charged.ts";
import type { LogRecord } from "./record.ts";
import type { Redactor } from "./redact.ts";
import { sealDetails } from "./seal.ts";

/** A file of the journal. */
export interface JournalFile {
  /**
   * Appends a line. Once it returns, the line survives the end of the process.
   *
   * @throws If the file cannot be written.
   */
  append(line: string): void;
  /** Closes the file and removes it. */
  remove(): void;
  /** Closes the file and leaves it to the next process. */
  leave(): void;
}

/** What a process left that ended without storing its rows. */
export interface LeftJournal {
  readonly lines: readonly string[];
  remove(): void;
}

/** Where journals are, on a local disk. */
export interface JournalPlace {
  /** @throws If the file cannot be created. */
  open(): JournalFile;
  /** Files of ended processes. Each is returned to one process alone. */
  takeLeft(): Iterable<LeftJournal>;
}

/** A file, and the ids of its rows that are not stored yet. */
interface Generation {
  readonly file: JournalFile;
  readonly waiting: Set<string>;
  length: number;
}

/** Characters after which a new file begins: the next process looks at each row of a file. */
const fileLength = 256 * 1024;
/** Between two attempts to write a journal that could not be written. */
const pauseMs = 1_000;

/** Dependencies of a journal. */
interface LimitJournalOptions {
  place: JournalPlace;
  redactor: Redactor;
  /** Monotonic milliseconds. */
  monotonic(): number;
  /** Called once for each series of failures. */
  warn(message: string, error: unknown): void;
}

/** A row as it is stored alone, without its contents. */
function toBatch(record: LogRecord, redactor: Redactor): LogBatch {
  const { organisation_id, workspace_id, id } = record.details;
  return {
    organisationId: organisation_id,
    workspaceId: workspace_id,
    firstId: id,
    lastId: id,
    details: JSON.stringify([sealDetails(record, redactor)]),
    counted: JSON.stringify(record.counted ?? []),
    charged: packCharged([record.charged ?? []]),
    content: "[null]\n[null]\n",
  };
}

/**
 * Journal of the rows that add to counters of limits: what they used survives a killed process, which may not have stored
 * them. Rows are in a file until they are stored.
 */
export class LimitJournal {
  readonly #options: LimitJournalOptions;
  #current: Generation;
  readonly #byRow = new Map<string, Generation>();
  /** Monotonic time of the last failure. */
  #failedAt: number | undefined;

  /** @throws If the file cannot be created. */
  constructor(options: LimitJournalOptions) {
    this.#options = options;
    this.#current = this.#open();
  }

  #open(): Generation {
    return { file: this.#options.place.open(), waiting: new Set(), length: 0 };
  }

  /** Adds a row before its response ends. Rows that add to no counter are left out. */
  append(record: LogRecord): void {
    if (!record.counted || record.counted.length === 0) return;
    const { id } = record.details;
    if (!this.#write(JSON.stringify(toBatch(record, this.#options.redactor)))) return;
    this.#current.waiting.add(id);
    this.#byRow.set(id, this.#current);
  }

  /** Whether the journal can be written. After a failure it is tested at most once a second. */
  isWritable(): boolean {
    if (this.#failedAt === undefined) return true;
    if (this.#options.monotonic() - this.#failedAt < pauseMs) return false;
    return this.#write("");
  }

  #write(line: string): boolean {
    try {
      // a line that was written in part stays alone
      const isFull = this.#current.length >= fileLength || this.#failedAt !== undefined;
      if (isFull) this.#begin();
      this.#current.file.append(`${line}\n`);
      this.#current.length += line.length;
      this.#failedAt = undefined;
      return true;
    } catch (error) {
      if (this.#failedAt === undefined) {
        this.#options.warn("Cannot write the journal of limits: requests with limits are refused", error);
      }
      this.#failedAt = this.#options.monotonic();
      return false;
    }
  }

  /** Begins a file. The former one is removed once its rows are stored. */
  #begin(): void {
    const former = this.#current;
    this.#current = this.#open();
    if (former.waiting.size === 0) former.file.remove();
  }

  /** Forgets rows that are stored. */
  stored(records: readonly LogRecord[]): void {
    for (const { details } of records) {
      const generation = this.#byRow.get(details.id);
      if (!generation) continue;
      this.#byRow.delete(details.id);
      generation.waiting.delete(details.id);
      if (generation !== this.#current && generation.waiting.size === 0) generation.file.remove();
    }
  }

  /** Leaves the rows that could not be stored to the next process. Call it after the last row. */
  close(): void {
    for (const { file, waiting } of new Set([this.#current, ...this.#byRow.values()])) {
      if (waiting.size === 0) file.remove();
      else file.leave();
    }
  }
}

/** Rows that are stored together at start. */
const rowsAtOnce = 64;

/** What a journal is read back with. */
interface ReplayParts {
  /** Whether a row is stored. */
  isStored(row: Pick<LogDetails, "organisation_id" | "workspace_id" | "id">): Promise<boolean>;
  /** Stores rows, with what they add to counters. */
  append(batches: readonly LogBatch[]): Promise<void>;
}

/** The row of a line. Undefined for one that was not written completely. */
function readLine(line: string): LogBatch | undefined {
  const batches = [parseJson(line)];
  return isLogBatches(batches) ? batches[0] : undefined;
}

/**
 * Stores the rows that ended processes did not store, and what they used. Counters are read afterwards.
 *
 * @throws If the database is away: the files stay.
 */
export async function replayJournals(place: JournalPlace, { isStored, append }: ReplayParts): Promise<void> {
  for (const { lines, remove } of place.takeLeft()) {
    const lost: LogBatch[] = [];
    for (const batch of lines.map(readLine)) {
      if (!batch) continue;
      const { organisationId: organisation_id, workspaceId: workspace_id, firstId: id } = batch;
      if (!(await isStored({ organisation_id, workspace_id, id }))) lost.push(batch);
    }
    for (let first = 0; first < lost.length; first += rowsAtOnce) await append(lost.slice(first, first + rowsAtOnce));
    remove();
  }
}
