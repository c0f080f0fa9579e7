import type { AnswerOf, BodyOf } from "../../../api/client.ts";
import { isJsonObject } from "../../../lib/json.ts";
import { isRangeName, rangeNames } from "../../../lib/period.ts";
import type { Search } from "../../../lib/search.ts";
import { readFilters } from "../filters.ts";

// A question to a page, as its address says it and as it is stored.

export type SavedView = AnswerOf<"GET /v1/saved-views">["data"][number];
type Question = BodyOf<"POST /v1/saved-views">["question"];

/** Members of an address beside filters and range, and what a question calls them. */
const strings = { group: "group", figure: "figure", graph: "chart", order: "order_by", direction: "order" } as const;
const flags = { sum: "running_sum", before: "range_before" } as const;

const known: ReadonlySet<string> = new Set([
  "filters",
  "range",
  "columns",
  ...Object.values(strings),
  ...Object.values(flags),
]);

/** A column of an address: `model`, or `model:12` with its width in rem. */
export interface ViewColumn {
  readonly name: string;
  readonly width?: number;
}

/** The columns that an address names. */
export function readColumns(columns: string | undefined): readonly ViewColumn[] {
  return (columns ?? "").split(",").flatMap((one): ViewColumn[] => {
    const [, name = "", width] = /^(.+?)(?::(\d+(?:\.\d+)?))?$/.exec(one) ?? [];
    if (name === "") return [];
    return [width === undefined ? { name } : { name, width: Number(width) }];
  });
}

export const writeColumns = (columns: readonly ViewColumn[]): string =>
  columns.map(({ name, width }) => (width === undefined ? name : `${name}:${width}`)).join(",");

function rangeOf({ range, from, to }: Search): Question["range"] {
  if (range !== undefined) return rangeNames.find((name) => name === range);
  if (from === undefined && to === undefined) return undefined;
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

/** The question of an address. */
export function toQuestion(search: Search): Question {
  const filters = readFilters(search);
  const range = rangeOf(search);
  const columns = readColumns(search.columns);
  const given = Object.entries(strings).flatMap(([name, member]) => {
    const value = search[name];
    return value === undefined || value === "" ? [] : [[member, value] as const];
  });
  const on = Object.entries(flags).flatMap(([name, member]) => (search[name] === "1" ? [[member, true] as const] : []));
  return {
    ...(filters.length > 0 && { filters: Object.fromEntries(filters) }),
    ...(range !== undefined && { range }),
    ...Object.fromEntries([...given, ...on]),
    ...(columns.length > 0 && { columns: [...columns] }),
  };
}

/** The address of a stored question, without what this console does not know. */
export function toSearch(question: SavedView["question"]): Search {
  const { filters = {}, range, columns = [] } = question;
  const shown = Object.entries(strings).map(([name, member]) => [name, question[member]] as const);
  const on = Object.entries(flags).map(
    ([name, member]) => [name, question[member] === true ? "1" : undefined] as const,
  );
  const ends = typeof range === "string" ? { range: isRangeName(range) ? range : undefined } : { ...range };
  const members = Object.entries({ ...ends, ...Object.fromEntries([...shown, ...on]) });
  return {
    ...Object.fromEntries(readFilters(filters)),
    ...Object.fromEntries(members.filter((member): member is [string, string] => typeof member[1] === "string")),
    ...(columns.length > 0 && { columns: writeColumns(columns) }),
  };
}

/** What a stored question has that this console does not know: a later version may have saved it. */
export function unknownIn(question: SavedView["question"]): readonly string[] {
  const { filters = {} } = question;
  const found = new Set(readFilters(filters).map(([name]) => name));
  return [
    ...Object.keys(question).filter((name) => !known.has(name)),
    ...Object.keys(filters).filter((name) => !found.has(name)),
  ];
}

/** Whether two addresses ask the same. */
export function asksSame(one: Search, other: Search): boolean {
  const sorted = (search: Search) =>
    JSON.stringify(toQuestion(search), (_, value: unknown) =>
      isJsonObject(value) ? Object.fromEntries(Object.entries(value).toSorted()) : value,
    );
  return sorted(one) === sorted(other);
}
