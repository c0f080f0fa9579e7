import { metadataStart, readFilters } from "./filters.ts";

/** Filters of the log under the name that analytics have for the same. */
const renamed: Readonly<Record<string, string>> = {
  status: "status_code",
  api_key_id: "api_key_ids",
  virtual_key: "virtual_keys",
  config: "configs",
};

/** Filters of the log that analytics do not have. */
const unknown: ReadonlySet<string> = new Set([
  "search",
  "model",
  "provider",
  "user_id",
  "operation",
  "stream",
  "error",
  "ai_model",
]);

export const isAnalyticsFilter = (name: string): boolean => !unknown.has(name);

/** The filters of an address as analytics take them. Pairs of the metadata become one JSON object. */
export function toAnalyticsQuery(search: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const query: Record<string, string> = {};
  const metadata: Record<string, string> = {};
  for (const [name, value] of readFilters(search).filter(([one]) => isAnalyticsFilter(one))) {
    if (name.startsWith(metadataStart)) metadata[name.slice(metadataStart.length)] = value;
    else query[renamed[name] ?? name] = value;
  }
  return Object.keys(metadata).length === 0 ? query : { ...query, metadata: JSON.stringify(metadata) };
}
