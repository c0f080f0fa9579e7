import { isObject } from "../../lib/json.ts";
import type { Condition } from "../../logs/index/conditions.ts";
import type { RowTerms } from "../../logs/index/row-test.ts";
import type { ExportFilters } from "../../schemas/log-exports.ts";
import { maxExportedRows } from "../../schemas/log-exports.ts";
import { readRequestFilter } from "../analytics/filters.ts";
import { findDeniedFilter } from "../core/row-filters.ts";

/** What has another meaning in a query than the other filters. */
const notInQuery = new Set(["workspace_slug", "page_size", "current_page"]);

/** Filters as a query of analytics, whose rules hold here too. */
function toQuery(filters: ExportFilters, now: number): URLSearchParams {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) {
    if (notInQuery.has(name) || value === null || value === undefined) continue;
    query.set(name, isObject(value) ? JSON.stringify(value) : String(value));
  }
  if (!query.has("time_of_generation_min")) query.set("time_of_generation_min", "1970-01-01T00:00:00Z");
  if (!query.has("time_of_generation_max")) query.set("time_of_generation_max", new Date(now).toISOString());
  return query;
}

/** The first filter that would reveal a denied field. */
export function deniedExportFilter(filters: ExportFilters, denied: ReadonlySet<string>) {
  return findDeniedFilter((filter) => filters[filter as keyof ExportFilters] != null, denied); // others are absent
}

/** The rows that an export is about. */
interface ExportQuery {
  /** Ids: `lower` inclusive, `upper` exclusive. */
  readonly lower: string;
  readonly upper: string;
  readonly conditions: readonly Condition[];
  /** Rows before the first, and most rows. */
  readonly offset: number;
  readonly limit: number;
  readonly terms: RowTerms;
}

/**
 * Reads the filters of an export.
 *
 * @param userId Only rows of this user; null: of all.
 * @throws {InvalidRequestError} AB01, naming the filter.
 */
export function readExportQuery(filters: ExportFilters, userId: string | null, now: number): ExportQuery {
  const query = toQuery(filters, now);
  const { lower, upper, conditions: read, terms } = readRequestFilter(query);
  const conditions: Condition[] = [...read];
  if (userId !== null) conditions.push({ field: "user", oneOf: new Set([userId]) });
  const limit = filters.page_size ?? maxExportedRows;
  return {
    lower,
    upper,
    conditions,
    terms,
    offset: (filters.current_page ?? 0) * limit,
    limit,
  };
}
