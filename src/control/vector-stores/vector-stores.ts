import type { ControlStores } from "../../db/stores/control.ts";
import type { VectorStorePlace, VectorStoreStore } from "../../db/stores/vector-stores.ts";
import type { VectorStoreRow } from "../../db/tables/vector-stores.ts";
import type { Clock } from "../../lib/clock.ts";
import { FairGate } from "../../lib/fair-gate.ts";
import type { Vault } from "../vault.ts";
import { BlockSeal, createStoreKey, secretsOf } from "./block-seal.ts";

/** Rows that the cleanup reads at a time. */
const goneAtOnce = 100;
/** Searches among vectors at once: each holds a few megabytes, and reads through a whole store. */
const searchesAtOnce = 2;

/** What vector stores are made from. */
interface VectorStoreOptions {
  readonly store: VectorStoreStore;
  readonly stores: Pick<ControlStores, "vectorStores" | "secrets">;
  readonly vault: Vault;
  readonly clock: Clock;
}

/** Vector stores of the gateway, and a way to wake the runner that fills them. */
export class VectorStores {
  readonly store: VectorStoreStore;
  /** Lets workspaces take turns. */
  readonly searches = new FairGate(searchesAtOnce);
  readonly #options: VectorStoreOptions;
  #listener: () => void = () => {};

  constructor(options: VectorStoreOptions) {
    this.#options = options;
    this.store = options.store;
  }

  /** Wakes this node's runner: there is work, or it may be gone. */
  wake(): void {
    this.#listener();
  }

  /** Sets the listener that is woken. */
  onWake(listener: () => void): void {
    this.#listener = listener;
  }

  /** Stores a new one, with its key. */
  async create(row: VectorStoreRow): Promise<void> {
    const { stores, clock } = this.#options;
    const key = await createStoreKey(row, this.#options, clock.now());
    await this.store.write([stores.vectorStores.insert(row, row), stores.secrets.insert(row, key)]);
  }

  /** What seals and opens the contents of a store. */
  sealOf(store: VectorStorePlace): Promise<BlockSeal> {
    return BlockSeal.of(store, this.#options);
  }

  /** Deletes a store: without its key nothing opens its contents, which the cleanup removes. */
  async remove(row: VectorStoreRow): Promise<void> {
    const { stores } = this.#options;
    await this.store.write([
      stores.vectorStores.update(row, { id: row.id }, { status: "deleted" }),
      stores.secrets.remove(row, secretsOf(row)),
    ]);
    await this.#purge(row).catch(() => {}); // otherwise the cleanup does it
  }

  /** Removes what was deleted, has expired or belongs to a deleted workspace; run it once a minute. */
  async cleanUp(): Promise<void> {
    const { store } = this;
    for (;;) {
      const gone = await store.listGone(goneAtOnce);
      for (const row of gone) await this.#purge(row);
      if (gone.length < goneAtOnce) break;
    }
    for (;;) {
      const files = await store.listGoneFiles(this.#options.clock.now(), goneAtOnce);
      for (const file of files) await store.removeFile(file);
      if (files.length < goneAtOnce) return;
    }
  }

  async #purge(row: VectorStoreRow): Promise<void> {
    const { stores } = this.#options;
    await this.store.purge(row);
    await this.store.write([
      stores.secrets.remove(row, secretsOf(row)),
      stores.vectorStores.remove(row, { id: row.id }),
    ]);
  }
}
