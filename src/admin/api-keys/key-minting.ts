import { maskSecret, mintApiKey } from "../../auth/api-key.ts";
import type { KeyKind } from "../../auth/scopes.ts";
import type { Services } from "../../context.ts";
import type { NewApiKeyRow } from "../../db/tables/api-keys.ts";

/** A new secret and what is stored of it. */
interface MintedSecret {
  /** Shown once. */
  key: string;
  stored: { lookupId: string; digest: string; masked: string };
}

/**
 * Creates a key's secret and what is stored of it.
 *
 * @param formerLookupId The public part of a key that gets a new secret; it is preserved.
 */
export async function mintSecret(
  { keyPrefix, keyMac }: Pick<Services, "keyPrefix" | "keyMac">,
  formerLookupId?: string | null,
): Promise<MintedSecret> {
  const { key, lookupId } = mintApiKey(keyPrefix, formerLookupId ?? undefined);
  return { key, stored: { lookupId, digest: await keyMac(key), masked: maskSecret(key) } };
}

/** Fields of a new key, besides its secret. */
type NewKey = Omit<
  NewApiKeyRow,
  "id" | "lookupId" | "digest" | "masked" | "kind" | "scopes" | "status" | "createdAt" | "lastUpdatedAt"
> & { kind: KeyKind; scopes: readonly string[] };

/** A new active key: its row, and its secret, which is shown once. */
export async function mintKey(
  { scopes, ...members }: NewKey,
  services: Pick<Services, "keyPrefix" | "keyMac">,
  now: number,
): Promise<{ key: string; row: NewApiKeyRow }> {
  const { key, stored } = await mintSecret(services);
  const times = { createdAt: now, lastUpdatedAt: now };
  return {
    key,
    row: { ...members, id: crypto.randomUUID(), ...stored, scopes: JSON.stringify(scopes), status: "active", ...times },
  };
}
