import type { ApiKeyRow } from "../../db/tables/api-keys.ts";
import type { JsonValue } from "../../db/tables/columns.ts";
import { ConflictError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { nextPeriodStart, startOfDay } from "../../lib/periods.ts";
import { minTransitionMs, type RotateApiKey, type RotationPolicy, shortestPeriodMs } from "../../schemas/api-keys.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { refuseField, toIso } from "../core/request.ts";
import { findKey } from "./api-key-access.ts";
import { kindOf, scopesOf } from "./api-key-record.ts";
import { namedDays, requireGrantable, type UserKeyRules } from "./api-key-rules.ts";
import { mintSecret } from "./key-minting.ts";

/** A stored policy; `toStoredPolicy` wrote it. */
function policyOf(stored: JsonValue | null): RotationPolicy | null {
  return isObject(stored) ? (stored as RotationPolicy) : null;
}

function toJson(policy: RotationPolicy, next: number | null): JsonValue {
  return {
    rotation_period: policy.rotation_period ?? null,
    rotation_period_days: policy.rotation_period_days ?? null,
    next_rotation_at: next,
    key_transition_period_ms: policy.key_transition_period_ms ?? minTransitionMs,
  };
}

/** The next rotation of a policy: at the end of its period. */
function nextRotation(policy: RotationPolicy, now: number): number | null {
  const period = policy.rotation_period ?? policy.rotation_period_days;
  return period == null ? null : nextPeriodStart(now, period);
}

function requireCadence(policy: RotationPolicy, days: number): void {
  if (policy.next_rotation_at != null) {
    refuseField("rotation_policy.next_rotation_at", "cannot be set: the organisation's rotation period applies");
  }
  const wanted = policy.rotation_period == null ? policy.rotation_period_days : namedDays[policy.rotation_period];
  if (wanted !== days)
    refuseField("rotation_policy", `must rotate every ${days} days, the organisation's rotation period`);
}

/**
 * A rotation policy as it is stored.
 *
 * @param given Null: no policy.
 * @throws {InvalidRequestError} AB01 if the rules require another one.
 */
export function toStoredPolicy(
  given: RotationPolicy | null,
  { rotationDays }: Pick<UserKeyRules, "rotationDays">,
  now: number,
): JsonValue {
  if (given && rotationDays !== null) requireCadence(given, rotationDays);
  const policy = given ?? (rotationDays === null ? null : { rotation_period_days: rotationDays });
  if (!policy) return null;
  const { next_rotation_at: next } = policy;
  return toJson(policy, next == null ? nextRotation(policy, now) : startOfDay(next));
}

/** A stored policy after the secret was replaced: the next rotation is one period away. */
function advancePolicy(stored: JsonValue | null, now: number): JsonValue {
  const policy = policyOf(stored);
  if (!policy) return null;
  return toJson(policy, nextRotation(policy, now) ?? policy.next_rotation_at ?? null);
}

/** How long the former secret stays valid: from the body, else the policy. */
function readTransition({ body }: AdminCall<RotateApiKey>, { rotationPolicy }: ApiKeyRow): number {
  const policy = policyOf(rotationPolicy);
  const transition = body.key_transition_period_ms ?? policy?.key_transition_period_ms ?? minTransitionMs;
  if (transition >= (shortestPeriodMs(policy ?? {}) ?? Infinity)) {
    refuseField("key_transition_period_ms", "must be shorter than the rotation period");
  }
  return transition;
}

/** @throws {ConflictError} If the key has expired, or still has two secrets. */
function requireRotatable(row: ApiKeyRow, now: number): void {
  if (row.status === "expired" || (row.expiresAt !== null && row.expiresAt <= now)) {
    throw new ConflictError("Cannot rotate this key: it has expired", { code: "AB07" });
  }
  if (row.transitionEndsAt !== null && row.transitionEndsAt > now) {
    throw new ConflictError(`Cannot rotate this key: its former secret is valid until ${toIso(row.transitionEndsAt)}`, {
      code: "AB07",
    });
  }
}

/** Gives a key a new secret; the former one stays valid for a while. */
export async function rotateKey(call: AdminCall<RotateApiKey>) {
  const { body, context, now, stores } = call;
  const { services } = context;
  const row = await findKey(call, "rotate", body.workspace_id);
  // whoever reads the new secret has all the key's scopes
  requireGrantable(context.principal, kindOf(row), scopesOf(row));
  requireRotatable(row, now);
  const transitionEndsAt = now + readTransition(call, row);
  const { key, stored } = await mintSecret(services, row.lookupId);
  const tenant = { organisationId: row.organisationId, workspaceId: row.workspaceId };
  const changes = {
    ...stored,
    formerDigest: row.digest,
    formerOfAnyForm: row.lookupId === null,
    transitionEndsAt,
    lastRotatedAt: now,
    lastUpdatedAt: now,
    rotationPolicy: advancePolicy(row.rotationPolicy, now),
  };
  return {
    answer: { id: row.id, key, key_transition_expires_at: toIso(transitionEndsAt) },
    recordId: row.id,
    statements: [stores.apiKeys.update(tenant, { id: row.id }, changes)],
  };
}
