import { text } from "@/text/text.ts";
import { type Group, type GroupSource, groupsOf } from "../overview/groups.ts";

const words = text.analytics;

/** A way to group requests. */
export interface Grouping extends GroupSource {
  /** What an address calls it. */
  readonly name: string;
  readonly label: string;
  /** Filter of the log that finds the requests of a group; absent: none does. */
  readonly filter?: string;
}

const ofModels: Grouping = {
  name: "model",
  label: words.groups.model,
  filter: "model",
  ...groupsOf("/v1/analytics/groups/model", "model"),
};

/** Every way to group, apart from the keys of the metadata. */
export const groupings: readonly Grouping[] = [
  ofModels,
  {
    name: "requested_model",
    label: words.groups.requested_model,
    filter: "requested_model",
    ...groupsOf("/v1/analytics/groups/requested_model", "requested_model"),
  },
  {
    name: "ai_service",
    label: words.groups.ai_service,
    filter: "provider",
    ...groupsOf("/v1/analytics/groups/ai_service", "ai_service"),
  },
  {
    name: "provider",
    label: words.groups.provider,
    filter: "virtual_key",
    ...groupsOf("/v1/analytics/groups/provider", "provider"),
  },
  {
    name: "api_key",
    label: words.groups.api_key,
    filter: "api_key_id",
    ...groupsOf("/v1/analytics/groups/api_key", "api_key"),
  },
  {
    name: "users",
    label: words.groups.users,
    filter: "metadata._user",
    ...groupsOf("/v1/analytics/groups/users", "user"),
  },
  {
    name: "status_code",
    label: words.groups.status_code,
    filter: "status",
    ...groupsOf("/v1/analytics/groups/status_code", "status_code"),
  },
  {
    name: "config",
    label: words.groups.config,
    filter: "config",
    ...groupsOf("/v1/analytics/groups/config", "config"),
  },
  {
    name: "prompt",
    label: words.groups.prompt,
    filter: "prompt_slug",
    ...groupsOf("/v1/analytics/groups/prompt", "prompt"),
  },
  {
    name: "variant",
    label: words.groups.variant,
    filter: "variant",
    ...groupsOf("/v1/analytics/groups/variant", "variant"),
  },
  { name: "workspace", label: words.groups.workspace, ...groupsOf("/v1/analytics/groups/workspace", "workspace") },
];

const metadataStart = "metadata/";

/** The grouping an address names: one of the list, or `metadata/KEY`. */
export function readGrouping(name: string | undefined): Grouping {
  if (name?.startsWith(metadataStart) === true && name.length > metadataStart.length) {
    const key = name.slice(metadataStart.length);
    return {
      name,
      label: words.metadataKey({ key }),
      filter: `metadata.${key}`,
      ...groupsOf("/v1/analytics/groups/metadata/{metadataKey}", "metadata_value", key),
    };
  }
  return groupings.find((grouping) => grouping.name === name) ?? ofModels;
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
] as const satisfies readonly (readonly [keyof typeof words.columns & keyof Group, string])[];

export type GroupColumn = (typeof groupColumns)[number][0];
