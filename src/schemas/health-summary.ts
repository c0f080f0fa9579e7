import * as v from "valibot";
import { TargetHealthList } from "./target-health.ts";

/** What requests of the last hour are grouped by. */
export const healthKinds = ["provider", "integration", "model", "mcp_server"] as const;

/** Response of `GET /health/summary`. */
export const HealthSummary = v.object({
  object: v.literal("health_summary"),
  /** The period, ISO 8601. */
  from: v.string(),
  to: v.string(),
  /** Those with the most requests of each kind. */
  data: v.array(
    v.object({
      object: v.literal("health"),
      kind: v.picklist(healthKinds),
      /** Slug of a stored provider, an integration or an MCP server; name of a model. */
      name: v.string(),
      state: v.picklist(["ok", "degraded", "failing"]),
      requests: v.number(),
      /** Statuses other than 2xx. */
      error_count: v.number(),
      /** Percent. */
      error_rate: v.number(),
      /** Milliseconds; null without a figure, or where the organisation does not show it. */
      p95_latency: v.nullable(v.number()),
      /** Of streams: to the first byte. */
      p95_first_token: v.nullable(v.number()),
      last_seen: v.string(),
    }),
  ),
  /** What the process that responds remembers of targets of configs. */
  targets: TargetHealthList.entries.data,
});
export type HealthSummary = v.InferOutput<typeof HealthSummary>;
