import { type PolicyCondition, policyStatuses } from "../../schemas/policies.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { workspaceQuery } from "../core/record.ts";
import { namedWorkspace, readChoice, readTenant, requireFound, requireId } from "../core/request.ts";

type PolicyStatus = (typeof policyStatuses)[number];

/** A condition of a body: an exclusion may be null. */
type GivenCondition = Omit<PolicyCondition, "excludes"> & { excludes?: PolicyCondition["excludes"] | null };

/** Conditions as they are stored: an exclusion that is null is left out. */
export function toStoredConditions(conditions: readonly GivenCondition[]): PolicyCondition[] {
  return conditions.map(({ excludes, ...condition }) => (excludes == null ? condition : { ...condition, excludes }));
}

/** Tenant, id and states of the policy that a path names. */
async function placeOf(call: AdminCall<unknown>, status: readonly PolicyStatus[]) {
  const tenant = await readTenant(call, namedWorkspace(call));
  return { tenant, where: { id: requireId(call.params, "id", "policy"), status } };
}

/** The states of a policy that an endpoint of one policy finds: a read names one, a change finds any. */
export function statusesFor({ query }: AdminCall<unknown>, verb: string): readonly PolicyStatus[] {
  if (verb === "update") return policyStatuses;
  return [verb === "read" ? (readChoice(query, "status", policyStatuses) ?? "active") : "active"];
}

/** The usage limit that a path names. @throws {NotFoundError} AB08. */
export async function findUsageLimit(call: AdminCall<unknown>, status: readonly PolicyStatus[]) {
  const { tenant, where } = await placeOf(call, status);
  return requireFound(await call.stores.usageLimitPolicies.find(tenant, where), "policy");
}

/** The rate limit that a path names. @throws {NotFoundError} AB08. */
export async function findRateLimit(call: AdminCall<unknown>, status: readonly PolicyStatus[]) {
  const { tenant, where } = await placeOf(call, status);
  return requireFound(await call.stores.rateLimitPolicies.find(tenant, where), "policy");
}

/** The policy on labels that a path names. @throws {NotFoundError} AB08. */
export async function findLabelPolicy(call: AdminCall<unknown>, status: readonly PolicyStatus[]) {
  const { tenant, where } = await placeOf(call, status);
  return requireFound(await call.stores.labelPolicies.find(tenant, where), "policy");
}

/** The filter of a list by status. */
export const statusFilter = { values: policyStatuses, otherwise: "active" };

/** Query parameters of one policy. */
export const policyQuery = [workspaceQuery, { name: "status", description: "active (default) or archived" }];
