import * as v from "valibot";
import type { Tenant } from "../../db/tenant-store.ts";
import type { QueryParameter } from "../../endpoint.ts";
import { firstIdOf } from "../../lib/ids.ts";
import { plainIssues } from "../../lib/issues.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import type { Condition } from "../../log-index/conditions.ts";
import { digestOfId, metadataField, type NumberFieldName, type StringFieldName } from "../../log-index/fields.ts";
import type { RowTest, ScanQuery } from "../../log-index/scan-rows.ts";
import { Time } from "../../schemas/control.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { forbid, readParameter, readText, refuseField, requireFound } from "../core/request.ts";

/** A call of an analytics endpoint. */
export type AnalyticsCall = AdminCall<undefined>;

/** Requests that a call is about, apart from filters on feedback. */
interface RequestFilter extends Omit<ScanQuery, "fields"> {
  readonly tests: readonly RowTest[];
  /** Fields that the tests read. */
  readonly testedFields: readonly (NumberFieldName | StringFieldName)[];
  /** Unix milliseconds, both inclusive. */
  readonly from: number;
  readonly to: number;
}

/** Bounds of a number, both inclusive. */
interface Bounds {
  readonly least: number | undefined;
  readonly most: number | undefined;
}

/** Longest comma list or JSON in a parameter, and most items of a list. */
const maxLength = 16_384;
const maxItems = 1_000;
/** Longest period, so that a graph has at most about 5,200 points. */
const maxPeriodMs = 100 * 366 * 86_400_000;

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

function requireTime(query: URLSearchParams, name: string): number {
  const text = readText(query, name);
  if (text === undefined) return refuseField(name, "must be given");
  const checked = v.safeParse(Time, text, plainIssues);
  if (!checked.success) return refuseField(name, checked.issues[0].message);
  return checked.output >= 0 ? checked.output : refuseField(name, "must not be before 1970");
}

/** The period of a call, both ends inclusive. */
function readPeriod(query: URLSearchParams): { from: number; to: number } {
  const from = requireTime(query, "time_of_generation_min");
  const to = requireTime(query, "time_of_generation_max");
  if (to < from) refuseField("time_of_generation_max", "must not be before time_of_generation_min");
  if (to - from > maxPeriodMs) refuseField("time_of_generation_max", "must be at most 100 years after the start");
  return { from, to };
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

/** Bounds of the feedback of a trace. */
export function readFeedbackBounds(query: URLSearchParams): Bounds | undefined {
  return readBounds(query, "weighted_feedback", { min: -10, max: 10 });
}

const count: NumberRules = { min: 0, isWhole: true };
const bounded = [
  ["total_units", "totalTokens", count],
  ["prompt_token", "inputTokens", count],
  ["completion_token", "outputTokens", count],
  ["cost", "cost", { min: 0 }],
] as const satisfies readonly (readonly [string, NumberFieldName, NumberRules])[];

const listed = [
  ["virtual_keys", "virtualKey"],
  ["configs", "config"],
  ["prompt_slug", "prompt"],
  ["api_key_ids", "apiKey"],
] as const satisfies readonly (readonly [string, StringFieldName])[];

const digested = [
  ["trace_id", "trace"],
  ["span_id", "span"],
] as const satisfies readonly (readonly [string, NumberFieldName])[];

function readStatuses(query: URLSearchParams): Condition[] {
  const codes = readItems(query, "status_code");
  if (!codes) return [];
  const wrong = codes.find((code) => !/^[1-5]\d{2}$/.test(code));
  if (wrong !== undefined) refuseField("status_code", "must be statuses from 100 to 599, separated by commas");
  return [{ field: "status", oneOf: new Set(codes.map(Number)) }];
}

/** `cache_status`: no request has one yet, so that a filter finds none. */
function readCacheStatus(query: URLSearchParams): Condition[] {
  return readItems(query, "cache_status") ? [{ field: "status", oneOf: new Set<number>() }] : [];
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

function modelTest(pairs: readonly (readonly [string, string])[]): RowTest {
  const wanted = new Set(pairs.map((pair) => JSON.stringify(pair)));
  return (block) => {
    const [providers, models] = [block.strings("provider"), block.strings("model")];
    const known = new Map<number, boolean>();
    return (place) => {
      const [provider, model] = [(providers.codes[place] ?? 0) - 1, (models.codes[place] ?? 0) - 1];
      const key = provider * 2 ** 26 + model;
      let isWanted = known.get(key);
      if (isWanted === undefined) {
        isWanted = wanted.has(JSON.stringify([providers.values.at(provider), models.values.at(model)]));
        known.set(key, isWanted);
      }
      return isWanted;
    };
  };
}

/** Pairs that the metadata of a request must all have. */
function readMetadataPairs(query: URLSearchParams): [key: string, value: string][] {
  const text = readLong(query, "metadata");
  if (text === undefined) return [];
  const value = parseJson(text);
  if (!isObject(value)) return refuseField("metadata", "must be a JSON object");
  const pairs = Object.entries(value);
  if (pairs.length > 64) refuseField("metadata", "must have at most 64 pairs");
  return pairs.map(([key, wanted]) => {
    if (wanted === null || typeof wanted === "object") {
      return refuseField("metadata", "must have strings, numbers or booleans as values");
    }
    return [key, String(wanted)];
  });
}

/** Reads which requests a call is about. */
export function readRequestFilter(query: URLSearchParams): RequestFilter {
  const period = readPeriod(query);
  const models = readModels(query);
  const pairs = readMetadataPairs(query);
  const conditions: Condition[] = [...readStatuses(query), ...readCacheStatus(query)];
  for (const [name, field] of listed) {
    const items = readItems(query, name);
    if (items) conditions.push({ field, oneOf: new Set(items) });
  }
  for (const [name, field] of digested) {
    const items = readItems(query, name);
    if (items) conditions.push({ field, oneOf: new Set(items.map(digestOfId)) });
  }
  for (const [name, field, rules] of bounded) {
    const bounds = readBounds(query, name, rules);
    if (bounds) conditions.push({ field, ...bounds });
  }
  for (const [key, value] of pairs) conditions.push({ field: metadataField(key), oneOf: new Set([value]) });
  if (models) {
    conditions.push({ field: "provider", oneOf: new Set(models.map(([provider]) => provider)) });
    conditions.push({ field: "model", oneOf: new Set(models.map(([, model]) => model)) });
  }
  return {
    ...period,
    lower: firstIdOf(period.from),
    upper: firstIdOf(period.to + 1),
    conditions,
    tests: models ? [modelTest(models)] : [],
    testedFields: models ? ["provider", "model"] : [],
  };
}

/**
 * Whose requests a call is about. Callers of one workspace stay in it; an admin key may name any of its organisation's,
 * deleted ones included.
 *
 * @param widest What an admin key that names none sees.
 * @throws {PermissionError} AB03 for a workspace that is not the caller's, whether it exists or not.
 */
export async function readScope(
  { tenant, query, stores }: AnalyticsCall,
  widest: "workspace" | "organisation",
): Promise<Tenant> {
  if (tenant.workspaceId !== null) return tenant;
  const name = readText(query, "workspace_slug") === undefined ? "workspace_id" : "workspace_slug";
  const named = readText(query, name);
  if (named === undefined && widest === "organisation") return tenant;
  const row =
    named === undefined
      ? requireFound(await stores.workspaces.find(tenant, { isDefault: true }), "workspace")
      : await stores.workspaces.get(tenant, named);
  return row ? { ...tenant, workspaceId: row.id } : forbid("This key has no access to this workspace", name);
}

const describe = {
  workspace_slug: "A workspace, for keys of the organisation; without it the default workspace",
  time_of_generation_min: "Start of the period, ISO 8601, inclusive; required",
  time_of_generation_max: "End of the period, ISO 8601, inclusive; required",
  total_units_min: "Least tokens of a request",
  total_units_max: "Most tokens of a request",
  prompt_token_min: "Least input tokens",
  prompt_token_max: "Most input tokens",
  completion_token_min: "Least output tokens",
  completion_token_max: "Most output tokens",
  cost_min: "Least cost in US cents",
  cost_max: "Most cost in US cents",
  status_code: "Statuses of the response, separated by commas",
  weighted_feedback_min: "Least mean of value times weight of the trace's feedback, from -10 to 10",
  weighted_feedback_max: "Most mean of value times weight of the trace's feedback, from -10 to 10",
  virtual_keys: "Slugs of stored providers, separated by commas",
  configs: "Slugs of configs, separated by commas",
  prompt_slug: "Slugs of prompts, separated by commas",
  trace_id: "Trace ids, separated by commas",
  span_id: "Span ids, separated by commas",
  api_key_ids: "Ids of API keys, separated by commas",
  metadata: "JSON object: requests must have all its pairs",
  ai_org_model: "Pairs provider__model, separated by commas",
  cache_status: "Cache statuses, separated by commas; no request has one yet",
  current_page: "Page of a group endpoint, counted from 0",
  page_size: "Rows of a page, 1 to 1000, default 50",
};

/** Query parameters of every analytics endpoint. */
export const commonParameters: readonly QueryParameter[] = Object.entries(describe).map(([name, description]) => ({
  name,
  description,
}));
