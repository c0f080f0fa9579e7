import type { Principal } from "../../auth/principal.ts";
import type { RequestContext } from "../../context.ts";

/** A sign-in with a key: all that it gave ends with the key, with its right to call MCP servers, and with its secret. */
interface KeySignIn {
  readonly userId: string | null;
  readonly keyId?: string | null | undefined;
  readonly keyVersion?: string | null | undefined;
}

/** The key of a sign-in; undefined if it may not be used any more. */
export async function findSignInKey(
  { services: { authenticator } }: Pick<RequestContext, "services">,
  { userId, keyId, keyVersion }: KeySignIn,
): Promise<Principal | undefined> {
  if (keyId == null) return undefined;
  const key = await authenticator.ofVersion(keyId, keyVersion ?? null);
  return key?.userId === userId && key.scopes.has("mcp.invoke") ? key : undefined;
}
