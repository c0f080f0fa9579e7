import type { LogScope } from "../../../db/stores/log-scope.ts";
import { ContentsAwayError, type LogStore } from "../../../db/stores/logs.ts";
import { runPaced } from "../../../lib/pace.ts";
import type { LogContent } from "../../../schemas/logs.ts";
import type { FoundRow } from "../../index/find-rows.ts";
import type { Redactor } from "../../redact.ts";
import { showBody } from "../../shown-body.ts";
import { allOf, findInValue, mayStandIn } from "./match.ts";

/** A side of a request whose strings are searched. */
export type SearchedSide = "request" | "response";

/** Where contents are read, and what masks streams that add up to a credential. */
export interface SearchedContents {
  readonly store: Pick<LogStore, "readContents">;
  readonly redactor: Redactor;
}

/** What is looked for, and whose rows they are. */
interface Search {
  readonly scope: LogScope;
  /** As `readWords` writes them. */
  readonly words: readonly string[];
  readonly sides: readonly SearchedSide[];
  /** Most rows that are found. */
  readonly limit: number;
}

/** Rows that were found, and how far the search came. */
interface SearchResult {
  readonly found: readonly FoundRow[];
  /** The last row that was looked at; undefined without rows. */
  readonly last: FoundRow | undefined;
  /** Rows that were looked at, and characters of contents that were read for it. */
  readonly rows: number;
  readonly characters: number;
  /** Rows whose contents are in an object store that does not respond. */
  readonly unavailable: number;
}

/** A search reads no further batch once it read so many characters. */
const maxCharacters = 32 * 2 ** 20;
/** Batches in memory: rows of batches that were written at the same time take turns. */
const batchesInMemory = 4;

type Batch = ReadonlyMap<string, LogContent | null> | "away";

const sizeOf = (content: LogContent | null): number =>
  (content?.request.body?.length ?? 0) + (content?.response.body?.length ?? 0);

async function readBatch({ store }: SearchedContents, scope: LogScope, seq: number): Promise<Batch> {
  try {
    return await store.readContents(scope, seq);
  } catch (error) {
    if (error instanceof ContentsAwayError) return "away";
    throw error;
  }
}

/** Whether all words stand in the strings of a row, as it is shown. */
async function isFound(content: LogContent, { words, sides }: Search, redactor: Redactor): Promise<boolean> {
  const bodies = sides.flatMap((side) => (content[side].body === null ? [] : [content[side]]));
  let possible = 0;
  for (const { body } of bodies) possible |= await runPaced(mayStandIn(body ?? "", words));
  if (possible !== allOf(words)) return false;
  let found = 0;
  for (const { body, truncated } of bodies) {
    const shown = body === null || truncated ? body : await showBody(body, redactor);
    found = await runPaced(findInValue(shown, words, found));
    if (found === allOf(words)) return true;
  }
  return false;
}

/**
 * Looks for words in the contents of rows, in their order, until it found enough or read as much as one search may.
 *
 * @param rows The newest first. Contents are read batch by batch.
 */
export async function searchRows(
  rows: readonly FoundRow[],
  search: Search,
  contents: SearchedContents,
): Promise<SearchResult> {
  const batches = new Map<number, Batch>();
  const found: FoundRow[] = [];
  let [looked, characters, unavailable] = [0, 0, 0];
  for (const row of rows) {
    if (found.length === search.limit) break;
    let batch = batches.get(row.seq);
    if (batch === undefined) {
      if (characters >= maxCharacters) break;
      batch = await readBatch(contents, search.scope, row.seq);
      if (batch !== "away") for (const content of batch.values()) characters += sizeOf(content);
      batches.set(row.seq, batch);
      const [oldest] = batches.keys();
      if (batches.size > batchesInMemory && oldest !== undefined) batches.delete(oldest);
    }
    looked++;
    if (batch === "away") unavailable++;
    const content = batch === "away" ? null : (batch.get(row.id) ?? null);
    if (content && (await isFound(content, search, contents.redactor))) found.push(row);
  }
  return { found, last: rows[looked - 1], rows: looked, characters, unavailable };
}
