import * as v from "valibot";
import { Reference, Text, Time } from "./control.ts";
import { LabelRules, ShownLabelRules } from "./labels.ts";
import { changesOf, closedObject, IsoTime, listOf } from "./objects.ts";
import { Queue } from "./queues.ts";
import { wholeFrom } from "./whole-number.ts";

/** States of a policy. */
export const policyStatuses = ["active", "archived"] as const;
/** States of a counter of a budget. */
export const entityStatuses = ["active", "exhausted"] as const;
/** What a budget counts. */
export const usageTypes = ["cost", "tokens", "requests"] as const;
/** What a rate limit counts. */
export const rateTypes = ["requests", "tokens"] as const;
/** Each minute, hour, day or week. */
export const rateUnits = ["rpm", "rph", "rpd", "rpw"] as const;
/** What a rate limit is about: requests to models, or calls of MCP tools. */
export const rateTargets = ["llm", "mcp_tools"] as const;

/** Periods of budgets by the calendar. */
export const resetPeriods = ["monthly", "weekly"] as const;

/** A picklist whose refusal names the words it takes. */
const OneOf = <const Words extends readonly string[]>(words: Words) =>
  v.picklist(words, `must be one of ${words.join(", ")}`);

/** Longest value of a condition. */
const maxValue = 1_024;
/** Most conditions, and most keys to group by. */
const maxKeys = 100;

/** What a budget can look at, beside `metadata.<name>`. */
const UsageKey = v.pipe(
  v.string(),
  v.regex(
    /^(?:workspace_id|organisation_id|api_key|virtual_key|provider|config|prompt|model|metadata\.[^\0]{1,128})$/,
    "must be workspace_id, organisation_id, api_key, virtual_key, provider, config, prompt, model or metadata.<name>",
  ),
);

/** What a rate limit can look at; which of these fit depends on its target. */
const RateKey = v.pipe(
  v.string(),
  v.regex(
    /^(?:workspace_id|organisation_id|api_key|virtual_key|provider|config|prompt|model|endpoint_type|mcp_server|mcp_tool|user_id|metadata\.[^\0]{1,128})$/,
    "must be workspace_id, organisation_id, api_key, virtual_key, provider, config, prompt, model, endpoint_type, mcp_server, mcp_tool, user_id or metadata.<name>",
  ),
);

/** What a policy on labels can look at: what is known before a target is chosen. */
const LabelKey = v.pipe(
  v.string(),
  v.regex(
    /^(?:workspace_id|organisation_id|api_key|endpoint_type|metadata\.[^\0]{1,128})$/,
    "must be workspace_id, organisation_id, api_key, endpoint_type or metadata.<name>",
  ),
);

/** Whether a text names what a policy can look at. */
export function isPolicyKey(text: unknown): boolean {
  return v.is(RateKey, text);
}

const Values = v.union(
  [
    Text(maxValue),
    v.pipe(
      v.array(Text(maxValue)),
      v.minLength(1, "must have at least one entry"),
      v.maxLength(1_000, "must have at most 1000 entries"),
    ),
  ],
  "must be a string or a list of strings",
);

const Conditions = <Key extends v.GenericSchema<string>>(key: Key) =>
  v.pipe(
    v.array(closedObject({ key, value: Values, excludes: v.nullish(Values) })),
    v.minLength(1, "must have at least one condition"),
    v.maxLength(maxKeys, `must have at most ${maxKeys} entries`),
  );

const GroupBy = <Key extends v.GenericSchema<string>>(key: Key) =>
  v.pipe(
    v.array(closedObject({ key })),
    v.minLength(1, "must have at least one key"),
    v.maxLength(maxKeys, `must have at most ${maxKeys} entries`),
    v.check((list) => new Set(list.map((entry) => entry.key)).size === list.length, "must name each key once"),
  );

const ShownValues = v.union([v.string(), v.array(v.string())]);

/** One condition of a policy. */
const PolicyCondition = v.object({ key: v.string(), value: ShownValues, excludes: v.optional(ShownValues) });
export type PolicyCondition = v.InferOutput<typeof PolicyCondition>;

/** What each counter of a policy is for. */
const PolicyGrouping = v.object({ key: v.string() });
export type PolicyGrouping = v.InferOutput<typeof PolicyGrouping>;

/** A number from 0 on. */
const Amount = v.pipe(
  v.number("must be a number"),
  v.finite("must be a finite number"),
  v.minValue(0, "must be at least 0"),
);

/** What both kinds of policy have in every body. */
const shared = {
  name: v.nullish(Text(255, 0)),
  description: v.nullish(Text(500, 0)),
  workspace_id: v.nullish(Reference),
  organisation_id: v.nullish(v.string()),
};

const resets = {
  alert_threshold: v.nullish(Amount),
  periodic_reset: v.nullish(OneOf(resetPeriods)),
  periodic_reset_days: v.nullish(wholeFrom(1, 365)),
  next_usage_reset_at: v.nullish(Time),
};

/** Body of `POST /policies/usage-limits`. */
export const CreateUsageLimitPolicy = closedObject({
  ...shared,
  conditions: Conditions(UsageKey),
  group_by: GroupBy(UsageKey),
  type: OneOf(usageTypes),
  credit_limit: Amount,
  ...resets,
});
export type CreateUsageLimitPolicy = v.InferOutput<typeof CreateUsageLimitPolicy>;

/** Longest name of a counter: keys and values of `group_by`. */
const maxValueKey = 65_536;

/** The name of a counter, unchanged: it holds values of requests. */
const ValueKey = v.pipe(
  v.string(),
  v.minLength(1, "must have at least 1 characters"),
  v.maxLength(maxValueKey, `must have at most ${maxValueKey} characters`),
);

/** Body of `PUT /policies/usage-limits/{id}`. */
export const UpdateUsageLimitPolicy = changesOf({
  ...shared,
  conditions: v.optional(Conditions(UsageKey)),
  credit_limit: v.optional(Amount),
  ...resets,
  reset_usage_for_value: v.nullish(ValueKey),
  status: v.optional(OneOf(policyStatuses)),
});
export type UpdateUsageLimitPolicy = v.InferOutput<typeof UpdateUsageLimitPolicy>;

/** Body of `POST /policies/rate-limits`. */
export const CreateRateLimitPolicy = closedObject({
  ...shared,
  conditions: Conditions(RateKey),
  group_by: GroupBy(RateKey),
  type: OneOf(rateTypes),
  unit: OneOf(rateUnits),
  value: Amount,
  target: v.optional(OneOf(rateTargets), "llm"),
  queue: v.nullish(Queue),
});
export type CreateRateLimitPolicy = v.InferOutput<typeof CreateRateLimitPolicy>;

/** Body of `PUT /policies/rate-limits/{id}`. */
export const UpdateRateLimitPolicy = changesOf({
  ...shared,
  conditions: v.optional(Conditions(RateKey)),
  unit: v.optional(OneOf(rateUnits)),
  value: v.optional(Amount),
  target: v.optional(OneOf(rateTargets)),
  queue: v.nullish(Queue),
  status: v.optional(OneOf(policyStatuses)),
});
export type UpdateRateLimitPolicy = v.InferOutput<typeof UpdateRateLimitPolicy>;

/** Body of `POST /policies/labels`. */
export const CreateLabelPolicy = closedObject({
  ...shared,
  conditions: Conditions(LabelKey),
  require_labels: LabelRules,
});
export type CreateLabelPolicy = v.InferOutput<typeof CreateLabelPolicy>;

/** Body of `PUT /policies/labels/{id}`. */
export const UpdateLabelPolicy = changesOf({
  ...shared,
  conditions: v.optional(Conditions(LabelKey)),
  require_labels: v.optional(LabelRules),
  status: v.optional(OneOf(policyStatuses)),
});
export type UpdateLabelPolicy = v.InferOutput<typeof UpdateLabelPolicy>;

/** What every kind of policy shows. */
const shownOfAll = {
  id: v.string(),
  name: v.nullable(v.string()),
  description: v.nullable(v.string()),
  conditions: v.array(PolicyCondition),
  status: v.picklist(policyStatuses),
  workspace_id: v.string(),
  organisation_id: v.string(),
  created_at: IsoTime,
  last_updated_at: IsoTime,
};

/** A policy on labels in responses. */
export const LabelPolicyRecord = v.object({
  ...shownOfAll,
  require_labels: ShownLabelRules,
  object: v.literal("policy_labels"),
});

/** Response of `GET /policies/labels`. */
export const LabelPolicyList = listOf(LabelPolicyRecord);

/** Response of `POST /policies/labels`. */
export const CreatedLabelPolicy = v.object({ id: v.string(), object: v.literal("policy_labels") });

/** What policies that count show. */
const shown = {
  ...shownOfAll,
  group_by: v.array(PolicyGrouping),
};

/** What a counter of a budget shows: dollars, tokens or requests. */
const EntityUse = v.object({ current_usage: v.number(), status: v.picklist(entityStatuses) });

/** A usage limit in responses. */
export const UsageLimitPolicy = v.object({
  ...shown,
  type: v.picklist(usageTypes),
  credit_limit: v.number(),
  alert_threshold: v.nullable(v.number()),
  periodic_reset: v.nullable(v.picklist(resetPeriods)),
  periodic_reset_days: v.nullable(v.number()),
  next_usage_reset_at: v.nullable(IsoTime),
  last_reset_at: v.nullable(IsoTime),
  object: v.literal("policy_usage_limits"),
});

/** Response of `GET /policies/usage-limits`. */
export const UsageLimitPolicyList = listOf(UsageLimitPolicy);

/** Response of `GET /policies/usage-limits/{id}`. */
export const ShownUsageLimitPolicy = v.object({
  ...UsageLimitPolicy.entries,
  /** With `include_usage`: the use of each counter, by the keys and values of `group_by`. */
  value_key_usage_map: v.optional(
    v.record(
      v.string(),
      v.object({ ...EntityUse.entries, is_threshold_alerts_sent: v.boolean(), is_exhausted_alerts_sent: v.boolean() }),
    ),
  ),
});

/** A rate limit in responses. */
export const RateLimitPolicy = v.object({
  ...shown,
  type: v.picklist(rateTypes),
  unit: v.picklist(rateUnits),
  value: v.number(),
  target: v.picklist(rateTargets),
  /** Null where requests beyond the limit are refused at once. */
  queue: v.nullable(Queue),
  object: v.literal("policy_rate_limits"),
});

/** Response of `GET /policies/rate-limits`. */
export const RateLimitPolicyList = listOf(RateLimitPolicy);

/** Response of a new policy of either kind. */
export const CreatedPolicy = v.object({ id: v.string(), object: v.literal("policy_usage_limits") });

/** Response of `GET /policies/usage-limits/{id}/entities`; the total is over all pages. */
export const PolicyEntities = listOf(
  v.object({
    id: v.string(),
    /** Keys and values of `group_by`. */
    value_key: v.string(),
    ...EntityUse.entries,
  }),
);
export type PolicyEntities = v.InferOutput<typeof PolicyEntities>;

const Use = v.nullable(v.number());

/** Response of `GET /policies/explain`: the limits a request would meet, and policies that do not apply to it. */
export const PolicyPlan = v.object({
  object: v.literal("policy_plan"),
  /** Active policies of the workspace, over all pages. */
  total: v.number(),
  policies: v.array(
    v.object({
      /** Of the policy, or of the record that has the limit. */
      id: v.string(),
      holder: v.picklist(["policy", "api_key", "workspace", "provider", "integration", "model_alias"]),
      /** A budget, or a rate limit. */
      kind: v.picklist(["usage", "rate"]),
      /** What it counts. */
      type: v.picklist(usageTypes),
      applies: v.boolean(),
      why: v.string(),
      /** What the request counts in; null, as are the next fields, where the limit does not apply. */
      bucket: v.nullable(v.string()),
      /** Dollars, tokens or requests, as are `used`, `reserved` and `left`. */
      limit: v.number(),
      used: Use,
      /** What running requests may use yet. */
      reserved: Use,
      left: Use,
      /** Also null where it never resets. */
      resets_at: v.nullable(v.string()),
      /** How requests wait for room, and how many do in this process; null where they are refused at once. */
      queue: v.nullable(v.object({ ...Queue.entries, waiting: v.number() })),
    }),
  ),
});
export type PolicyPlan = v.InferOutput<typeof PolicyPlan>;
