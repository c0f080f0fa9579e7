import type { QueryParameter } from "../../endpoint.ts";
import type { IdRange } from "../../logs/index/find-rows.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { refuseField } from "../core/request.ts";
import { idsBetween, type RowChoice, readPeriod, readRowChoice, sharedFilters } from "../core/row-filters.ts";

/** A call of an analytics endpoint. */
export type AnalyticsCall = AdminCall<undefined>;

/** Requests that a call is about. */
interface RequestFilter extends RowChoice, IdRange {
  /** Unix milliseconds, both inclusive. */
  readonly from: number;
  readonly to: number;
}

/** Longest period, so that a graph has at most about 5,200 points. */
const maxPeriodMs = 100 * 366 * 86_400_000;

/** The period of a call, both ends inclusive. */
function requirePeriod(query: URLSearchParams): { from: number; to: number } {
  const {
    from = refuseField("time_of_generation_min", "must be given"),
    to = refuseField("time_of_generation_max", "must be given"),
  } = readPeriod(query);
  if (to - from > maxPeriodMs) refuseField("time_of_generation_max", "must be at most 100 years after the start");
  return { from, to };
}

/** Reads which requests a call is about. */
export function readRequestFilter(query: URLSearchParams): RequestFilter {
  const period = requirePeriod(query);
  return { ...period, ...idsBetween(period), ...readRowChoice(query) };
}

const describe = {
  workspace_slug: "A workspace, for keys of the organisation; `*`: all of them; without it the default workspace",
  time_of_generation_min: "Start of the period, ISO 8601, inclusive",
  time_of_generation_max: "End of the period, ISO 8601, inclusive",
  ...sharedFilters,
  current_page: "Page of a group endpoint, counted from 0",
  page_size: "Rows of a page, 1 to 1000, default 50",
};

/** Query parameters of every analytics endpoint. */
export const commonParameters: readonly QueryParameter[] = Object.entries(describe).map(([name, description]) => ({
  name,
  description,
  isRequired: name.startsWith("time_of_generation_"),
}));
