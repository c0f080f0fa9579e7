import type { CallerContext } from "../context.ts";
import { detailScopes, type requireLogAccess } from "../endpoint/log-access.ts";
import { requireScopes } from "../endpoint/role.ts";
import { PermissionError } from "../errors.ts";
import { firstIdOf, isId, timeOfId } from "../lib/ids.ts";
import type { RowFilter } from "../logs/index/row-test.ts";
import type { ListQuestion, SearchQuestion } from "../logs/read/log-reader.ts";
import type { SearchedSide } from "../logs/read/search/search-rows.ts";
import { maxWordLength, maxWords, readWords } from "../logs/read/search/words.ts";
import { refuseFilter } from "./core/log-filter.ts";
import { readText } from "./core/request.ts";

/** Days that are searched where the query names no start. */
const defaultDays = 7;

/** The parameter that searches contents. */
export const searchFilter = {
  name: "search",
  description: `Words that requests or responses must all have, at most ${maxWords}; without a start the last ${defaultDays} days`,
};

/** What a query searches for, and where. */
interface ContentSearch extends Pick<SearchQuestion, "words" | "sides"> {
  /** Id before which no row is searched. */
  readonly least: string;
}

/**
 * The search of a query; undefined without one.
 *
 * @throws {InvalidRequestError} AB01 for words that cannot be searched.
 * @throws {PermissionError} AB03 for callers who may not see the contents of rows.
 */
export async function readSearch(
  context: CallerContext,
  { content, denied }: Awaited<ReturnType<typeof requireLogAccess>>,
): Promise<ContentSearch | undefined> {
  const { searchParams: query } = context.url;
  const text = readText(query, searchFilter.name);
  if (text === undefined) return undefined;
  const words = readWords(text);
  if (!words) refuseFilter("search", `1 to ${maxWords} words, each of at most ${maxWordLength} characters`);
  await requireScopes(context, detailScopes);
  const sides = (["request", "response"] as const).filter((side: SearchedSide) => !denied.has(side));
  if (!content || sides.length === 0) {
    const message = "Forbidden! You may not see the contents of log rows, and so not search them";
    throw new PermissionError(message, { code: "AB03", param: "search" });
  }
  const isOpen = ["from", "time_of_generation_min", "timeOfGenerationMin"].every((name) => !query.get(name));
  const now = context.services.clock.now();
  return { words, sides, least: isOpen ? firstIdOf(Math.max(0, now - defaultDays * 86_400_000)) : "" };
}

const toTime = (id: string): string | null => (isId(id) ? new Date(timeOfId(id)).toISOString() : null);

/** The page of a search, and what is said of it. */
export async function searchLogs(
  { words, sides }: ContentSearch,
  question: ListQuestion,
  { logReader }: CallerContext["services"],
) {
  const { data, next, rows, characters, unavailable } = await logReader.search({ ...question, words, sides });
  const { lower, upper }: RowFilter = question;
  const search = {
    from: toTime(lower),
    to: toTime(upper),
    rows_scanned: rows,
    characters_scanned: characters,
    rows_unavailable: unavailable,
  };
  return { data, next, more: { search } };
}
