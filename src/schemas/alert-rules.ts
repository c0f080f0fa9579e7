import * as v from "valibot";
import { Email, Flag, Name, Text } from "./control.ts";
import { changesOf, closedObject, IsoTime, listOf, pageOf } from "./objects.ts";

/** What a rule looks at in its window. */
const alertMetrics = ["error_rate", "p95_latency", "spend_per_hour", "requests"] as const;
export type AlertMetric = (typeof alertMetrics)[number];

/** `no_data`: too few requests to say; `pending`: not evaluated yet. */
const states = ["ok", "firing", "no_data", "pending"] as const;
export type AlertState = (typeof states)[number];

const destinationTypes = ["webhook", "slack", "teams", "email"] as const;

const whole = (minimum: number, maximum: number) =>
  v.pipe(
    v.number("must be a number"),
    v.integer("must be a whole number"),
    v.minValue(minimum, `must be at least ${minimum}`),
    v.maxValue(maximum, `must be at most ${maximum}`),
  );

/** Where events of a rule are sent: `url`, or for mails `to`. `secret` signs the bodies of webhooks. */
const Destination = v.pipe(
  closedObject({
    type: v.picklist(destinationTypes, `must be one of ${destinationTypes.join(", ")}`),
    url: v.optional(Text(2_048)),
    secret: v.optional(Text(256)),
    to: v.optional(
      v.pipe(v.array(Email), v.minLength(1, "must have an address"), v.maxLength(20, "must have at most 20")),
    ),
  }),
  v.check(
    ({ type, url, to }) => (type === "email") === (to !== undefined) && (type === "email") === (url === undefined),
    "must have url, or for email to",
  ),
  v.check(({ type, secret }) => secret === undefined || type === "webhook", "must have a secret for a webhook only"),
);
export type Destination = v.InferOutput<typeof Destination>;

const ShownDestination = v.object({
  type: v.picklist(destinationTypes),
  /** Without what may be a secret of it. */
  url: v.optional(v.string()),
  secret: v.optional(v.string()),
  to: v.optional(v.array(v.string())),
});
export type ShownDestination = v.InferOutput<typeof ShownDestination>;

const given = {
  name: Name,
  metric: v.picklist(alertMetrics, `must be one of ${alertMetrics.join(", ")}`),
  /** Filters of analytics by their names. */
  filter: v.record(Text(64), Text(16_384)),
  /** Percent, milliseconds, US dollars or requests. */
  threshold: v.pipe(v.number("must be a number"), v.minValue(0, "must be at least 0"), v.maxValue(1e12)),
  window_seconds: whole(60, 86_400),
  min_requests: whole(1, 1_000_000),
  cooldown_seconds: whole(60, 604_800),
  enabled: Flag,
  destinations: v.pipe(v.array(Destination, "must be a list"), v.maxLength(10, "must have at most 10 entries")),
};

const { name, metric, threshold, destinations, ...others } = given;

/** Body of `POST /alert-rules`. */
export const CreateAlertRule = closedObject({
  name,
  metric,
  threshold,
  destinations,
  ...v.partial(v.object(others)).entries,
  workspace_id: v.optional(v.string()),
});
export type CreateAlertRule = v.InferOutput<typeof CreateAlertRule>;

/** Body of `PUT /alert-rules/{id}`. */
export const UpdateAlertRule = changesOf({
  ...v.partial(v.object(given)).entries,
  workspace_id: v.optional(v.string()),
});
export type UpdateAlertRule = v.InferOutput<typeof UpdateAlertRule>;

/** Response of a change. */
export const SavedAlertRule = v.object({ id: v.string(), object: v.literal("alert_rule") });

/** A rule and what it found last. */
export const AlertRule = v.object({
  id: v.string(),
  object: v.literal("alert_rule"),
  workspace_id: v.string(),
  name: v.string(),
  metric: v.picklist(alertMetrics),
  filter: v.record(v.string(), v.string()),
  threshold: v.number(),
  window_seconds: v.number(),
  min_requests: v.number(),
  cooldown_seconds: v.number(),
  enabled: v.boolean(),
  destinations: v.array(ShownDestination),
  state: v.picklist(states),
  /** Null where there is nothing to compute it from. */
  value: v.nullable(v.number()),
  requests: v.nullable(v.number()),
  evaluated_at: v.nullable(IsoTime),
  last_fired_at: v.nullable(IsoTime),
  created_at: IsoTime,
  last_updated_at: IsoTime,
});

export const AlertRuleList = listOf(AlertRule);

/** What a rule found, or a test of its destinations. */
const AlertEvent = v.object({
  id: v.string(),
  object: v.literal("alert_event"),
  type: v.picklist(["firing", "resolved", "test"]),
  metric: v.picklist(alertMetrics),
  threshold: v.number(),
  window_seconds: v.number(),
  value: v.nullable(v.number()),
  requests: v.nullable(v.number()),
  /** `pending` until all destinations have it; `failed` once it was given up. */
  delivery: v.picklist(["sent", "pending", "failed"]),
  problem: v.nullable(v.string()),
  created_at: IsoTime,
});
export type AlertEvent = v.InferOutput<typeof AlertEvent>;

export const AlertEventList = pageOf(AlertEvent);

/** Response of a test: the event that is delivered. */
export const AlertTest = v.object({ id: v.string(), object: v.literal("alert_event"), type: v.literal("test") });
