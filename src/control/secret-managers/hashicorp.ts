import { isObject } from "../../lib/json.ts";
import type { Outbound } from "../../lib/outbound.ts";
import { joinUrl } from "../../lib/path.ts";
import type { VaultAuth } from "../../schemas/secret-references.ts";
import { askStore, requireText, SecretUnavailableError, toSegments } from "./request.ts";

/** Options for reading from a HashiCorp Vault. */
interface HashicorpOptions {
  outbound: Outbound;
  /** Checks an address that a tenant chose. */
  requireAddress(text: string): string;
}

/** Address and credentials of a vault. */
interface VaultPlace {
  base: string;
  headers: Record<string, string>;
}

async function login(
  auth: VaultAuth & { vault_auth_type: "approle" },
  { base, headers }: VaultPlace,
  outbound: Outbound,
): Promise<string> {
  const { json } = await askStore(outbound, "The vault's login", {
    url: joinUrl(base, "/v1/auth/approle/login"),
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify({ role_id: auth.vault_role_id, secret_id: auth.vault_secret_id }),
  });
  const answer = isObject(json) && isObject(json.auth) ? json.auth : {};
  return requireText(answer.client_token, "client_token");
}

function toToken(auth: VaultAuth, place: VaultPlace, outbound: Outbound): Promise<string> {
  switch (auth.vault_auth_type) {
    case "token":
      return Promise.resolve(auth.vault_token);
    case "approle":
      return login(auth, place, outbound);
    case "kubernetes":
      throw new SecretUnavailableError(
        "vault_auth_type kubernetes is not offered: the gateway's own service account is not available to tenants",
      );
  }
}

/**
 * Reads a secret by its API path, such as `secret/data/name` (version 2) or `kv/name` (version 1).
 *
 * @returns The fields of the secret as JSON text.
 * @throws {SecretUnavailableError}
 */
export async function readHashicorpSecret(
  auth: VaultAuth,
  secretPath: string,
  { outbound, requireAddress }: HashicorpOptions,
): Promise<string> {
  const headers: Record<string, string> = { accept: "application/json", "x-vault-request": "true" };
  if (auth.vault_namespace != null) headers["x-vault-namespace"] = auth.vault_namespace;
  const place = { base: requireAddress(auth.vault_addr), headers };
  const path = toSegments(secretPath);
  const token = await toToken(auth, place, outbound);
  const { json } = await askStore(outbound, "The vault", {
    url: joinUrl(place.base, `/v1/${path}`),
    method: "GET",
    headers: { ...headers, "x-vault-token": token },
  });
  const data = isObject(json) ? json.data : undefined;
  if (!isObject(data)) throw new SecretUnavailableError("data is missing in the response");
  // version 2 nests the fields one level deeper, beside metadata
  return JSON.stringify(isObject(data.data) && isObject(data.metadata) ? data.data : data);
}
