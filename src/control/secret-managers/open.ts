import type { SecretReferenceRow, SecretRow } from "../../db/tables/secrets.ts";
import type { Vault } from "../vault.ts";

/** `kind` of the rows with the sealed credentials of references. */
export const secretKind = "secret_references";

/** Decrypted credentials of a store, by field of `auth_config`. Held in memory only. */
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

/** Whether a workspace may use a reference; null is the organisation itself, which may use all of its references. */
export function mayUseReference(
  { allowAllWorkspaces, allowedWorkspaces }: Pick<SecretReferenceRow, "allowAllWorkspaces" | "allowedWorkspaces">,
  workspaceId: string | null,
): boolean {
  if (allowAllWorkspaces || workspaceId === null) return true;
  return allowedWorkspaces?.includes(workspaceId) ?? false;
}
