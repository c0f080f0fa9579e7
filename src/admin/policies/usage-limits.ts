import type { UsageLimitPolicyRow } from "../../db/tables/policies.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  CreatedPolicy,
  CreateUsageLimitPolicy,
  ShownUsageLimitPolicy,
  UpdateUsageLimitPolicy,
  UsageLimitPolicy,
  UsageLimitPolicyList,
  usageTypes,
} from "../../schemas/policies.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { nextReset } from "../core/limits.ts";
import { defineRecord } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { refuseField, requireNewName } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { entityEndpoints, resetValue, usageDetail } from "./entities.ts";
import { findUsageLimit, policyQuery, statusesFor, statusFilter, toStoredConditions } from "./policy-rows.ts";

const toPolicy = shownBy(UsageLimitPolicy, (_row: UsageLimitPolicyRow) => ({}));

type Budget = Pick<
  UsageLimitPolicyRow,
  "creditLimit" | "alertThreshold" | "periodicReset" | "periodicResetDays" | "nextUsageResetAt"
>;

/** When the counters of a changed budget reset: unchanged unless the body sets it. */
function changedReset(
  body: Pick<UpdateUsageLimitPolicy, "periodic_reset" | "periodic_reset_days" | "next_usage_reset_at">,
  former: Budget,
  now: number,
): number | null {
  const { periodic_reset = former.periodicReset, periodic_reset_days = former.periodicResetDays } = body;
  const isSame = periodic_reset === former.periodicReset && periodic_reset_days === former.periodicResetDays;
  if (isSame && body.next_usage_reset_at === undefined) return former.nextUsageResetAt;
  return nextReset({ ...body, periodic_reset, periodic_reset_days }, now);
}

/**
 * The budget in a body; absent fields stay unchanged.
 *
 * @throws {InvalidRequestError} AB01, naming the field that contradicts another.
 */
function applyBudget(body: UpdateUsageLimitPolicy, former: Budget, now: number): Budget {
  const {
    credit_limit: creditLimit = former.creditLimit,
    alert_threshold: alertThreshold = former.alertThreshold,
    periodic_reset: periodicReset = former.periodicReset,
    periodic_reset_days: periodicResetDays = former.periodicResetDays,
  } = body;
  if (alertThreshold !== null && alertThreshold >= creditLimit) {
    if (body.alert_threshold == null) refuseField("credit_limit", "must be above alert_threshold");
    refuseField("alert_threshold", "must be below credit_limit");
  }
  if (periodicReset !== null && periodicResetDays !== null) {
    const [given, other] =
      body.periodic_reset_days == null
        ? (["periodic_reset", "periodic_reset_days"] as const)
        : (["periodic_reset_days", "periodic_reset"] as const);
    refuseField(given, `cannot be set together with ${other}: set ${other} to null`);
  }
  const nextUsageResetAt = changedReset(body, former, now);
  return { creditLimit, alertThreshold, periodicReset, periodicResetDays, nextUsageResetAt };
}

async function createPolicy(call: AdminCall<CreateUsageLimitPolicy>, { tenant, id }: NewPlace<"usageLimitPolicies">) {
  const { body, now } = call;
  const none = { alertThreshold: null, periodicReset: null, periodicResetDays: null, nextUsageResetAt: null };
  const { name = null, description = null, type } = body;
  await requireNewName(call, () => call.stores.usageLimitPolicies.find(tenant, { name, status: "active" }));
  const conditions = toStoredConditions(body.conditions);
  const budget = applyBudget(body, { creditLimit: body.credit_limit, ...none }, now);
  return {
    answer: { id, object: "policy_usage_limits" as const },
    columns: { name, description, conditions, groupBy: body.group_by, type, ...budget, status: "active" as const },
  };
}

async function updatePolicy(call: AdminCall<UpdateUsageLimitPolicy>, { row }: Found<"usageLimitPolicies">) {
  const { body, now } = call;
  const budget = applyBudget(body, row, now);
  const { name, description, status, reset_usage_for_value: counter } = body;
  const conditions = body.conditions && toStoredConditions(body.conditions);
  // last: nothing may be refused once the counter is reset
  const reset = counter == null ? undefined : await resetValue(call, row, counter);
  return {
    answer: {},
    columns: { name, description, conditions, ...budget, status, lastResetAt: reset && now },
    statements: reset?.statements ?? [],
    undo: reset?.undo,
  };
}

const policies = defineRecord({
  tag: "Policies",
  path: "/v1/policies/usage-limits",
  words: { one: "a usage limit", many: "usage limits" },
  store: "usageLimitPolicies",
  audit: "usage_limit_policies",
  access: "policies",
  find: (call, verb) => findUsageLimit(call, statusesFor(call, verb)),
});

/** Endpoints of usage limits. */
export const usageLimitPolicyEndpoints: readonly AdminEndpoint[] = [
  policies.list({
    response: UsageLimitPolicyList,
    filters: { status: statusFilter, type: { values: usageTypes } },
    show: (rows) => rows.map(toPolicy),
  }),
  policies.create({
    summary: "Make a usage limit",
    body: CreateUsageLimitPolicy,
    response: CreatedPolicy,
    decide: createPolicy,
  }),
  policies.show({
    query: [...policyQuery, ...usageDetail.query],
    response: ShownUsageLimitPolicy,
    show: async ({ row }, call) => ({ ...toPolicy(row), ...(await usageDetail.read(call, row)) }),
  }),
  policies.change({ body: UpdateUsageLimitPolicy, response: NoContent, decide: updatePolicy }),
  policies.remove({ archives: { status: "archived" } }),
  ...entityEndpoints,
];
