import * as v from "valibot";
import { startsWithDay } from "../lib/periods.ts";
import { closedObject, IsoTime } from "./objects.ts";
import { Queue } from "./queues.ts";
import { wholeFrom } from "./whole-number.ts";

/** Text of a record: 1 to `maximum` characters, without NUL. */
export const Text = (maximum: number, minimum = 1) =>
  v.pipe(
    v.string(),
    v.minLength(minimum, `must have at least ${minimum} characters`),
    v.maxLength(maximum, `must have at most ${maximum} characters`),
    v.check((text) => !text.includes("\0"), "must not contain the character U+0000"),
    v.transform((text) => text.normalize("NFC").toWellFormed()),
  );

/** The name of a record, chosen by a user. */
export const Name = Text(255);

/** A description; null clears it. */
export const Description = v.nullish(Text(1024, 0));

/** A slug chosen by a user: letters, digits, `_` and `-`. */
export const Slug = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_-]{1,255}$/, "must be 1 to 255 letters, digits, _ or -"));

/** A slug of a new record, with the prefix that slugs of its kind have. Absent: it is made of the name. */
export const chosenSlug = (prefix: string) =>
  v.nullish(
    v.pipe(
      v.string(),
      v.regex(
        new RegExp(`^${prefix}-(?!default-)[A-Za-z0-9_-]{1,200}$`),
        `must be ${prefix}- and 1 to 200 letters, digits, _ or -, and not begin with ${prefix}-default-`,
      ),
    ),
  );

/** Reference to a record in a path, query or body: its id or its slug. */
export const Reference = v.pipe(v.string(), v.regex(/^[A-Za-z0-9_.-]{1,255}$/, "must be an id or a slug"));

/** ISO 8601 time in the future or the past, with a time zone. Parsed to Unix milliseconds. */
export const Time = v.pipe(
  v.string(),
  v.regex(
    /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/,
    "must be a time as ISO 8601, for example 2026-01-31T12:00:00Z",
  ),
  v.check(startsWithDay, "must be a time that exists"),
  v.transform((text) =>
    Date.parse(/(?:Z|[+-]\d{2}:?\d{2}|^\d{4}-\d{2}-\d{2})$/.test(text) ? text : `${text.replace(" ", "T")}Z`),
  ),
  v.check((time) => Number.isFinite(time), "must be a time that exists"),
);

/** An e-mail address, in lower case. */
export const Email = v.pipe(
  v.string(),
  v.maxLength(320, "must have at most 320 characters"),
  v.regex(/^[^\s@,;<>"\0]+@[^\s@,;<>"\0]+\.[^\s@,;<>"\0]+$/, "must be an e-mail address"),
  v.transform((email) => email.toLowerCase()),
);

/** A boolean that some clients send as 0 or 1. */
export const Flag = v.pipe(
  v.union([v.boolean(), v.picklist([0, 1])], "must be true or false"),
  v.transform((value) => value === true || value === 1),
);

/** Metadata: strings of at most 128 characters. */
export const MetadataDefaults = v.record(Text(128), Text(128, 0));

const AmountAboveZero = v.pipe(v.number("must be a number"), v.finite(), v.gtValue(0, "must be above 0"));

/** What budgets of records count, and their periods by the calendar. */
const budgetTypes = ["cost", "tokens"] as const;
const budgetPeriods = ["monthly", "weekly"] as const;

const budgetMembers = closedObject(
  {
    type: v.optional(v.picklist(budgetTypes, "must be cost or tokens"), "cost"),
    credit_limit: v.nullish(AmountAboveZero),
    alert_threshold: v.nullish(AmountAboveZero),
    periodic_reset: v.nullish(v.picklist(budgetPeriods, "must be monthly or weekly")),
    periodic_reset_days: v.nullish(wholeFrom(1, 365)),
    next_usage_reset_at: v.nullish(Time),
  },
  { shown: ["id", "status", "current_usage", "is_threshold_alerts_sent", "is_exhausted_alerts_sent"] },
);

/** A budget. Cost is in US dollars, tokens are counted. */
export const UsageLimits = v.pipe(
  budgetMembers,
  v.forward(
    v.check(
      ({ credit_limit, alert_threshold }) =>
        alert_threshold == null || credit_limit == null || alert_threshold < credit_limit,
      "must be below credit_limit",
    ),
    ["alert_threshold"],
  ),
  v.forward(
    v.check(
      ({ periodic_reset, periodic_reset_days }) => periodic_reset == null || periodic_reset_days == null,
      "cannot be given together with periodic_reset",
    ),
    ["periodic_reset_days"],
  ),
);
export type UsageLimits = v.InferOutput<typeof UsageLimits>;

const storedBudget = {
  id: v.string(),
  type: v.picklist(budgetTypes),
  credit_limit: v.nullable(v.number()),
  alert_threshold: v.nullable(v.number()),
  periodic_reset: v.nullable(v.picklist(budgetPeriods)),
  periodic_reset_days: v.nullable(v.number()),
};

/** A budget as it is stored; its next reset is in Unix milliseconds. */
export type StoredBudget = v.InferOutput<v.ObjectSchema<typeof storedBudget, undefined>> & {
  next_usage_reset_at: number | null;
};

/** A budget in responses: its limit, and what was used of it. */
export const ShownBudget = v.object({
  ...storedBudget,
  next_usage_reset_at: v.nullable(IsoTime),
  status: v.picklist(["active", "exhausted"]),
  /** US dollars, or tokens. */
  current_usage: v.number(),
  is_threshold_alerts_sent: v.boolean(),
  is_exhausted_alerts_sent: v.boolean(),
});
export type ShownBudget = v.InferOutput<typeof ShownBudget>;

/** One rate limit; 0 blocks everything. */
export const RateLimit = closedObject({
  type: v.picklist(["requests", "tokens"], "must be requests or tokens"),
  unit: v.picklist(["rpm", "rph", "rpd", "rps", "rpw"], "must be rpm, rph, rpd, rps or rpw"),
  value: wholeFrom(0),
  /** Requests beyond it wait. Absent: they are refused. */
  queue: v.nullish(Queue),
});
export type RateLimit = v.InferOutput<typeof RateLimit>;

/** Access of workspaces that are created later, as it is stored. */
export interface StoredAccess {
  enabled: boolean;
  usage_limits: StoredBudget[] | null;
  rate_limits: RateLimit[] | null;
}

/** Rate limits of a key: one for each pair of type and unit. */
export const RateLimits = v.pipe(
  v.array(RateLimit),
  v.maxLength(10, "must have at most 10 entries"),
  v.check(
    (limits) => new Set(limits.map(({ type, unit }) => `${type} ${unit}`)).size === limits.length,
    "must have one entry for each pair of type and unit",
  ),
);

/** A budget in the format of workspaces and integrations: a list of at most one; empty means no budget. */
export const UsageLimitList = v.pipe(v.array(UsageLimits), v.maxLength(1, "must have at most 1 entry"));
/** The budget of a record: an object, or a list of at most one; empty means no budget. */
export const OneUsageLimit = v.union(
  [
    UsageLimits,
    v.pipe(
      UsageLimitList,
      v.transform(([limits]) => limits ?? null),
    ),
  ],
  "must be one budget, or a list of at most one",
);
/** As `UsageLimitList`. */
export const RateLimitList = v.pipe(v.array(RateLimit), v.maxLength(1, "must have at most 1 entry"));

/** A field that asks for automatic rotation. Nobody could read a secret that the gateway replaced by itself. */
export const NoAutomaticRotation = v.nullish(
  v.never("must not be given: the gateway does not rotate keys by itself, use POST /api-keys/{id}/rotate"),
);

/** Source of a record's secret: a reference to an external store. */
export const SecretMappings = v.pipe(
  v.array(
    closedObject({
      target_field: v.pipe(
        Text(255),
        v.regex(
          /^(?:key|(?:configurations|model_config)\.[A-Za-z0-9_]+(?:\.[A-Za-z0-9_-]+)?)$/,
          "must be key or configurations.<field>",
        ),
      ),
      secret_reference_id: Reference,
      secret_key: v.nullish(Text(255)),
      value_format: v.nullish(v.picklist(["json", "string"], "must be json or string")),
    }),
  ),
  v.maxLength(50, "must have at most 50 entries"),
  v.check(
    (mappings) => new Set(mappings.map(({ target_field }) => target_field)).size === mappings.length,
    "must name each target_field once",
  ),
);
export type SecretMappings = v.InferOutput<typeof SecretMappings>;

/** Source of a record's secret in responses. */
export const ShownSecretMapping = v.object({
  target_field: v.string(),
  secret_reference_id: v.string(),
  secret_key: v.nullish(v.string()),
  value_format: v.nullish(v.picklist(["json", "string"])),
});
