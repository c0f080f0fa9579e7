import { isObject } from "../../lib/json.ts";
import type { Outbound } from "../../lib/outbound.ts";
import { joinUrl } from "../../lib/path.ts";
import type { AzureAuth } from "../../schemas/secret-references.ts";
import { askStore, formRequest, requireText, SecretUnavailableError, toSegments } from "./request.ts";

/** Options for reading from Azure Key Vault. */
export interface AzureOptions {
  outbound: Outbound;
  /** Checks an address that a tenant chose. */
  requireAddress(text: string): string;
  /** Base address of the login service. */
  azureLoginUrl?: string;
}

/** Gets a token for key vaults (OAuth 2.0 client credentials, RFC 6749 section 4.4). */
async function login(
  auth: AzureAuth & { azure_auth_mode: "entra" },
  { outbound, azureLoginUrl = "https://login.microsoftonline.com" }: AzureOptions,
): Promise<string> {
  const { json } = await askStore(outbound, "Microsoft Entra", {
    url: joinUrl(azureLoginUrl, `/${auth.azure_entra_tenant_id}/oauth2/v2.0/token`),
    ...formRequest({
      grant_type: "client_credentials",
      client_id: auth.azure_entra_client_id,
      client_secret: auth.azure_entra_client_secret,
      scope: "https://vault.azure.net/.default",
    }),
  });
  return requireText(isObject(json) ? json.access_token : undefined, "access_token");
}

/**
 * Reads a secret by name, or by `name/version`.
 *
 * @throws {SecretUnavailableError}
 */
export async function readAzureSecret(auth: AzureAuth, secretPath: string, options: AzureOptions): Promise<string> {
  if (auth.azure_auth_mode !== "entra") {
    throw new SecretUnavailableError(
      `azure_auth_mode ${auth.azure_auth_mode} is not offered: it needs a metadata service, which the gateway never calls`,
    );
  }
  const base = options.requireAddress(auth.azure_vault_url);
  const path = toSegments(secretPath);
  const token = await login(auth, options);
  const { json } = await askStore(options.outbound, "Azure Key Vault", {
    url: joinUrl(base, `/secrets/${path}`, "?api-version=7.4"),
    method: "GET",
    headers: { authorization: `Bearer ${token}`, accept: "application/json" },
  });
  return requireText(isObject(json) ? json.value : undefined, "value");
}
