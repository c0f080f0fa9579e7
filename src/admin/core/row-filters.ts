import * as v from "valibot";
import type { Services } from "../../context.ts";
import type { Tenant } from "../../db/tenant-store.ts";
import { firstIdOf } from "../../lib/ids.ts";
import { plainIssues } from "../../lib/issues.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { deniedFilter } from "../../logs/denied-fields.ts";
import type { Condition } from "../../logs/index/conditions.ts";
import {
  digestOfId,
  labelField,
  metadataField,
  type NumberFieldName,
  type StringFieldName,
} from "../../logs/index/fields.ts";
import type { IdRange } from "../../logs/index/find-rows.ts";
import { type Bounds, pairOf, type RowTerms } from "../../logs/index/row-test.ts";
import { Time } from "../../schemas/control.ts";
import { CacheStatus, RowSource } from "../../schemas/logs.ts";
import { forbid, readParameter, readText, refuseField, requireFound } from "./request.ts";

// Filters of log rows that lists, the tail, exports and analytics have in common: their names and rules.

/** Which rows filters choose. */
export interface RowChoice {
  readonly conditions: readonly Condition[];
  /** What the conditions do not say exactly. */
  readonly terms: RowTerms;
}

/** Longest comma list or JSON in a parameter, and most items of a list. */
const maxLength = 16_384;
const maxItems = 1_000;

function readLong(query: URLSearchParams, name: string): string | undefined {
  const text = readParameter(query, name);
  if (text === null || text === "") return undefined;
  if (text.length > maxLength || text.includes("\0")) {
    refuseField(name, `must have at most ${maxLength} characters, none of them U+0000`);
  }
  return text;
}

/** Items of a comma list; undefined without any. */
export function readItems(query: URLSearchParams, name: string): string[] | undefined {
  const items = readLong(query, name)
    ?.split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
  if ((items?.length ?? 0) > maxItems) refuseField(name, `must have at most ${maxItems} items`);
  return items?.length === 0 ? undefined : items;
}

function readItemSet(query: URLSearchParams, name: string): ReadonlySet<string> | undefined {
  const items = readItems(query, name);
  return items && new Set(items);
}

/** Ids that callers choose: items of a comma list, and the whole text, since such an id may have commas. */
function readIdSet(query: URLSearchParams, name: string): ReadonlySet<string> | undefined {
  const items = readItems(query, name);
  return items && new Set([...items, readParameter(query, name) ?? ""]);
}

function readMoment(query: URLSearchParams, name: string): number | undefined {
  const text = readText(query, name);
  if (text === undefined) return undefined;
  const checked = v.safeParse(Time, text, plainIssues);
  if (!checked.success) return refuseField(name, checked.issues[0].message);
  return checked.output >= 0 ? checked.output : refuseField(name, "must not be before 1970");
}

/** Start and end of a period in Unix milliseconds, both inclusive; undefined where the query names none. */
export function readPeriod(query: URLSearchParams): { from: number | undefined; to: number | undefined } {
  const from = readMoment(query, "time_of_generation_min");
  const to = readMoment(query, "time_of_generation_max");
  if (from !== undefined && to !== undefined && to < from) {
    refuseField("time_of_generation_max", "must not be before time_of_generation_min");
  }
  return { from, to };
}

/** Greater than any ULID. */
const lastPossibleId = "~";

/** Ids of the requests that began in a period. */
export function idsBetween({ from, to }: { from: number | undefined; to: number | undefined }): IdRange {
  return {
    lower: from === undefined ? "" : firstIdOf(from),
    upper: to === undefined ? lastPossibleId : firstIdOf(to + 1),
  };
}

const numberForm = /^-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

interface NumberRules {
  readonly min: number;
  readonly max?: number;
  readonly isWhole?: boolean;
}

function readNumber(query: URLSearchParams, name: string, { min, max, isWhole = false }: NumberRules) {
  const text = readText(query, name);
  if (text === undefined) return undefined;
  const value = numberForm.test(text) ? Number(text) : Number.NaN;
  const isInside = Number.isFinite(value) && value >= min && value <= (max ?? Number.MAX_VALUE);
  if (isInside && (!isWhole || Number.isSafeInteger(value))) return value;
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  return refuseField(name, `must be a ${isWhole ? "whole " : ""}number ${range}`);
}

/** `name_min` and `name_max`; undefined without either. */
function readBounds(query: URLSearchParams, name: string, rules: NumberRules): Bounds | undefined {
  const least = readNumber(query, `${name}_min`, rules);
  const most = readNumber(query, `${name}_max`, rules);
  if (least !== undefined && most !== undefined && most < least) {
    refuseField(`${name}_max`, `must not be below ${name}_min`);
  }
  return least === undefined && most === undefined ? undefined : { least, most };
}

const count: NumberRules = { min: 0, isWhole: true };
const bounded = [
  ["total_units", "totalTokens", count],
  ["prompt_token", "inputTokens", count],
  ["completion_token", "outputTokens", count],
  ["cost", "cost", { min: 0 }],
] as const satisfies readonly (readonly [string, NumberFieldName, NumberRules])[];

const listed = [
  ["ai_model", "model"],
  ["requested_model", "alias"],
  ["virtual_keys", "virtualKey"],
  ["configs", "config"],
  ["prompt_slug", "prompt"],
  ["api_key_ids", "apiKey"],
  ["region", "region"],
  ["zero_retention", "zeroRetention"],
  ["variant", "variant"],
] as const satisfies readonly (readonly [string, StringFieldName])[];

const digested = [
  ["trace_id", "trace"],
  ["span_id", "span"],
  ["shadow_of", "shadowOf"],
] as const satisfies readonly (readonly [string, NumberFieldName])[];

const sessionFilter = "session_id";

/** Fields of the index that each filter compares. */
const comparedFields: readonly (readonly [string, readonly Condition["field"][]])[] = [
  ...bounded.flatMap(([name, field]) => ["min", "max"].map((end) => [`${name}_${end}`, [field]] as const)),
  ["status_code", ["status"]],
  ...listed.map(([name, field]) => [name, [field]] as const),
  ["ai_org_model", ["provider", "model"]],
  [sessionFilter, ["session"]],
  ...digested.map(([name, field]) => [name, [field]] as const),
  ["metadata", ["endUser"]],
  ["labels", ["region"]],
];

/**
 * The first filter that would reveal a denied field, and that field.
 *
 * @param isGiven Whether a filter is given.
 */
export function findDeniedFilter(
  isGiven: (filter: string) => boolean,
  denied: ReadonlySet<string>,
): { filter: string; field: string } | undefined {
  for (const [filter, fields] of comparedFields) {
    if (!isGiven(filter)) continue;
    const field = fields.map((name) => deniedFilter(name, denied)).find((name) => name !== undefined);
    if (field !== undefined) return { filter, field };
  }
  return undefined;
}

/** A status, or all of a class: `5xx`. */
function statusesOf(code: string): number[] {
  if (!code.endsWith("xx")) return [Number(code)];
  const first = Number(code[0]) * 100;
  return Array.from({ length: 100 }, (_, more) => first + more);
}

function readStatuses(query: URLSearchParams): Condition[] {
  const codes = readItems(query, "status_code");
  if (!codes) return [];
  const wrong = codes.find((code) => !/^[1-5](?:\d{2}|xx)$/.test(code));
  if (wrong !== undefined) {
    refuseField("status_code", "must be statuses from 100 to 599 or classes such as 5xx, separated by commas");
  }
  return [{ field: "status", oneOf: new Set(codes.flatMap(statusesOf)) }];
}

const cacheStatuses: ReadonlySet<string> = new Set(CacheStatus.options);

function readCacheStatus(query: URLSearchParams): Condition[] {
  const wanted = readItems(query, "cache_status")?.map((status) => status.toUpperCase().replaceAll("_", " "));
  if (!wanted) return [];
  if (!wanted.every((status) => cacheStatuses.has(status))) {
    refuseField("cache_status", `must be some of ${CacheStatus.options.join(", ")}, separated by commas`);
  }
  // where nothing asked for the cache, rows have no status
  return [{ field: "cacheStatus", oneOf: new Set(wanted), orNone: wanted.includes("DISABLED") }];
}

const sources: ReadonlySet<string> = new Set(RowSource.options);

function readSources(query: URLSearchParams): Condition[] {
  const wanted = readItems(query, "source");
  if (!wanted) return [];
  if (!wanted.every((source) => sources.has(source))) {
    refuseField("source", `must be some of ${RowSource.options.join(", ")}, separated by commas`);
  }
  // requests of programs have no source in the row
  return [{ field: "source", oneOf: new Set(wanted), orNone: wanted.includes("gateway") }];
}

function readShadow(query: URLSearchParams): Condition[] {
  const wanted = readText(query, "shadow");
  if (wanted === undefined) return [];
  if (wanted === "true") return [{ field: "shadow", oneOf: new Set(["shadow_of"]) }];
  if (wanted !== "false") refuseField("shadow", "must be true or false");
  // other requests have no value
  return [{ field: "shadow", oneOf: new Set<string>(), orNone: true }];
}

/** Pairs of a provider and its model; undefined without any. */
function readModels(query: URLSearchParams): [provider: string, model: string][] | undefined {
  return readItems(query, "ai_org_model")?.map((item) => {
    const at = item.indexOf("__");
    const [provider, model] = [item.slice(0, at), item.slice(at + 2)];
    if (at < 1 || model === "") return refuseField("ai_org_model", "must be provider__model, separated by commas");
    return [provider, model];
  });
}

/** Pairs of a JSON object that a request must all have: of its metadata, or of the labels of its target. */
function readPairs(query: URLSearchParams, name: "metadata" | "labels"): [key: string, value: string][] {
  const text = readLong(query, name);
  if (text === undefined) return [];
  const value = parseJson(text);
  if (!isObject(value)) return refuseField(name, "must be a JSON object");
  const pairs = Object.entries(value);
  if (pairs.length > 64) refuseField(name, "must have at most 64 pairs");
  return pairs.map(([key, wanted]) => {
    if (wanted === null || typeof wanted === "object") {
      return refuseField(name, "must have strings, numbers or booleans as values");
    }
    return [key, String(wanted)];
  });
}

/**
 * Reads which rows are wanted, whenever they began.
 *
 * @throws {InvalidRequestError} AB01, naming the filter.
 */
export function readRowChoice(query: URLSearchParams): RowChoice {
  const pairs = readModels(query);
  const [metadata, labels] = [readPairs(query, "metadata"), readPairs(query, "labels")];
  const conditions: Condition[] = [
    ...readStatuses(query),
    ...readCacheStatus(query),
    ...readSources(query),
    ...readShadow(query),
  ];
  for (const [name, field] of listed) {
    const oneOf = readItemSet(query, name);
    if (oneOf) conditions.push({ field, oneOf });
  }
  const sessions = readIdSet(query, sessionFilter);
  if (sessions) conditions.push({ field: "session", oneOf: sessions });
  for (const [name, field] of digested) {
    const ids = readIdSet(query, name);
    if (ids) conditions.push({ field, oneOf: new Set([...ids].map(digestOfId)) });
  }
  for (const [name, field, rules] of bounded) {
    const bounds = readBounds(query, name, rules);
    if (bounds) conditions.push({ field, ...bounds });
  }
  for (const [key, value] of metadata) conditions.push({ field: metadataField(key), oneOf: new Set([value]) });
  for (const [name, value] of labels) conditions.push({ field: labelField(name), oneOf: new Set([value]) });
  if (pairs) {
    conditions.push({ field: "provider", oneOf: new Set(pairs.map(([provider]) => provider)) });
    conditions.push({ field: "model", oneOf: new Set(pairs.map(([, model]) => model)) });
  }
  const models = pairs && new Set(pairs.map(([provider, model]) => pairOf(provider, model)));
  const terms: RowTerms = {
    traces: readIdSet(query, "trace_id"),
    spans: readIdSet(query, "span_id"),
    originals: readItemSet(query, "shadow_of"),
    models,
    rating: readBounds(query, "weighted_feedback", { min: -10, max: 10 }),
  };
  return { conditions, terms };
}

/** In place of the name of a workspace: all of the organisation. */
const everyWorkspace = "*";

/**
 * Whose rows a call is about. Callers of one workspace stay in it; an admin key may name any of its organisation's,
 * deleted ones included.
 *
 * @param widest What an admin key that names none sees.
 * @throws {PermissionError} AB03 for a workspace that is not the caller's, whether it exists or not.
 */
export async function readScope(
  { tenant, query, stores }: { tenant: Tenant; query: URLSearchParams; stores: Services["control"]["stores"] },
  widest: "workspace" | "organisation",
): Promise<Tenant> {
  if (tenant.workspaceId !== null) return tenant;
  const name = readText(query, "workspace_slug") === undefined ? "workspace_id" : "workspace_slug";
  const named = readText(query, name);
  if (named === everyWorkspace || (named === undefined && widest === "organisation")) return tenant;
  const row =
    named === undefined
      ? requireFound(await stores.workspaces.find(tenant, { isDefault: true }), "workspace")
      : await stores.workspaces.get(tenant, named);
  return row ? { ...tenant, workspaceId: row.id } : forbid("This key has no access to this workspace", name);
}

/** Sources that figures of health count unless others are named: neither sessions of the console nor checks of targets. */
export const countedSources = "gateway,custom,otel";

/** The filters that analytics document too, by their names. */
export const sharedFilters = {
  total_units_min: "Least tokens of a request",
  total_units_max: "Most tokens of a request",
  prompt_token_min: "Least input tokens",
  prompt_token_max: "Most input tokens",
  completion_token_min: "Least output tokens",
  completion_token_max: "Most output tokens",
  cost_min: "Least cost in US cents",
  cost_max: "Most cost in US cents",
  status_code: "Statuses of the response or their classes (`5xx`), separated by commas",
  weighted_feedback_min: "Least mean of value times weight of the trace's feedback, from -10 to 10",
  weighted_feedback_max: "Most mean of value times weight of the trace's feedback, from -10 to 10",
  requested_model: "Aliases that requests name, separated by commas",
  virtual_keys: "Slugs of stored providers, separated by commas",
  configs: "Slugs of configs, separated by commas",
  prompt_slug: "Slugs of prompts, separated by commas",
  trace_id: "Trace ids, separated by commas",
  span_id: "Span ids, separated by commas",
  session_id: "Sessions, separated by commas",
  api_key_ids: "Ids of API keys, separated by commas",
  region: "Regions, by the labels of targets, separated by commas",
  zero_retention: "true or false, by the labels of targets",
  variant: "Names or paths of the targets of configs that responded, separated by commas",
  shadow: "true: copies of requests alone; false: all others",
  shadow_of: "Ids of rows whose requests were copied, separated by commas",
  metadata: "JSON object: requests must have all its pairs",
  labels: "JSON object: targets must have all its labels",
  ai_org_model: "Pairs provider__model, separated by commas",
  cache_status: `Cache statuses, separated by commas: ${CacheStatus.options.join(", ")}`,
  source: `Where requests come from, separated by commas: ${RowSource.options.join(", ")}`,
} as const;
