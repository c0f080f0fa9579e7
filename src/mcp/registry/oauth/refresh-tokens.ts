import type { OauthStore } from "../../../db/stores/oauth.ts";
import type { OauthFamilyRow } from "../../../db/tables/oauth.ts";
import { verifyMac, webMac } from "../../../lib/hash.ts";
import { dayMs } from "../../../lib/periods.ts";
import type { Revocations } from "./revocations.ts";

/** Days until a refresh token that nobody uses expires. */
export const refreshTokenMs = 30 * dayMs;

/** A client that lost the answer may ask again for this long, and gets the same successor. */
const graceMs = 10_000;

/** A refresh token that may be used. */
interface Refreshed {
  readonly family: OauthFamilyRow;
  readonly successor: string;
}

/**
 * Refresh tokens. A token is a MAC of its family and its number in it. So nothing of it is stored, and a token that was never
 * issued is recognised.
 */
export interface RefreshTokens {
  /** The token of a family with this number. */
  of(familyId: string, sequence: number): Promise<string>;
  /** The family of a token that was issued once; undefined for any other text. */
  find(token: string): Promise<{ family: OauthFamilyRow; sequence: number } | undefined>;
  /** Replaces a token. Undefined if it is not valid; one that was replaced before ends its family. */
  use(family: OauthFamilyRow, sequence: number): Promise<Refreshed | undefined>;
  /** Ends a family: its refresh tokens and its access tokens. */
  revoke(family: Pick<OauthFamilyRow, "id" | "organisationId">): Promise<void>;
}

/** Options of the refresh tokens. */
interface RefreshTokensOptions {
  readonly store: OauthStore;
  readonly revocations: Revocations;
  /** A key for nothing else, the same in all processes of an installation. */
  readonly key: Uint8Array<ArrayBuffer>;
  readonly now: () => number;
}

const prefix = "gwr";
const tokenForm = /^gwr\.([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.(0|[1-9][0-9]{0,8})\.([A-Za-z0-9_-]{43})$/;

/** Whether a text has the form of a refresh token. */
export function isRefreshTokenForm(text: string): boolean {
  return tokenForm.test(text);
}

const macText = (familyId: string, sequence: number): string => JSON.stringify(["refresh", familyId, sequence]);

/** Creates the refresh tokens of an installation. */
export function createRefreshTokens({ store, revocations, key, now }: RefreshTokensOptions): RefreshTokens {
  const mac = webMac(key);
  const of = async (familyId: string, sequence: number) =>
    [prefix, familyId, sequence, await mac(macText(familyId, sequence))].join(".");
  const revoke = async ({ id, organisationId }: Pick<OauthFamilyRow, "id" | "organisationId">) => {
    await revocations.revoke(organisationId, [id], [store.revokeFamily(id, now())]);
  };
  return {
    of,
    revoke,
    async find(token) {
      const [, familyId, number, digest] = tokenForm.exec(token) ?? [];
      if (familyId === undefined || digest === undefined) return undefined;
      const sequence = Number(number);
      if (!(await verifyMac(key, digest, macText(familyId, sequence)))) return undefined;
      const family = await store.findFamily(familyId);
      return family && { family, sequence };
    },
    async use(family, sequence) {
      const time = now();
      const isOver = family.revokedAt !== null || family.expiresAt <= time;
      if (isOver) return undefined;
      const isNew = await store.rotate(family.id, sequence, { now: time, expiresAt: time + refreshTokenMs });
      if (isNew) return { family, successor: await of(family.id, sequence + 1) };
      const current = await store.findFamily(family.id);
      if (!current || current.revokedAt !== null) return undefined;
      const isRepeated = current.sequence === sequence + 1 && time - current.rotatedAt <= graceMs;
      if (isRepeated) return { family, successor: await of(family.id, sequence + 1) };
      await revoke(family);
      return undefined;
    },
  };
}
