import type { RateLimitPolicyRow } from "../../db/tables/policies.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { NoContent } from "../../schemas/objects.ts";
import {
  CreatedPolicy,
  CreateRateLimitPolicy,
  RateLimitPolicy,
  RateLimitPolicyList,
  rateTargets,
  rateTypes,
  rateUnits,
  UpdateRateLimitPolicy,
} from "../../schemas/policies.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { defineRecord } from "../core/record.ts";
import type { Found, NewPlace } from "../core/record-definitions.ts";
import { refuseField, requireNewName } from "../core/request.ts";
import { shownBy } from "../core/shown-row.ts";
import { findRateLimit, policyQuery, statusesFor, statusFilter, toStoredConditions } from "./policy-rows.ts";

const toPolicy = shownBy(RateLimitPolicy, (_row: RateLimitPolicyRow) => ({}));

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

async function createPolicy(call: AdminCall<CreateRateLimitPolicy>, { tenant, id }: NewPlace<"rateLimitPolicies">) {
  const { body } = call;
  requireKeys(body.conditions, body.target, "conditions");
  requireKeys(body.group_by, body.target, "group_by");
  requireCountable(body.type, body.value);
  const { name = null, description = null, type, unit, value, target, queue = null } = body;
  await requireNewName(call, () => call.stores.rateLimitPolicies.find(tenant, { name, status: "active" }));
  const conditions = toStoredConditions(body.conditions);
  return {
    // the API specification uses this word in the receipts of both kinds
    answer: { id, object: "policy_usage_limits" as const },
    columns: {
      name,
      description,
      conditions,
      groupBy: body.group_by,
      type,
      unit,
      value,
      target,
      queue,
      status: "active" as const,
    },
  };
}

async function updatePolicy({ body }: AdminCall<UpdateRateLimitPolicy>, { row }: Found<"rateLimitPolicies">) {
  if (body.target !== undefined && body.target !== row.target) refuseField("target", "cannot be changed");
  requireKeys(body.conditions ?? [], row.target, "conditions");
  requireCountable(row.type, body.value);
  const { name, description, unit, value, queue, status } = body;
  const conditions = body.conditions && toStoredConditions(body.conditions);
  return { answer: {}, columns: { name, description, conditions, unit, value, queue, status } };
}

const policies = defineRecord({
  tag: "Policies",
  path: "/v1/policies/rate-limits",
  words: { one: "a rate limit", many: "rate limits" },
  store: "rateLimitPolicies",
  audit: "rate_limit_policies",
  access: "policies",
  find: (call, verb) => findRateLimit(call, statusesFor(call, verb)),
});

/** Endpoints of rate limits. */
export const rateLimitPolicyEndpoints: readonly AdminEndpoint[] = [
  policies.list({
    response: RateLimitPolicyList,
    filters: {
      status: statusFilter,
      type: { values: rateTypes },
      unit: { values: rateUnits },
      target: { values: rateTargets },
    },
    show: (rows) => rows.map(toPolicy),
  }),
  policies.create({
    summary: "Make a rate limit",
    body: CreateRateLimitPolicy,
    response: CreatedPolicy,
    decide: createPolicy,
  }),
  policies.show({ query: policyQuery, response: RateLimitPolicy, show: ({ row }) => toPolicy(row) }),
  policies.change({ body: UpdateRateLimitPolicy, response: NoContent, decide: updatePolicy }),
  policies.remove({ archives: { status: "archived" } }),
];
