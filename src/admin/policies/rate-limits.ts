import type { RateLimitPolicyRow } from "../../db/tables/policies.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import {
  CreateRateLimitPolicy,
  RateLimitPolicy,
  RateLimitPolicyList,
  rateTargets,
  rateTypes,
  rateUnits,
  UpdateRateLimitPolicy,
} from "../../schemas/policies.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { readText, refuseField, requireWorkspace, toIso } from "../core/request.ts";
import { definePolicies, toStoredConditions } from "./policy-rows.ts";

function toPolicy(row: RateLimitPolicyRow): RateLimitPolicy {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    conditions: row.conditions,
    group_by: row.groupBy,
    type: row.type,
    unit: row.unit,
    value: row.value,
    target: row.target,
    status: row.status,
    workspace_id: row.workspaceId,
    organisation_id: row.organisationId,
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object: "policy_rate_limits",
  };
}

/** Keys for tool calls; the others are for model requests. */
const sharedKeys = new Set(["workspace_id", "organisation_id", "api_key"]);
const toolKeys = new Set(["mcp_server", "mcp_tool", "user_id"]);

/**
 * @param list Conditions, or keys to group by.
 * @throws {InvalidRequestError} AB01 for a key that calls of this target never have: the policy would never apply.
 */
function requireKeys(list: readonly { key: string }[], target: string, param: string): void {
  const isFit = ({ key }: { key: string }) =>
    sharedKeys.has(key) || key.startsWith("metadata.") || toolKeys.has(key) === (target === "mcp_tools");
  const wrong = list.findIndex((entry) => !isFit(entry));
  if (wrong >= 0) refuseField(`${param}.${wrong}.key`, `cannot be ${list[wrong]?.key} with the target ${target}`);
}

/** @throws {InvalidRequestError} AB01 for a fraction of a request. */
function requireCountable(type: string, value: number | undefined): void {
  if (type === "requests" && value !== undefined && !Number.isInteger(value)) {
    refuseField("value", "must be a whole number of requests");
  }
}

async function createPolicy(call: AdminCall<CreateRateLimitPolicy>) {
  const { body, stores, now } = call;
  const tenant = await requireWorkspace(call, body.workspace_id ?? readText(call.query, "workspace_id"));
  requireKeys(body.conditions, body.target, "conditions");
  requireKeys(body.group_by, body.target, "group_by");
  requireCountable(body.type, body.value);
  const id = crypto.randomUUID();
  const row = {
    id,
    ...tenant,
    name: body.name ?? null,
    description: body.description ?? null,
    conditions: toStoredConditions(body.conditions),
    groupBy: body.group_by,
    type: body.type,
    unit: body.unit,
    value: body.value,
    target: body.target,
    status: "active" as const,
    createdAt: now,
    lastUpdatedAt: now,
  };
  // the API specification uses this word in the receipts of both kinds
  const answer = { id, object: "policy_usage_limits" } as const;
  return { answer, recordId: id, statements: [stores.rateLimitPolicies.insert(tenant, row)] };
}

async function updatePolicy({ body, stores, now }: AdminCall<UpdateRateLimitPolicy>, row: RateLimitPolicyRow) {
  if (body.target !== undefined && body.target !== row.target) refuseField("target", "cannot be changed");
  requireKeys(body.conditions ?? [], row.target, "conditions");
  requireCountable(row.type, body.value);
  const changes = {
    name: body.name,
    description: body.description,
    conditions: body.conditions && toStoredConditions(body.conditions),
    unit: body.unit,
    value: body.value,
    status: body.status,
    lastUpdatedAt: now,
  };
  const statement = stores.rateLimitPolicies.update(row, { id: row.id }, changes);
  return { answer: {}, recordId: row.id, statements: [statement] };
}

/** Endpoints of rate limits. */
export const rateLimitPolicyEndpoints: readonly AdminEndpoint[] = definePolicies({
  path: "/v1/policies/rate-limits",
  resource: "rate_limit_policies",
  words: { one: "a rate limit", many: "rate limits" },
  store: "rateLimitPolicies",
  storeOf: ({ rateLimitPolicies }) => rateLimitPolicies,
  filters: { type: rateTypes, unit: rateUnits, target: rateTargets },
  responses: { list: RateLimitPolicyList, one: RateLimitPolicy },
  createBody: CreateRateLimitPolicy,
  updateBody: UpdateRateLimitPolicy,
  show: toPolicy,
  create: createPolicy,
  update: updatePolicy,
});
