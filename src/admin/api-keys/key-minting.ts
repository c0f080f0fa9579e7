import { chosenLookupId, maskSecret, mintApiKey } from "../../auth/api-key.ts";
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

/** A secret that the caller chose, and what is stored of it. */
async function takeSecret(key: string, { keyMac }: Pick<Services, "keyMac">): Promise<MintedSecret> {
  const digest = await keyMac(key);
  return { key, stored: { lookupId: chosenLookupId(digest), digest, masked: maskSecret(key) } };
}

/**
 * A new active key: its row, and its secret, which is shown once.
 *
 * @param chosen A secret that the caller chose; absent: a new one.
 */
export async function mintKey(
  { scopes, ...members }: NewKey,
  services: Pick<Services, "keyPrefix" | "keyMac">,
  now: number,
  chosen?: string | null,
): Promise<{ key: string; row: NewApiKeyRow }> {
  const { key, stored } = chosen == null ? await mintSecret(services) : await takeSecret(chosen, services);
  const times = { createdAt: now, lastUpdatedAt: now };
  return {
    key,
    row: { ...members, id: crypto.randomUUID(), ...stored, scopes: JSON.stringify(scopes), status: "active", ...times },
  };
}
