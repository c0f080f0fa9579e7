import type { ApiKeyRow } from "../../db/tables/api-keys.ts";
import type { ApiKey } from "../../schemas/api-keys.ts";
import type { ShownBudget } from "../../schemas/control.ts";
import { toNextReset } from "../core/limits.ts";
import { toIso } from "../core/request.ts";

/** Scopes a stored key holds. */
export function scopesOf(row: Pick<ApiKeyRow, "scopes">): string[] {
  const scopes: unknown = JSON.parse(row.scopes);
  return Array.isArray(scopes) ? scopes.map(String) : [];
}

/**
 * A key as responses show it: masked.
 *
 * @param isExpiryEnforced Whether a maximum lifetime applies to it.
 * @param usage Its budget as it is shown.
 */
export function toKeyRecord(row: ApiKeyRow, isExpiryEnforced: boolean, usage: ShownBudget | null): ApiKey {
  const { defaults } = row;
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
    priority: row.priority ?? "normal",
    allowed_models: row.allowedModels,
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
