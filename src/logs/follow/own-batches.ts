import type { LogScope } from "../../db/stores/log-scope.ts";
import type { Foreseen } from "../writer.ts";

/** What names a batch among those of its tenant. */
interface BatchName extends LogScope {
  readonly firstId: string;
  readonly lastId: string;
}

/** What is known of a batch; without `foreseen` nothing. */
interface Known extends LogScope {
  readonly foreseen: Foreseen | undefined;
}

/** Most batches that are remembered: those of half a minute under full load. */
const maxBatches = 4_096;

const nameOf = ({ firstId, lastId }: BatchName): string => `${firstId} ${lastId}`;

/** Batches that this process wrote while somebody followed the log: most of them nobody wants, and need not be read. */
export class OwnBatches {
  readonly #known = new Map<string, Known>();
  readonly #most: number;

  constructor(most: number = maxBatches) {
    this.#most = most;
  }

  /**
   * Remembers batches once they are written.
   *
   * @param foreseen Which filters may want one of their rows; undefined if that is not known.
   */
  add(batches: readonly BatchName[], foreseen: Foreseen | undefined): void {
    for (const batch of batches) {
      const name = nameOf(batch);
      const { organisationId, workspaceId } = batch;
      // of two with the same name it is not known which one is stored
      const known = this.#known.has(name) ? undefined : foreseen;
      this.#known.set(name, { organisationId, workspaceId, foreseen: known });
    }
    for (const name of this.#known.keys()) {
      if (this.#known.size <= this.#most) return;
      this.#known.delete(name);
    }
  }

  /** Whether the filter with a number may want a row of a batch. */
  mayWant(batch: BatchName, number: number): boolean {
    const known = this.#known.get(nameOf(batch));
    if (!known?.foreseen) return true;
    if (known.organisationId !== batch.organisationId || known.workspaceId !== batch.workspaceId) return true;
    return number > known.foreseen.upTo || known.foreseen.filters.includes(number);
  }

  clear(): void {
    this.#known.clear();
  }
}
