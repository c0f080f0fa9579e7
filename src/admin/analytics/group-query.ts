import { type DeniedFields, deniedFilter } from "../../logs/denied-fields.ts";
import {
  feedbackColumns,
  fieldsOfColumn,
  type GroupColumnName,
  groupColumns,
  needFeedback,
} from "../../logs/read/group-columns.ts";
import type { Grouping, GroupQuery } from "../../logs/read/groups.ts";
import { readChoice, readPage, refuseField } from "../core/request.ts";
import { readItems } from "../core/row-filters.ts";

const allColumns = Object.keys(groupColumns) as GroupColumnName[]; // its own keys

/** Columns that are there where they are asked for. */
const askedColumns: readonly GroupColumnName[] = [...feedbackColumns, "p95_first_token"];

const defaultColumns = allColumns.filter((name) => !askedColumns.includes(name));

const isColumn = (name: string): name is GroupColumnName => Object.hasOwn(groupColumns, name);

/** Whether an organisation denies nothing that a column shows. */
export const isShownColumn = (name: GroupColumnName, denied: DeniedFields): boolean =>
  fieldsOfColumn(name).every((field) => deniedFilter(field, denied) === undefined);

/** Query parameters of group endpoints. */
export const groupParameters = [
  { name: "columns", description: `Columns, separated by commas: ${allColumns.join(", ")}` },
  { name: "order_by", description: "requests, a column or the name of the group's value; default requests" },
  { name: "order_by_type", description: "asc or desc; default desc" },
  { name: "include_total", description: "false leaves out the number of all groups; default true" },
];

/** Parameters of groups that released clients also send to graphs and summaries. */
export const orderOfGraphs = ["order_by", "order_by_type"].map((name) => ({
  name,
  description: "Read by group endpoints only: the points of a graph are in the order of time",
}));

/** Reads columns, order and page. Columns that nobody asks for leave out what the organisation denies. */
export function readGroupQuery(query: URLSearchParams, grouping: Grouping, denied: DeniedFields): GroupQuery {
  const fixed = ["requests", grouping.value];
  const asked = readItems(query, "columns")?.filter((name) => !fixed.includes(name));
  const columns = (asked ?? (grouping.columns ?? defaultColumns).filter((name) => isShownColumn(name, denied))).map(
    (name) => (isColumn(name) ? name : refuseField("columns", `must be some of ${allColumns.join(", ")}`)),
  );
  const orderBy = readChoice(query, "order_by", ["requests", grouping.value, ...allColumns]) ?? "requests";
  const isOfValue = orderBy === grouping.value;
  return {
    columns,
    orderBy: isOfValue ? undefined : isColumn(orderBy) ? orderBy : "requests",
    isAscending: readChoice(query, "order_by_type", ["asc", "desc"]) === "asc",
    hasTotal: readChoice(query, "include_total", ["true", "false", "1", "0"])?.match(/false|0/) == null,
    page: readPage(query),
    readsFeedback: needFeedback(isColumn(orderBy) ? [...columns, orderBy] : columns),
  };
}
