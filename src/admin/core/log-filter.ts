import { InvalidRequestError } from "../../errors.ts";
import { firstIdOf } from "../../lib/ids.ts";
import { startsWithDay } from "../../lib/periods.ts";
import { maxText, minText } from "../../lib/text-order.ts";
import type { Condition } from "../../logs/index/conditions.ts";
import { metadataField, type StringFieldName } from "../../logs/index/fields.ts";
import type { IdRange } from "../../logs/index/find-rows.ts";
import type { RowFilter } from "../../logs/index/row-test.ts";
import { readParameter, requireKnownQuery } from "./request.ts";
import { idsBetween, readPeriod, readRowChoice, sharedFilters } from "./row-filters.ts";

const defaultLimit = 50;
const maxLimit = 100;

/** @throws {InvalidRequestError} AB01, naming the parameter. */
export function refuseFilter(name: string, wanted: string): never {
  throw new InvalidRequestError(`Cannot use ${name}: it must be ${wanted}`, { param: name, code: "AB01" });
}

function readInteger(query: URLSearchParams, name: string, bounds: { min: number; max: number }): number | undefined {
  const text = readParameter(query, name);
  if (text === null) return undefined;
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= bounds.min && value <= bounds.max))
    refuseFilter(name, `a whole number from ${bounds.min} to ${bounds.max}`);
  return value;
}

const timeForm = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/;

/** A time of the query in Unix milliseconds. @throws {InvalidRequestError} AB01 */
export function readTime(query: URLSearchParams, name: string): number | undefined {
  const text = readParameter(query, name);
  if (text === null) return undefined;
  const time = timeForm.test(text) && startsWithDay(text) ? Date.parse(text) : Number.NaN;
  if (!(time >= 0)) refuseFilter(name, "a time as ISO 8601, for example 2026-01-31T12:00:00Z");
  return time;
}

/** Parameters that compare a string, and the field of the index that each compares. */
const textFilters: readonly { name: string; field: StringFieldName; description: string }[] = [
  { name: "model", field: "model", description: "Requested model" },
  { name: "provider", field: "provider", description: "Called provider" },
  { name: "virtual_key", field: "virtualKey", description: "Slug of the stored provider" },
  { name: "api_key_id", field: "apiKey", description: "Key of the request" },
  { name: "user_id", field: "user", description: "User of the key or token" },
  { name: "operation", field: "operation", description: "Operation, as the row shows it" },
  { name: "config", field: "config", description: "Slug of the saved config" },
  { name: "mcp_server", field: "mcpServer", description: "Slug of the MCP server" },
  { name: "mcp_tool", field: "mcpTool", description: "Tool of an MCP server that was called" },
  { name: "error", field: "error", description: "Code of the failure, or its type where it has no code" },
];

const metadataStart = "metadata.";
/** Most keys of the metadata in one list. */
const maxMetadataFilters = 8;

/** Query parameters that choose rows. */
export const rowFilters = [
  { name: "from", description: "Start time, ISO 8601, inclusive" },
  { name: "to", description: "End time, ISO 8601, exclusive; after `from`" },
  { name: "time_of_generation_min", description: "Start time, ISO 8601, inclusive" },
  { name: "time_of_generation_max", description: "End time, ISO 8601, inclusive" },
  { name: "workspace_slug", description: "A workspace, for keys of the organisation; without it all of them" },
  { name: "status", description: "Status of the response" },
  { name: "stream", description: "Whether the request asked for a stream: true or false" },
  ...textFilters.map(({ name, description }) => ({ name, description })),
  { name: "ai_model", description: "Requested models, separated by commas" },
  ...Object.entries(sharedFilters).map(([name, description]) => ({ name, description })),
  {
    name: `${metadataStart}KEY`,
    description: `Value of a key of the metadata, for example \`metadata.team\`. At most ${maxMetadataFilters} keys`,
  },
];

/** Query parameters of the list. */
export const logFilters = [
  { name: "limit", description: `Rows per page, at most ${maxLimit}, default ${defaultLimit}` },
  { name: "cursor", description: "next_cursor of the previous page" },
  ...rowFilters,
];

/** What the query of a list asks for. */
interface LogFilter extends RowFilter {
  readonly limit: number;
}

/** Conditions on the metadata, and the query without them. */
function readMetadata(query: URLSearchParams): { conditions: Condition[]; others: URLSearchParams } {
  const values = new Map<string, string>();
  const others = new URLSearchParams();
  for (const [name, value] of query) {
    if (!name.startsWith(metadataStart)) others.append(name, value);
    else if (name.endsWith("[]") || name === metadataStart) refuseFilter(name, "one value of a key of the metadata");
    else if (values.has(name)) refuseFilter(name, "given once");
    else values.set(name, value);
    if (values.size > maxMetadataFilters)
      refuseFilter(name, `one of at most ${maxMetadataFilters} keys of the metadata`);
  }
  const conditions = [...values].map(
    ([name, value]): Condition => ({
      field: metadataField(name.slice(metadataStart.length)),
      oneOf: new Set([value]),
    }),
  );
  return { conditions, others };
}

function readConditions(query: URLSearchParams): Condition[] {
  const status = readInteger(query, "status", { min: 0, max: 999 });
  const stream = readParameter(query, "stream");
  if (stream !== null && stream !== "true" && stream !== "false") refuseFilter("stream", "true or false");
  const conditions: Condition[] = [];
  for (const { name, field } of textFilters) {
    const value = readParameter(query, name);
    if (value !== null) conditions.push({ field, oneOf: new Set([value]) });
  }
  if (status !== undefined) conditions.push({ field: "status", oneOf: new Set([status]) });
  if (stream !== null) conditions.push({ field: "stream", oneOf: new Set([Number(stream === "true")]) });
  return conditions;
}

/**
 * Which rows a query chooses.
 *
 * @param known Parameters of the route.
 * @throws {InvalidRequestError} AB01, naming the parameter.
 */
export function readRowFilter(query: URLSearchParams, known: readonly { name: string }[] = rowFilters): RowFilter {
  const { conditions, others } = readMetadata(query);
  requireKnownQuery(others, known);
  const { conditions: shared, ...choice } = readRowChoice(others);
  return { ...readRange(query), ...choice, conditions: [...readConditions(query), ...shared, ...conditions] };
}

/** Ids of the requests between the times of the query, in either of their forms. */
function readRange(query: URLSearchParams): IdRange {
  const from = readTime(query, "from");
  const to = readTime(query, "to");
  if (from !== undefined && to !== undefined && to <= from) refuseFilter("to", "a time after from");
  const { lower, upper } = idsBetween(readPeriod(query));
  const [least, most] = [from === undefined ? lower : firstIdOf(from), to === undefined ? upper : firstIdOf(to)];
  return { lower: maxText(least, lower), upper: minText(most, upper) };
}

/**
 * What the query of a list asks for.
 *
 * @param before Id of the last row that was shown, if the query continues a list.
 * @param known Parameters of the list.
 * @throws {InvalidRequestError} AB01, naming the parameter.
 */
export function readLogFilter(
  query: URLSearchParams,
  before: string | undefined,
  known: readonly { name: string }[] = logFilters,
): LogFilter {
  const filter = readRowFilter(query, known);
  const limit = readInteger(query, "limit", { min: 1, max: maxLimit }) ?? defaultLimit;
  return { ...filter, limit, upper: before !== undefined && before < filter.upper ? before : filter.upper };
}
