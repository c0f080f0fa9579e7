import { useEffect, useMemo, useReducer, useState } from "react";
import { get } from "@/api/client.ts";
import { type LogLine, toLine } from "./row.ts";

const pageRows = 100;
/** Pages in memory: those around what is in view. All others are read again when they come into view. */
const pagesInMemory = 30;

interface Page {
  /** Index of its first row. */
  readonly start: number;
  /** Rows when it was first read: indexes after it stay as they are, even if some are removed later. */
  readonly length: number;
  /** Cursor of the page; empty: the newest rows. */
  readonly cursor: string;
  readonly rows: readonly LogLine[] | undefined;
}

/**
 * Rows of the log by their place, newest first, read by cursor. Of millions of rows only the pages around what is in
 * view stay in memory; of the others only the cursor does.
 */
class PagedRows {
  readonly #query: Readonly<Record<string, string>>;
  readonly #changed: () => void;
  readonly #pages: Page[] = [];
  readonly #reading = new Set<number>();
  readonly #abort = new AbortController();
  #next: string | undefined = "";
  #view = { first: 0, last: 0 };
  error: unknown;
  isStarted = false;
  /** Rows that a search looked at; undefined without one. */
  scanned: number | undefined;

  constructor(query: Readonly<Record<string, string>>, changed: () => void) {
    this.#query = query;
    this.#changed = changed;
  }

  get length(): number {
    const last = this.#pages.at(-1);
    return last === undefined ? 0 : last.start + last.length;
  }

  get hasMore(): boolean {
    return this.#next !== undefined;
  }

  /** The row at a place; undefined while it is read. */
  at(index: number): LogLine | undefined {
    const page = this.#pages[this.#pageOf(index)];
    return page?.rows?.[index - page.start];
  }

  /** The place of a row that is in memory; -1 for others. */
  indexOf(id: string): number {
    for (const { start, rows } of this.#pages) {
      const place = rows?.findIndex((row) => row.id === id) ?? -1;
      if (place >= 0) return start + place;
    }
    return -1;
  }

  #pageOf(index: number): number {
    let [low, high] = [0, this.#pages.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#pages[middle]?.start ?? 0) <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Says which places are in view: reads what is missing there and forgets what is far away. */
  show(first: number, last: number): void {
    this.#view = { first, last };
    for (let page = this.#pageOf(first); page <= this.#pageOf(last); page++) {
      if (this.#pages[page] !== undefined && this.#pages[page]?.rows === undefined) void this.#read(page);
    }
    this.#forget();
  }

  /** Reads the next page, if there is one. */
  more(): void {
    if (this.#next !== undefined && this.error === undefined) void this.#read(this.#pages.length);
  }

  retry(): void {
    this.error = undefined;
    this.#changed();
    this.more();
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(place: number): Promise<void> {
    if (this.#reading.has(place)) return;
    this.#reading.add(place);
    const cursor = this.#pages[place]?.cursor ?? this.#next ?? "";
    try {
      const query = { ...this.#query, limit: pageRows, cursor };
      const answer = await get("/v1/logs", { query, signal: this.#abort.signal });
      const rows = answer.data.map(toLine);
      const known = this.#pages[place];
      if (known === undefined) {
        this.#pages.push({ start: this.length, length: rows.length, cursor, rows });
        this.#next = answer.next_cursor ?? undefined;
        if (answer.search !== undefined) this.scanned = (this.scanned ?? 0) + answer.search.rows_scanned;
      } else this.#pages[place] = { ...known, rows };
      this.isStarted = true;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.error = error;
    } finally {
      this.#reading.delete(place);
    }
    this.#forget();
    this.#changed();
  }

  #forget(): void {
    const middle = this.#pageOf((this.#view.first + this.#view.last) >> 1);
    for (const [place, page] of this.#pages.entries()) {
      const isFar = Math.abs(place - middle) > pagesInMemory / 2;
      if (isFar && page.rows !== undefined && place < this.#pages.length - 1) {
        this.#pages[place] = { ...page, rows: undefined };
      }
    }
  }
}

export type { PagedRows };

/**
 * The rows a query of `GET /v1/logs` finds.
 *
 * @param round Another number reads everything again.
 */
export function usePagedRows(query: Readonly<Record<string, string>>, round: number): PagedRows | undefined {
  const [, changed] = useReducer((count: number) => count + 1, 0);
  const [rows, setRows] = useState<PagedRows>();
  const key = JSON.stringify([query, round]);
  const stable = useMemo(() => JSON.parse(key)[0], [key]);
  useEffect(() => {
    const next = new PagedRows(stable, changed);
    setRows(next);
    next.more();
    return () => next.close();
  }, [stable]);
  return rows;
}
