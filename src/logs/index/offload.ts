import type { LogObjectStore, WaitingContent } from "../../db/stores/log-objects.ts";
import { joinBytes } from "../../lib/bytes.ts";
import { isId, timeOfId } from "../../lib/ids.ts";
import { giveWay } from "../../lib/pace.ts";

/** An object is written once it has so many bytes, so many batches, or its oldest contents have waited so long. */
const objectBytes = 8 * 2 ** 20;
const objectBatches = 1_024;
const objectAgeMs = 5 * 60_000;
/** The requests of an object began within this time, except in a single batch: its contents are removed together. */
const objectSpanMs = 60 * 60_000;
/** Contents whose sizes are read at a time. */
const pageContents = 1_024;
/** Contents that are read or deleted at a time: most batches, and most bytes unless one has more. */
const fewContents = 64;
const fewBytes = 2 ** 20;
/** After a failure. Each further one doubles the pause. */
const firstPauseMs = 1_000;
const maxPauseMs = 60_000;

/** Where objects are stored. */
export interface Objects {
  put(name: string, content: Uint8Array): Promise<void>;
  remove(name: string): Promise<void>;
}

/** Contents of an organisation that become an object together. */
interface Draft {
  readonly contents: WaitingContent[];
  bytes: number;
  /** When the first of them was found, and the time of its first request: Unix milliseconds. */
  readonly foundAt: number;
  readonly beganAt: number;
}

/** Lists of few contents each. */
function inFew(contents: readonly WaitingContent[]): WaitingContent[][] {
  const lists: WaitingContent[][] = [];
  let bytes = 0;
  for (const content of contents) {
    const list = lists.at(-1);
    if (list && list.length < fewContents && bytes + content.bytes <= fewBytes) list.push(content);
    else {
      lists.push([content]);
      bytes = 0;
    }
    bytes += content.bytes;
  }
  return lists;
}

/** Name of an object: it begins with its organisation and hour, so that other tools find it. */
function nameOf({ organisationId }: WaitingContent, beganAt: number, id: string): string {
  const [date = "", time = ""] = new Date(beganAt).toISOString().split("T");
  return `${organisationId}/${date.replaceAll("-", "/")}/${time.slice(0, 2)}/${id}`;
}

/** Unix milliseconds; 0 for what this program did not write. */
const beganAtOf = (id: string): number => (isId(id) ? timeOfId(id) : 0);

const seqsOf = (contents: readonly WaitingContent[]) => contents.map(({ seq }) => seq);

/**
 * Moves contents of the log from the database to an object store, many batches in one object. Until an object is stored,
 * and while the store is away, they stay in the database. It may run in several processes at once, and be killed at any
 * time: contents are in the database, in an object, or in both.
 */
export class LogOffload {
  readonly #store: LogObjectStore;
  readonly #objects: Objects;
  readonly #now: () => number;
  readonly #createId: () => string;
  /** By organisation. */
  readonly #drafts = new Map<string, Draft>();
  readonly #ready: Draft[] = [];
  #moved: WaitingContent[] = [];
  #lastSeq = 0;
  #failures = 0;
  #retryAt = 0;
  #isClosed = false;
  #running: Promise<unknown> = Promise.resolve();

  constructor(store: LogObjectStore, objects: Objects, tools: { now(): number; createId(): string }) {
    this.#store = store;
    this.#objects = objects;
    this.#now = tools.now;
    this.#createId = tools.createId;
  }

  /**
   * Takes one step: stores an object, or deletes one.
   *
   * @returns Whether there may be more to do.
   * @throws If the object store or the database fails; the next steps do nothing for a while.
   */
  async step(): Promise<boolean> {
    if (this.#isClosed || performance.now() < this.#retryAt) return false;
    const step = this.#step();
    this.#running = step.catch(() => {});
    try {
      const isMore = await step;
      this.#failures = 0;
      return isMore;
    } catch (error) {
      this.#retryAt = performance.now() + Math.min(firstPauseMs * 2 ** this.#failures++, maxPauseMs);
      throw error;
    }
  }

  /** Waits for the running step. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#running;
  }

  async #step(): Promise<boolean> {
    await this.#find();
    // of a process that ended before it deleted them
    const moved = this.#moved;
    this.#moved = [];
    await this.#drop(moved);
    const [draft] = this.#ready;
    if (draft) {
      if (!(await this.#write(draft))) return false;
      this.#ready.shift();
      return true;
    }
    const removed = await this.#store.nextRemoved(this.#now());
    if (!removed) return false;
    await this.#objects.remove(removed.name);
    await this.#store.forget(removed.id);
    return true;
  }

  /** Looks for contents that came since the last time, until an object is ready. */
  async #find(): Promise<void> {
    while (this.#ready.length === 0) {
      const found = await this.#store.listWaiting(this.#lastSeq, pageContents);
      for (const content of found) {
        this.#lastSeq = content.seq;
        if (content.isMoved) this.#moved.push(content);
        else this.#add(content);
      }
      if (found.length < pageContents) break;
      await giveWay();
    }
    for (const [organisationId, draft] of this.#drafts) {
      if (this.#now() - draft.foundAt >= objectAgeMs) this.#finish(organisationId, draft);
    }
  }

  #add(content: WaitingContent): void {
    const { organisationId, bytes, firstId, lastId } = content;
    const known = this.#drafts.get(organisationId);
    const isNear = known && Math.abs(beganAtOf(lastId) - known.beganAt) <= objectSpanMs;
    if (known && !isNear) this.#finish(organisationId, known);
    const draft =
      known && isNear ? known : { contents: [], bytes: 0, foundAt: this.#now(), beganAt: beganAtOf(firstId) };
    draft.contents.push(content);
    draft.bytes += bytes;
    this.#drafts.set(organisationId, draft);
    if (draft.bytes >= objectBytes || draft.contents.length >= objectBatches) this.#finish(organisationId, draft);
  }

  #finish(organisationId: string, draft: Draft): void {
    this.#drafts.delete(organisationId);
    this.#ready.push(draft);
  }

  /** Stores an object. False if another process writes one: it may have the same contents. */
  async #write({ contents, beganAt }: Draft): Promise<boolean> {
    const [first] = contents;
    if (!first) return true;
    const name = nameOf(first, beganAt, this.#createId());
    const lastId =
      contents
        .map((content) => content.lastId)
        .sort()
        .at(-1) ?? "";
    const id = await this.#store.begin({ organisationId: first.organisationId, name, lastId }, this.#now());
    if (id === undefined) return false;
    try {
      const pieces: { seq: number; content: Uint8Array }[] = [];
      for (const few of inFew(contents)) {
        for (const piece of await this.#store.readWaiting(seqsOf(few))) pieces.push(piece);
        await giveWay();
      }
      let end = 0;
      const places = pieces.map(({ seq, content: { length: bytes } }) => {
        const start = end;
        end += bytes;
        return { seq, start, bytes };
      });
      if (places.length > 0) await this.#objects.put(name, joinBytes(pieces.map(({ content }) => content)));
      const isPublished = places.length > 0 && (await this.#store.publish(id, places, this.#now()));
      if (!isPublished) await this.#store.abandon(id, this.#now());
      else await this.#drop(contents);
      return true;
    } catch (error) {
      // the store may have it, although it did not say so
      await this.#store.abandon(id, this.#now()).catch(() => {});
      throw error;
    }
  }

  /** Deletes contents that an object has, in small transactions: others write in between. */
  async #drop(contents: readonly WaitingContent[]): Promise<void> {
    for (const few of inFew(contents)) {
      await this.#store.dropMoved(seqsOf(few));
      await giveWay();
    }
  }
}
