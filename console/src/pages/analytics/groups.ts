import { text } from "@/text/text.ts";

const words = text.analytics;

/** A way to group requests. */
export interface Grouping {
  /** End of its path below `/v1/analytics/groups/`. */
  readonly path: string;
  readonly label: string;
  /** Member that holds the group's value. */
  readonly value: string;
  /** Filter of the log that finds the requests of a group; absent: none does. */
  readonly filter?: string;
}

/** Every way to group, apart from the keys of the metadata. */
export const groupings: readonly Grouping[] = [
  { path: "model", label: words.groups.model, value: "model", filter: "model" },
  { path: "ai_service", label: words.groups.ai_service, value: "ai_service", filter: "provider" },
  { path: "provider", label: words.groups.provider, value: "provider", filter: "virtual_key" },
  { path: "api_key", label: words.groups.api_key, value: "api_key", filter: "api_key_id" },
  { path: "users", label: words.groups.users, value: "user", filter: "metadata._user" },
  { path: "status_code", label: words.groups.status_code, value: "status_code", filter: "status" },
  { path: "config", label: words.groups.config, value: "config", filter: "config" },
  { path: "prompt", label: words.groups.prompt, value: "prompt", filter: "prompt_slug" },
  { path: "workspace", label: words.groups.workspace, value: "workspace" },
];

const metadataPath = "metadata/";

/** The grouping an address names: one of the list, or `metadata/KEY`. */
export function readGrouping(name: string | undefined): Grouping {
  if (name?.startsWith(metadataPath) === true && name.length > metadataPath.length) {
    const key = name.slice(metadataPath.length);
    return {
      path: `${metadataPath}${encodeURIComponent(key)}`,
      label: words.metadataKey(key),
      value: "metadata_value",
      filter: `metadata.${key}`,
    };
  }
  return groupings.find(({ path }) => path === name) ?? groupings[0] ?? { path: "model", label: "", value: "model" };
}

/** Columns of groups, with how their figures are read. */
export const groupColumns = [
  ["requests", "number"],
  ["cost", "cents"],
  ["total_tokens", "number"],
  ["avg_tokens", "number"],
  ["avg_input_tokens", "number"],
  ["avg_output_tokens", "number"],
  ["avg_latency", "duration"],
  ["p95_latency", "duration"],
  ["p99_latency", "duration"],
  ["error_count", "number"],
  ["success_rate", "percent"],
  ["cache_hit_rate", "percent"],
  ["first_seen", "time"],
  ["last_seen", "time"],
  ["requests_with_feedback", "number"],
  ["avg_weighted_feedback", "number"],
] as const satisfies readonly (readonly [keyof typeof words.columns, string])[];

export type GroupColumn = (typeof groupColumns)[number][0];
