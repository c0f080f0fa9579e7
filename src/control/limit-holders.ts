import type { ApiKeyRow } from "../db/tables/api-keys.ts";
import type { IntegrationWorkspaceRow, ProviderRow } from "../db/tables/integrations.ts";
import type { ModelAliasRow } from "../db/tables/model-aliases.ts";
import type { WorkspaceRow } from "../db/tables/tenants.ts";
import type { LimitHolder } from "../policies/applied.ts";

/** The limits of a key, or those in the claims of a token. */
export function holderOfKey(
  {
    id,
    organisationId,
    workspaceId = null,
  }: Pick<ApiKeyRow, "id" | "organisationId"> & Partial<Pick<ApiKeyRow, "workspaceId">>,
  {
    usageLimits,
    rateLimits,
    lastResetAt,
  }: Pick<ApiKeyRow, "lastResetAt"> & { usageLimits: unknown; rateLimits: unknown },
): LimitHolder {
  return {
    id,
    organisationId,
    alerted: { kind: "api_key", id, workspaceId },
    bucket: `api_key:${id}`,
    holder: "API Key",
    codes: { usage: "api_key_exhaust_error", rate: "api_key_rate_limit_error" },
    usageLimits,
    rateLimits,
    lastResetAt,
  };
}

/** The limits of a workspace, which its keys share. */
export function holderOfWorkspace(row: WorkspaceRow): LimitHolder {
  const { id, organisationId, slug, usageLimits, rateLimits, lastResetAt } = row;
  return {
    id,
    organisationId,
    alerted: { kind: "workspace", id, workspaceId: id },
    bucket: `workspace_id:${id}`,
    holder: `workspace ${slug}`,
    codes: { usage: "workspace_exhaust_error", rate: "workspace_rate_limit_error" },
    usageLimits,
    rateLimits,
    lastResetAt,
  };
}

/** The limits of a stored provider. */
export function holderOfProvider(row: ProviderRow): LimitHolder {
  const { id, organisationId, workspaceId, slug, usageLimits, rateLimits, lastResetAt } = row;
  return {
    id,
    organisationId,
    alerted: { kind: "provider", id, workspaceId },
    bucket: `virtual_key:${slug}`,
    holder: `provider ${slug}`,
    codes: { usage: "virtual_key_exhaust_error", rate: "virtual_key_rate_limit_error" },
    usageLimits,
    rateLimits,
    lastResetAt,
  };
}

/** The limits of a workspace at an integration of the organisation. */
export function holderOfAccess(
  access: Pick<
    IntegrationWorkspaceRow,
    "organisationId" | "integrationId" | "workspaceId" | "usageLimits" | "rateLimits" | "lastResetAt"
  >,
): LimitHolder {
  const { organisationId, integrationId, workspaceId, usageLimits, rateLimits, lastResetAt } = access;
  return {
    id: `${integrationId}:${workspaceId}`,
    organisationId,
    alerted: { kind: "integration", id: integrationId, workspaceId },
    // budgets that the organisation gives to all workspaces have the same id
    bucket: `integration:${integrationId}:${workspaceId}`,
    holder: "workspace at this integration",
    codes: { usage: "integration_exhaust_error", rate: "integration_rate_limit_error" },
    usageLimits,
    rateLimits,
    lastResetAt,
  };
}

/** The limits of a model alias, which all who use it share. */
export function holderOfAlias(row: ModelAliasRow): LimitHolder {
  const { id, organisationId, workspaceId, name, usageLimits, rateLimits, lastResetAt } = row;
  return {
    id,
    organisationId,
    alerted: { kind: "model_alias", id, workspaceId },
    bucket: `model_alias:${id}`,
    holder: `model alias ${name}`,
    codes: { usage: "model_alias_exhaust_error", rate: "model_alias_rate_limit_error" },
    usageLimits,
    rateLimits,
    lastResetAt,
  };
}
