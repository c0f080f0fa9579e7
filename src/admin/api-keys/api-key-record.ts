import type { KeyKind } from "../../auth/scopes.ts";
import type { ApiKeyRow } from "../../db/tables/api-keys.ts";
import { isObject } from "../../lib/json.ts";
import { type showUsages, toNextReset } from "../core/limits.ts";
import { toIso } from "../core/request.ts";

/** A stored key's kind; the column is only written with one of these. */
export function kindOf(row: Pick<ApiKeyRow, "kind">): KeyKind {
  return row.kind as KeyKind;
}

/** Scopes a stored key holds. */
export function scopesOf(row: Pick<ApiKeyRow, "scopes">): string[] {
  const scopes: unknown = JSON.parse(row.scopes);
  return Array.isArray(scopes) ? scopes.map(String) : [];
}

type ShownUsage = Awaited<ReturnType<typeof showUsages>>[number] | undefined;

/**
 * A key as responses show it: masked.
 *
 * @param isExpiryEnforced Whether a maximum lifetime applies to it.
 * @param usage Its budget as it is shown.
 */
export function toKeyRecord(row: ApiKeyRow, isExpiryEnforced: boolean, usage: ShownUsage) {
  const defaults = isObject(row.defaults) ? row.defaults : null;
  return {
    id: row.id,
    key: row.masked,
    name: row.name,
    description: row.description,
    type: row.kind,
    organisation_id: row.organisationId,
    workspace_id: row.workspaceId,
    user_id: row.userId,
    status: row.status === "active" ? (usage?.status ?? "active") : row.status,
    creation_mode: row.creationMode,
    rate_limits: row.rateLimits ?? [],
    usage_limits: usage ?? null,
    reset_usage: null,
    last_reset_at: toIso(row.lastResetAt),
    next_usage_reset_at: toNextReset(row.usageLimits),
    expires_at: toIso(row.expiresAt),
    expiry_enforced: isExpiryEnforced ? 1 : 0,
    alert_emails: row.alertEmails,
    allow_config_override: defaults && (defaults.allow_config_override === false ? 0 : 1),
    api_key_defaults_id: null,
    scopes: scopesOf(row),
    defaults,
    ...(row.lastRotatedAt !== null && { last_rotated_at: toIso(row.lastRotatedAt) }),
    created_at: toIso(row.createdAt),
    last_updated_at: toIso(row.lastUpdatedAt || row.createdAt),
    object: "api-key",
  };
}
