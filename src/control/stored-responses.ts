import { isRefusedStatement } from "../db/client.ts";
import type { ResponseLink, ResponseOwner, StoredResponseStore } from "../db/stores/stored-responses.ts";
import type { StoredResponseRow } from "../db/tables/stored-responses.ts";
import { startTimer } from "../lib/clock.ts";
import { dayMs } from "../lib/periods.ts";
import { writeApart } from "../lib/write-apart.ts";
import { decryptText, encryptText, importDataKey } from "./vault.ts";

/** Stored content of a response. */
export interface StoredResponseContent {
  /** Items of its input, without the previous conversation. */
  input: readonly Readonly<Record<string, unknown>>[];
  /** The response as returned. */
  response: Readonly<Record<string, unknown>>;
}

/** A stored response. */
export interface StoredResponse extends ResponseOwner, StoredResponseContent {
  id: string;
  previousId: string | null;
  /** Unix milliseconds. */
  createdAt: number;
  /** Its size in bytes, roughly. */
  bytes: number;
}

/** A response and its predecessors. */
interface ResponseChain {
  /** Oldest first. */
  links: StoredResponseContent[];
  /** Id of the missing response; undefined for a complete chain. */
  missing: string | undefined;
}

/** Stored responses. New ones are written a little later, and found at once. */
export interface StoredResponses {
  add(response: StoredResponse): void;
  find(owner: ResponseOwner, id: string): Promise<StoredResponseContent | undefined>;
  chain(owner: ResponseOwner, id: string): Promise<ResponseChain>;
  /** Whether it existed. */
  remove(owner: ResponseOwner, id: string): Promise<boolean>;
  /** Removes expired responses, and those of deleted workspaces. */
  cleanUp(): Promise<void>;
  /** Writes waiting responses. */
  close(): Promise<void>;
}

/** Options of the store of responses. */
export interface StoredResponsesOptions {
  store: StoredResponseStore;
  /** 32 bytes; seals every response. */
  key: Uint8Array<ArrayBuffer>;
  now(): number;
  retentionDays: number;
  /** Called once for each series of failing writes. */
  warn(message: string, error?: unknown): void;
  /** Most waiting responses and bytes. Default 1,000 and 64 MiB. */
  limits?: { rows: number; bytes: number };
}

const flushAfterMs = 100;
const maxPauseMs = 5_000;
/** Rows and bytes of one write, few enough not to block the event loop. */
const batchRows = 32;
const batchBytes = 1024 * 1024;
const purgeRows = 500;
/** Most responses of one conversation. */
const maxLinks = 1_000;

interface Waiting {
  response: StoredResponse;
  /** Set once it is sealed. */
  row?: StoredResponseRow;
}

const contentOf = ({ response: { input, response } }: Waiting): StoredResponseContent => ({ input, response });

const sizeOf = ({ response, row }: Waiting): number => row?.sealed.length ?? response.bytes;

const keyOf = ({ organisationId, workspaceId }: ResponseOwner, id: string): string =>
  JSON.stringify([organisationId, workspaceId, id]);

/** Owner and id of a response as authenticated data: a moved row does not open. */
const placeOf = (owner: ResponseOwner, id: string): string => `v1|response|${keyOf(owner, id)}`;

class ResponseKeeper implements StoredResponses {
  readonly #options: StoredResponsesOptions;
  readonly #limits: { rows: number; bytes: number };
  readonly #waiting = new Map<string, Waiting>();
  #key: Promise<CryptoKey> | undefined;
  #cancelTimer: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  #failures = 0;

  constructor(options: StoredResponsesOptions) {
    this.#options = options;
    this.#limits = options.limits ?? { rows: 1_000, bytes: 64 * 1024 * 1024 };
  }

  add(response: StoredResponse): void {
    this.#waiting.set(keyOf(response, response.id), { response });
    this.#makeRoom();
    this.#schedule();
  }

  async find(owner: ResponseOwner, id: string): Promise<StoredResponseContent | undefined> {
    const waiting = this.#waiting.get(keyOf(owner, id));
    if (waiting) return contentOf(waiting);
    const [link] = await this.#options.store.chain(owner, id, 1);
    return link && this.#open(owner, link);
  }

  async chain(owner: ResponseOwner, id: string): Promise<ResponseChain> {
    const links: StoredResponseContent[] = [];
    let next: string | null = id;
    // waiting responses are newer than all written ones
    while (next !== null) {
      const waiting = this.#waiting.get(keyOf(owner, next));
      if (!waiting) break;
      links.push(contentOf(waiting));
      next = waiting.response.previousId;
    }
    if (next !== null) {
      const stored = await this.#options.store.chain(owner, next, maxLinks);
      for (const link of stored) links.push(await this.#open(owner, link));
      const last = stored.at(-1);
      next = last ? last.previousId : next;
    }
    return { links: links.reverse(), missing: next ?? undefined };
  }

  async remove(owner: ResponseOwner, id: string): Promise<boolean> {
    const waited = this.#waiting.delete(keyOf(owner, id));
    // one that is being written is removed afterwards
    return (await this.#options.store.remove(owner, id)) || waited;
  }

  async cleanUp(): Promise<void> {
    const { store, now, retentionDays } = this.#options;
    const time = now() - retentionDays * dayMs;
    while ((await store.purge(time, purgeRows)) === purgeRows);
    while ((await store.purgeArchived(purgeRows)) === purgeRows);
  }

  async close(): Promise<void> {
    this.#cancelTimer?.();
    await this.#writing;
    this.#cancelTimer?.();
    while (this.#waiting.size > 0 && (await this.#writeBatch()));
  }

  #seal(): Promise<CryptoKey> {
    this.#key ??= importDataKey(this.#options.key);
    return this.#key;
  }

  async #open(owner: ResponseOwner, { id, sealed }: ResponseLink): Promise<StoredResponseContent> {
    // `add` sealed this value
    return JSON.parse(await decryptText(await this.#seal(), placeOf(owner, id), sealed)) as StoredResponseContent;
  }

  async #toRow({ response }: Waiting): Promise<StoredResponseRow> {
    const { id, organisationId, workspaceId, previousId, createdAt, input, response: answer } = response;
    const text = JSON.stringify({ input, response: answer } satisfies StoredResponseContent);
    const sealed = await encryptText(await this.#seal(), placeOf(response, id), text);
    return { id, organisationId, workspaceId, previousId, sealed, createdAt };
  }

  #schedule(): void {
    const pauseMs = Math.min(flushAfterMs * 2 ** this.#failures, maxPauseMs);
    this.#cancelTimer ??= startTimer(pauseMs, () => {
      this.#cancelTimer = undefined;
      this.#writing ??= this.#drain().finally(() => {
        this.#writing = undefined;
        if (this.#waiting.size > 0) this.#schedule();
      });
    });
  }

  async #drain(): Promise<void> {
    while (this.#waiting.size > 0 && (await this.#writeBatch()));
  }

  /** Writes the oldest waiting responses; false when the store failed. */
  async #writeBatch(): Promise<boolean> {
    const batch = this.#nextBatch();
    try {
      for (const [, waiting] of batch) waiting.row ??= await this.#toRow(waiting);
      // those removed meanwhile stay removed
      const rows = batch.filter(([key, waiting]) => this.#waiting.get(key) === waiting).map(([, { row }]) => row);
      await this.#write(rows.filter((row) => row !== undefined));
    } catch (error) {
      if (this.#failures++ === 0) this.#options.warn("Cannot store responses: they wait in memory", error);
      this.#makeRoom();
      return false;
    }
    this.#failures = 0;
    for (const [key, waiting] of batch) if (this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    return true;
  }

  /** A response that the store never takes is dropped: later requests do not find it. */
  async #write(rows: readonly StoredResponseRow[]): Promise<void> {
    if (rows.length === 0) return;
    const { store, warn } = this.#options;
    const refused = await writeApart(rows, (some) => store.write(some), isRefusedStatement);
    for (const { row, error } of refused) warn(`Cannot store the response ${row.id}: the database rejected it`, error);
  }

  /** The oldest waiting responses, at least one. */
  #nextBatch(): [string, Waiting][] {
    const batch: [string, Waiting][] = [];
    let bytes = 0;
    for (const entry of this.#waiting) {
      bytes += sizeOf(entry[1]);
      if (batch.length > 0 && (batch.length === batchRows || bytes > batchBytes)) break;
      batch.push(entry);
    }
    return batch;
  }

  /** Drops the oldest while too many are waiting. */
  #makeRoom(): void {
    let bytes = 0;
    for (const waiting of this.#waiting.values()) bytes += sizeOf(waiting);
    for (const [key, waiting] of this.#waiting) {
      const fits = this.#waiting.size <= this.#limits.rows && bytes <= this.#limits.bytes;
      if (fits || this.#waiting.size === 1) return;
      this.#waiting.delete(key);
      bytes -= sizeOf(waiting);
    }
  }
}

/** Creates the store of responses. */
export function createStoredResponses(options: StoredResponsesOptions): StoredResponses {
  return new ResponseKeeper(options);
}
