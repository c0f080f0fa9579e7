import type { SecretReferenceRow, SecretRow } from "../../db/tables/secrets.ts";
import type { Vault } from "../vault.ts";

/** Kind of record the sealed credentials of references belong to. */
export const secretKind = "secret_references";

/** Opened credentials of a store, by member of `auth_config`. Live in memory only. */
export type AuthSecrets = Readonly<Record<string, string>>;

const fieldPrefix = "auth_config.";

/**
 * Opens the sealed credentials of a reference.
 *
 * @throws {CredentialUnavailableError} If one cannot be opened.
 */
export async function openAuthSecrets(rows: readonly SecretRow[], vault: Pick<Vault, "open">): Promise<AuthSecrets> {
  const opened = rows.map(async (row) => [row.field.slice(fieldPrefix.length), await vault.open(row)] as const);
  return Object.fromEntries(await Promise.all(opened));
}

/** Whether a workspace may use a reference; null stands for the organisation itself, which may use all of its own. */
export function mayUseReference(
  { allowAllWorkspaces, allowedWorkspaces }: Pick<SecretReferenceRow, "allowAllWorkspaces" | "allowedWorkspaces">,
  workspaceId: string | null,
): boolean {
  if (allowAllWorkspaces || workspaceId === null) return true;
  return Array.isArray(allowedWorkspaces) && allowedWorkspaces.includes(workspaceId);
}
