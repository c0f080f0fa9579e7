import type { SecretPlace, Vault } from "../../../control/vault.ts";
import type { ControlStores } from "../../../db/stores/control.ts";

/** Where the secret of an organisation's identity provider for sign-in is. */
export function oidcSecretPlace(organisationId: string): SecretPlace {
  return {
    organisationId,
    workspaceId: null,
    kind: "organisations",
    recordId: organisationId,
    field: "oidc_client_secret",
  };
}

/** The secret of an organisation's identity provider for sign-in; undefined without one. */
export async function openOidcSecret(
  organisationId: string,
  { secrets }: Pick<ControlStores, "secrets">,
  vault: Vault,
): Promise<string | undefined> {
  const { kind, recordId, field } = oidcSecretPlace(organisationId);
  const row = await secrets.find({ organisationId, workspaceId: null }, { kind, recordId, field });
  return row && vault.open(row);
}
