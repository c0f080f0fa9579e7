import * as v from "valibot";

/** How a load balancer chooses among its targets. */
export const balanceKinds = ["weight", "least_busy", "lowest_latency", "lowest_cost"] as const;

const whole = (minimum: number, maximum: number) =>
  v.pipe(
    v.number("must be a number"),
    v.integer("must be a whole number"),
    v.minValue(minimum, `must be at least ${minimum}`),
    v.maxValue(maximum, `must be at most ${maximum}`),
  );

/** Fields of `strategy` that choose by measure. */
export const balanceMembers = {
  choose: v.picklist(balanceKinds, "must be weight, least_busy, lowest_latency or lowest_cost"),
  slow_start: whole(0, 3_600_000),
} satisfies Record<string, v.GenericSchema>;

/** `strategy.health_check`. */
export const healthMembers = {
  path: v.pipe(
    v.string("must be a string"),
    v.maxLength(1_000, "must have at most 1000 characters"),
    v.regex(/^\/(?!\/)[\x21\x23-\x5b\x5d-\x7e]*$/, "must be the path of a URL, such as /health"),
  ),
  model: v.pipe(
    v.string("must be a string"),
    v.nonEmpty("must not be empty"),
    v.maxLength(256, "must have at most 256 characters"),
  ),
  interval: whole(5_000, 3_600_000),
  timeout: whole(100, 60_000),
  unhealthy_threshold: whole(1, 100),
  healthy_threshold: whole(1, 100),
  status_codes: v.pipe(
    v.array(whole(100, 599), "must be a list of status codes"),
    v.minLength(1, "must have at least one entry"),
    v.maxLength(500, "must have at most 500 entries"),
  ),
} satisfies Record<string, v.GenericSchema>;

/** `strategy.outlier_ejection`. */
export const ejectionMembers = {
  consecutive_failures: whole(1, 1_000),
  ejection_time: whole(1_000, 3_600_000),
  max_ejected_percent: whole(1, 100),
} satisfies Record<string, v.GenericSchema>;
