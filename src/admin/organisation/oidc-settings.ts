import type { Statement } from "../../db/client.ts";
import type { OrganisationRow } from "../../db/tables/tenants.ts";
import { oidcSecretPlace } from "../../mcp/registry/oauth/oidc-secret.ts";
import type { OidcSettings } from "../../schemas/auth-settings.ts";
import type { UpdateAuthSettings } from "../../schemas/organisations.ts";
import { requireSecureUrl } from "../core/addresses.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { refuseField } from "../core/request.ts";

/** What a change of the identity provider stores; null removes it. */
interface OidcChange {
  readonly stored: OidcSettings | null;
  readonly statements: readonly Statement[];
}

/**
 * Changes the identity provider for sign-in with a browser. Its secret is sealed, and never goes to an address for which it
 * was not given.
 *
 * @returns Undefined if the body does not name it.
 * @throws {InvalidRequestError} AB01, naming the field.
 */
export async function changeOidc(
  { body: { oidc }, context: { services }, stores, now }: AdminCall<UpdateAuthSettings>,
  row: OrganisationRow,
): Promise<OidcChange | undefined> {
  if (oidc === undefined) return undefined;
  const tenant = { organisationId: row.id, workspaceId: null };
  const place = oidcSecretPlace(row.id);
  const { kind, recordId, field } = place;
  if (oidc === null) return { stored: null, statements: [stores.secrets.remove(tenant, { kind, recordId, field })] };
  const { client_secret: secret, ...settings } = oidc;
  requireSecureUrl("oidc.issuer", services.addressGuard, () => services.addressGuard.checkTarget(oidc.issuer));
  if (/[?#]/.test(oidc.issuer)) refuseField("oidc.issuer", "must not have a query");
  const { oidc: before } = row.authSettings;
  const isMoved = before !== undefined && (before.issuer !== oidc.issuer || before.client_id !== oidc.client_id);
  if (secret === undefined && isMoved && (await stores.secrets.find(tenant, { kind, recordId, field }))) {
    refuseField("oidc.client_secret", "must be given together with another issuer or client_id");
  }
  if (secret === undefined) return { stored: settings, statements: [] };
  if (secret === null)
    return { stored: settings, statements: [stores.secrets.remove(tenant, { kind, recordId, field })] };
  const sealed = await services.control.vault.seal(place, secret, now);
  return { stored: settings, statements: [stores.secrets.put(tenant, sealed)] };
}
