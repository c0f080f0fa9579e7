import type { ControlStores } from "../db/stores/control.ts";
import type { RateLimitPolicyRow, UsageLimitPolicyRow } from "../db/tables/policies.ts";
import { readTogether, type Tenant } from "../db/tenant-store.ts";
import { type StoredRateLimit, type StoredUsageLimit, toRateLimit, toUsageLimit } from "../policies/applied.ts";
import type { Condition, GroupBy } from "../policies/conditions.ts";
import { LabelPolicies } from "../policies/label-policy.ts";
import type { Limit } from "../policies/limit-store.ts";
import { type ActivePolicy, PolicySet } from "../policies/policy-set.ts";

/** The policies of a workspace. Undefined where it has none, so that requests need not look. */
export type PolicyLibrary = PolicySet | undefined;

/** Lists are written checked, in this shape. */
function readLists({ conditions, groupBy }: Pick<UsageLimitPolicyRow, "conditions" | "groupBy">) {
  return { conditions: conditions as unknown as Condition[], groupBy: groupBy as unknown as GroupBy };
}

/** The limit of a usage policy. */
export function limitOfUsagePolicy(row: UsageLimitPolicyRow): Limit {
  const stored = {
    type: row.type as StoredUsageLimit["type"], // written as one of them, as is the period
    credit_limit: row.creditLimit,
    alert_threshold: row.alertThreshold,
    periodic_reset: row.periodicReset as StoredUsageLimit["periodic_reset"], // as above
    periodic_reset_days: row.periodicResetDays,
    next_usage_reset_at: row.nextUsageResetAt,
  };
  const { id, organisationId, workspaceId } = row;
  return toUsageLimit(stored, { id, organisationId, alerted: { kind: "policy", id, workspaceId } });
}

/** A usage policy as requests meet it. */
export function toUsagePolicy(row: UsageLimitPolicyRow): ActivePolicy {
  return { id: row.id, name: row.name, kind: "usage", limit: limitOfUsagePolicy(row), ...readLists(row) };
}

/** A rate policy as requests meet it. */
export function toRatePolicy(row: RateLimitPolicyRow): ActivePolicy {
  const { type, unit, value, queue } = row;
  const limit = toRateLimit({ type, unit, value } as StoredRateLimit, row); // written as one of each
  return { id: row.id, name: row.name, kind: "rate", limit, ...readLists(row), ...(queue && { queue }) };
}

/** Reads the active policies of a workspace that bound calls to models. */
export async function readPolicies(
  { usageLimitPolicies, rateLimitPolicies }: Pick<ControlStores, "usageLimitPolicies" | "rateLimitPolicies">,
  tenant: Tenant,
): Promise<PolicyLibrary> {
  const [usage, rates] = await readTogether([
    usageLimitPolicies.query(tenant, { where: { status: "active" } }),
    rateLimitPolicies.query(tenant, { where: { status: "active", target: "llm" } }),
  ]);
  const policies = [...usage.map(toUsagePolicy), ...rates.map(toRatePolicy)];
  return policies.length === 0 ? undefined : new PolicySet(policies);
}

/** Reads the active policies of a workspace that bound calls of MCP tools. */
export async function readToolPolicies(
  { rateLimitPolicies }: Pick<ControlStores, "rateLimitPolicies">,
  tenant: Tenant,
): Promise<PolicyLibrary> {
  const rows = await rateLimitPolicies.all(tenant, { where: { status: "active", target: "mcp_tools" } });
  return rows.length === 0 ? undefined : new PolicySet(rows.map(toRatePolicy));
}

/** Reads the active policies of a workspace on labels of targets. */
export async function readLabelPolicies(
  { labelPolicies }: Pick<ControlStores, "labelPolicies">,
  tenant: Tenant,
): Promise<LabelPolicies | undefined> {
  const rows = await labelPolicies.all(tenant, { where: { status: "active" } });
  return rows.length === 0 ? undefined : new LabelPolicies(rows);
}
