import * as v from "valibot";

/** Response of `GET /health/targets`. */
export const TargetHealthList = v.object({
  object: v.literal("list"),
  data: v.array(
    v.object({
      object: v.literal("target_health"),
      workspace_id: v.nullable(v.string()),
      /** Slug of the saved config; null for configs in requests. */
      config: v.nullable(v.string()),
      /** Its path in the config; of a config in a request, the provider. */
      target: v.string(),
      /** Null without a failed call that a circuit breaker counts. */
      circuit: v.nullable(
        v.object({
          is_open: v.boolean(),
          opened_at: v.nullable(v.string()),
          failures: v.number(),
          successes: v.number(),
        }),
      ),
      /** Null where its host is not checked. */
      check: v.nullable(v.object({ is_healthy: v.boolean(), problem: v.nullable(v.string()) })),
      /** Null where no load balancer measures it. */
      measured: v.nullable(
        v.object({
          running: v.number(),
          /** 0 to 1. */
          failure_rate: v.nullable(v.number()),
          /** Milliseconds, as the next two. */
          first_token_ms: v.nullable(v.number()),
          token_ms: v.nullable(v.number()),
          response_ms: v.nullable(v.number()),
          /** Null where it is not ejected. */
          ejected_until: v.nullable(v.string()),
        }),
      ),
    }),
  ),
});
export type TargetHealth = v.InferOutput<typeof TargetHealthList>["data"][number];
