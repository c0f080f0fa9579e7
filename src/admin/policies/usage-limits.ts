import type { UsageLimitPolicyRow } from "../../db/tables/policies.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import {
  type CreatedPolicy,
  CreateUsageLimitPolicy,
  ShownUsageLimitPolicy,
  UpdateUsageLimitPolicy,
  type UsageLimitPolicy,
  UsageLimitPolicyList,
  usageTypes,
} from "../../schemas/policies.ts";
import type { AdminCall, Outcome } from "../core/endpoint.ts";
import { nextReset } from "../core/limits.ts";
import { readText, refuseField, requireWorkspace, toIso } from "../core/request.ts";
import { defineEntities, resetValue, usageDetail } from "./entities.ts";
import { definePolicies, toStoredConditions } from "./policy-rows.ts";

const object = "policy_usage_limits";

function toPolicy(row: UsageLimitPolicyRow): UsageLimitPolicy {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    conditions: row.conditions,
    group_by: row.groupBy,
    type: row.type,
    credit_limit: row.creditLimit,
    alert_threshold: row.alertThreshold,
    periodic_reset: row.periodicReset,
    periodic_reset_days: row.periodicResetDays,
    next_usage_reset_at: toIso(row.nextUsageResetAt),
    last_reset_at: toIso(row.lastResetAt),
    status: row.status,
    workspace_id: row.workspaceId,
    organisation_id: row.organisationId,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object,
  };
}

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

async function createPolicy(call: AdminCall<CreateUsageLimitPolicy>): Promise<Outcome<CreatedPolicy>> {
  const { body, stores, now } = call;
  const tenant = await requireWorkspace(call, body.workspace_id ?? readText(call.query, "workspace_id"));
  const id = crypto.randomUUID();
  const none = { alertThreshold: null, periodicReset: null, periodicResetDays: null, nextUsageResetAt: null };
  const row = {
    id,
    ...tenant,
    name: body.name ?? null,
    description: body.description ?? null,
    conditions: toStoredConditions(body.conditions),
    groupBy: body.group_by,
    type: body.type,
    ...applyBudget(body, { creditLimit: body.credit_limit, ...none }, now),
    status: "active" as const,
    createdAt: now,
    lastUpdatedAt: now,
  };
  return { answer: { id, object }, recordId: id, statements: [stores.usageLimitPolicies.insert(tenant, row)] };
}

async function updatePolicy(call: AdminCall<UpdateUsageLimitPolicy>, row: UsageLimitPolicyRow) {
  const { body, stores, now } = call;
  const budget = applyBudget(body, row, now);
  const value = body.reset_usage_for_value;
  // last: nothing may be refused once the counter is reset
  const reset = value == null ? undefined : await resetValue(call, row, value);
  const changes = {
    name: body.name,
    description: body.description,
    conditions: body.conditions && toStoredConditions(body.conditions),
    ...budget,
    status: body.status,
    lastResetAt: reset && now,
    lastUpdatedAt: now,
  };
  const statement = stores.usageLimitPolicies.update(row, { id: row.id }, changes);
  return {
    answer: {},
    recordId: row.id,
    statements: [statement, ...(reset?.statements ?? [])],
    undo: reset?.undo,
  };
}

const path = "/v1/policies/usage-limits";
const resource = "usage_limit_policies";

/** Endpoints of usage limits. */
export const usageLimitPolicyEndpoints: readonly AdminEndpoint[] = [
  ...definePolicies({
    path,
    resource,
    words: { one: "a usage limit", many: "usage limits" },
    store: "usageLimitPolicies",
    storeOf: ({ usageLimitPolicies }) => usageLimitPolicies,
    filters: { type: usageTypes },
    responses: { list: UsageLimitPolicyList, one: ShownUsageLimitPolicy },
    createBody: CreateUsageLimitPolicy,
    updateBody: UpdateUsageLimitPolicy,
    show: toPolicy,
    create: createPolicy,
    update: updatePolicy,
    detail: usageDetail,
  }),
  ...defineEntities({ path, resource }),
];
