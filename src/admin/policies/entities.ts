import type { Services } from "../../context.ts";
import { limitOfUsagePolicy } from "../../control/policy-library.ts";
import type { UsageLimitPolicyRow } from "../../db/tables/policies.ts";
import type { AdminEndpoint } from "../../endpoint.ts";
import { fromBase64Url, toHex } from "../../lib/base64.ts";
import { giveWay } from "../../lib/pace.ts";
import { isUsedUp, toShownUse } from "../../policies/applied.ts";
import type { BucketState, Limit, LimitStore } from "../../policies/limit-store.ts";
import type { LimitIncrement } from "../../schemas/logs.ts";
import { NoContent } from "../../schemas/objects.ts";
import { entityStatuses, PolicyEntities } from "../../schemas/policies.ts";
import { type AdminCall, type AnswerOf, defineRead, defineWrite, type Outcome } from "../core/endpoint.ts";
import { showFlags } from "../core/limits.ts";
import { pageQuery, workspaceQuery } from "../core/record.ts";
import { isRecordId, readChoice, readPage, readSearch, requireFound, requireReferenced } from "../core/request.ts";
import { findUsageLimit } from "./policy-rows.ts";

/** What counters are read and reset with. */
type Counters = Pick<Services, "limitStore" | "limitCounters" | "stateMac" | "steadyTime">;

/** A counter of a policy, as the API names it: one combination of the values of `group_by`. */
type Entity = readonly [valueKey: string, state: BucketState];

/** Counters of a policy in the current period, in the order of their names. */
async function listEntities(row: UsageLimitPolicyRow, { limitStore }: Counters): Promise<Entity[]> {
  const found = await limitStore.list(limitOfUsagePolicy(row));
  return found.toSorted(([one], [other]) => (one < other ? -1 : 1));
}

/** What a counter shows of its use. */
function showUse(limit: Limit, state: BucketState) {
  const status: (typeof entityStatuses)[number] = isUsedUp({ limit, state }) ? "exhausted" : "active";
  return { current_usage: toShownUse(limit, state.used), status };
}

/** Id of a counter: the same in all processes and at any time, and without a trace of what it names. */
async function entityId({ organisationId, id }: UsageLimitPolicyRow, valueKey: string, services: Counters) {
  const digest = await services.stateMac(JSON.stringify(["policy-entity", organisationId, id, valueKey]));
  const bytes = fromBase64Url(digest).subarray(0, 16);
  // version 8 and variant of RFC 9562, section 5.8
  bytes[6] = 0x80 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  return toHex(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Ids that are computed without a break. */
const sliceIds = 256;

/** The name of the counter with this id. */
async function findValueKey(row: UsageLimitPolicyRow, id: string, services: Counters): Promise<string | undefined> {
  for (const [index, [valueKey]] of (await listEntities(row, services)).entries()) {
    if ((await entityId(row, valueKey, services)) === id) return valueKey;
    if (index % sliceIds === sliceIds - 1) await giveWay();
  }
  return undefined;
}

const findUsagePolicy = (call: AdminCall<undefined>) => findUsageLimit(call, ["active"]);

async function readEntities(call: AdminCall<undefined>): Promise<PolicyEntities> {
  const { query, context } = call;
  const { services } = context;
  const row = await findUsagePolicy(call);
  const limit = limitOfUsagePolicy(row);
  const status = readChoice(query, "status", entityStatuses);
  const search = readSearch(query)?.toLowerCase();
  const page = readPage(query, { max: 100 });
  const found = (await listEntities(row, services)).filter(
    ([valueKey, state]) =>
      (status === undefined || showUse(limit, state).status === status) &&
      (search === undefined || valueKey.toLowerCase().includes(search)),
  );
  const shown = found.slice(page.offset, page.offset + page.limit).map(async ([valueKey, state]) => ({
    id: await entityId(row, valueKey, services),
    value_key: valueKey,
    ...showUse(limit, state),
  }));
  return { object: "list", total: found.length, data: await Promise.all(shown) };
}

/** What the endpoint of one usage limit can show besides: the use of its counters. */
export const usageDetail = {
  query: [{ name: "include_usage", description: "true: with value_key_usage_map, the use of each counter" }],
  async read({ query, context }: AdminCall<undefined>, row: UsageLimitPolicyRow) {
    if (readChoice(query, "include_usage", ["true", "false"]) !== "true") return {};
    const limit = limitOfUsagePolicy(row);
    const entities = await listEntities(row, context.services);
    const uses = entities.map(([bucket, state]) => ({ limit, bucket, state }));
    const flags = await context.services.limitAlerts.readFlags(uses);
    const shown = entities.map(([valueKey, state], index) => [
      valueKey,
      { ...showUse(limit, state), ...showFlags(flags[index]) },
    ]);
    return { value_key_usage_map: Object.fromEntries(shown) };
  },
};

/** Takes back a reset: what was used before it counts again, unless its period is over. */
async function undoReset(limit: Limit, { bucket, windowStart, used }: LimitIncrement, store: LimitStore) {
  const { start } = (await store.read(limit, bucket)).span;
  if (!Number.isFinite(start) || start === windowStart) await store.add(limit, bucket, -used);
}

/** Sets a counter to 0 at once. The statements must be written, or `undo` be called. */
async function resetCounter(
  row: UsageLimitPolicyRow,
  valueKey: string,
  { limitStore, limitCounters, steadyTime }: Counters,
): Promise<Pick<Outcome, "statements" | "undo">> {
  const limit = limitOfUsagePolicy(row);
  const increment = await limitStore.reset(limit, valueKey);
  if (!increment) return { statements: [] };
  return {
    statements: [limitCounters.reset(row.organisationId, increment, steadyTime())],
    undo: () => undoReset(limit, increment, limitStore),
  };
}

/**
 * As `resetCounter`, for a counter that a body names.
 *
 * @throws {NotFoundError} AB02 if the policy has counted nothing under this name in its current period.
 */
export async function resetValue(
  { context: { services } }: AdminCall<unknown>,
  row: UsageLimitPolicyRow,
  name: string,
) {
  const entities = await listEntities(row, services);
  requireReferenced(
    entities.find(([valueKey]) => valueKey === name),
    "reset_usage_for_value",
  );
  return resetCounter(row, name, services);
}

async function resetEntity(call: AdminCall<undefined>): Promise<Outcome<AnswerOf<typeof NoContent>>> {
  const { params, stores, now, context } = call;
  const row = await findUsagePolicy(call);
  const id = (params.entityId ?? "").toLowerCase();
  const found = isRecordId(id) ? await findValueKey(row, id, context.services) : undefined;
  const valueKey = requireFound(found, "entity");
  const { statements, undo } = await resetCounter(row, valueKey, context.services);
  // as in a change of the policy that resets a counter
  const audited = { reset_usage_for_value: valueKey };
  const noted = stores.usageLimitPolicies.update(row, { id: row.id }, { lastResetAt: now });
  return { answer: {}, recordId: row.id, audited, statements: [noted, ...statements], undo };
}

const entities = "/v1/policies/usage-limits/:id/entities";

/** Endpoints of the counters of usage limits. */
export const entityEndpoints: readonly AdminEndpoint[] = [
  defineRead({
    tag: "Policies",
    path: entities,
    method: "GET",
    summary: "List the counters of a usage limit",
    access: { keys: "any", scopes: ["policies.read"] },
    query: [
      workspaceQuery,
      { name: "status", description: entityStatuses.join(" or ") },
      { name: "search", description: "A part of value_key, in any case" },
      ...pageQuery(50, 100),
    ],
    response: PolicyEntities,
    handle: readEntities,
  }),
  defineWrite({
    tag: "Policies",
    path: `${entities}/:entityId/reset`,
    method: "PUT",
    summary: "Set a counter of a usage limit to 0",
    access: { keys: "any", scopes: ["policies.update"] },
    audit: { resource: "usage_limit_policies", action: "reset", store: "usageLimitPolicies" },
    query: [workspaceQuery],
    response: NoContent,
    handle: resetEntity,
  }),
];
