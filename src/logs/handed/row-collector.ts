import { startTimer } from "../../lib/clock.ts";
import { mostTogether, type PackedBatch } from "../pack.ts";
import { joinPacked, rowsOf } from "./packed-message.ts";

/** Rows and bytes that are written without waiting for more. */
const enoughRows = 256;
const enoughBytes = 2 * 1024 * 1024;
/** Longest time a batch waits for others, in milliseconds. */
const waitMs = 100;
/** Most writes at a time. */
const writesAtOnce = 8;

/** Dependencies of a collector. */
interface CollectorOptions {
  /** Stores batches, all or none. */
  append(batches: readonly PackedBatch[]): Promise<void>;
  /** Whether an error means that a batch can never be stored. */
  isPermanent(error: unknown): boolean;
  /** Whether the first row of a batch is stored. */
  isStored(batch: PackedBatch): Promise<boolean>;
}

/** What became of a batch: it is stored, or can never be. */
export type Taken = "stored" | "refused";

interface Waiting {
  readonly batch: PackedBatch;
  resolve(taken: Taken): void;
  reject(error: unknown): void;
}

const nameOf = ({ organisationId, workspaceId, firstId, lastId }: PackedBatch): string =>
  JSON.stringify([organisationId, workspaceId, firstId, lastId]);

/** Puts the small batches of several processes together, so that each write stores many rows. */
export class RowCollector {
  readonly #options: CollectorOptions;
  #waiting: Waiting[] = [];
  #rows = 0;
  #bytes = 0;
  #writes = 0;
  #cancel: (() => void) | undefined;
  /** Batches that are not stored yet, by their ids. */
  readonly #pending = new Map<string, Promise<Taken>>();

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  /** Stores a batch. */
  take(batch: PackedBatch): Promise<Taken> {
    const name = nameOf(batch);
    const taken = new Promise<Taken>((resolve, reject) => {
      this.#waiting.push({ batch, resolve, reject });
    }).finally(() => this.#pending.delete(name));
    this.#pending.set(name, taken);
    this.#rows += rowsOf(batch);
    this.#bytes += batch.bodies.length + batch.details.length;
    this.#plan();
    return taken;
  }

  /**
   * Stores a batch that was sent before: perhaps to a process that ended, which may have stored it.
   *
   * @param missing Called if it is not stored yet.
   * @param checked Called once that is known.
   */
  async takeAgain(batch: PackedBatch, missing: () => void, checked: () => void): Promise<Taken> {
    try {
      await this.#pending.get(nameOf(batch))?.catch(() => {});
      if (await this.#options.isStored(batch)) return "stored";
      missing();
    } finally {
      checked();
    }
    return this.take(batch);
  }

  /** Stores what waits. */
  async close(): Promise<void> {
    while (this.#pending.size > 0) {
      this.#write();
      await Promise.allSettled(this.#pending.values());
    }
  }

  #plan(): void {
    if (this.#writes >= writesAtOnce) return;
    if (this.#rows >= enoughRows || this.#bytes >= enoughBytes) this.#write();
    else if (this.#waiting.length > 0) this.#cancel ??= startTimer(waitMs, () => this.#write());
  }

  #write(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    this.#rows = 0;
    this.#bytes = 0;
    this.#writes++;
    this.#store(waiting).finally(() => {
      this.#writes--;
      this.#plan();
    });
  }

  async #store(waiting: readonly Waiting[]): Promise<void> {
    const { append, isPermanent } = this.#options;
    try {
      await append(joinByTenant(waiting.map(({ batch }) => batch)));
      for (const { resolve } of waiting) resolve("stored");
    } catch (error) {
      const [only, ...others] = waiting;
      if (!isPermanent(error)) for (const { reject } of waiting) reject(error);
      else if (only && others.length === 0) only.resolve("refused");
      else for (const one of waiting) await this.#store([one]);
    }
  }
}

/** Batches of the same tenant as one, as long as it has not too many rows. */
function joinByTenant(batches: readonly PackedBatch[]): PackedBatch[] {
  const tenants = new Map<string, PackedBatch[]>();
  for (const batch of batches) {
    const tenant = JSON.stringify([batch.organisationId, batch.workspaceId]);
    const list = tenants.get(tenant) ?? [];
    tenants.set(tenant, list);
    list.push(batch);
  }
  return [...tenants.values()].flatMap(joinSome);
}

function joinSome(batches: readonly PackedBatch[]): PackedBatch[] {
  const joined: PackedBatch[] = [];
  let together: PackedBatch[] = [];
  let rows = 0;
  const end = () => {
    const [first, ...others] = together;
    if (first) joined.push(joinPacked([first, ...others]));
    together = [];
    rows = 0;
  };
  for (const batch of batches) {
    if (rows + rowsOf(batch) > mostTogether) end();
    together.push(batch);
    rows += rowsOf(batch);
  }
  end();
  return joined;
}
