import type { KeyKind, ScopeFamilyName } from "../../auth/scopes.ts";
import type { ApiKeyRow } from "../../db/tables/api-keys.ts";
import { readRole, requireScopes } from "../../endpoint/role.ts";
import { PermissionError } from "../../errors.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { forbid, namedWorkspace, readTenant, requireFound, requireId } from "../core/request.ts";

/** Scopes for each kind of key. */
export const families = {
  "organisation-service": "organisation_service_api_keys",
  "workspace-service": "workspace_service_api_keys",
  "workspace-user": "workspace_user_api_keys",
} as const satisfies Readonly<Record<KeyKind, ScopeFamilyName>>;
/** Statuses of listed keys; revoked keys are not listed. */
export const shownStatuses = ["active", "exhausted", "expired"] as const;

/** @throws {PermissionError} If the caller may not do this to keys of a kind. */
function requireFamily(call: AdminCall<unknown>, kind: KeyKind, verb: string): Promise<void> {
  return requireScopes(call.context, [`${families[kind]}.${verb}`]);
}

/** Whether the caller may do this to keys of a kind. */
export async function mayUseFamily(call: AdminCall<unknown>, kind: KeyKind, verb: string): Promise<boolean> {
  try {
    await requireFamily(call, kind, verb);
    return true;
  } catch (error) {
    if (error instanceof PermissionError) return false;
    throw error;
  }
}

/** The key a path names, when the caller may do this to it. */
export async function findKey(call: AdminCall<unknown>, verb: string): Promise<ApiKeyRow> {
  const tenant = await readTenant(call, namedWorkspace(call));
  const id = requireId(call.params, "id", "API key");
  const row = requireFound(await call.stores.apiKeys.find(tenant, { id, status: shownStatuses }), "API key");
  await requireFamily(call, row.kind, verb);
  if (verb !== "read") await requireOwn(call, row.userId);
  return row;
}

/** Refuses access to keys of other users to callers who are plain workspace members. */
export async function requireOwn({ context }: AdminCall<unknown>, userId: string | null): Promise<void> {
  const person = await readRole(context);
  if (person?.role === "member" && userId !== context.principal.userId) {
    forbid("Members of a workspace manage their own keys only", "user_id");
  }
}
