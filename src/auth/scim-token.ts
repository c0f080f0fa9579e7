import type { ScimTokenStore } from "../db/stores/scim-tokens.ts";
import type { ScimTokenRow } from "../db/tables/scim.ts";
import { AuthenticationError, UnavailableError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import { verifyMac } from "../lib/hash.ts";
import { readLookupId } from "./api-key.ts";
import type { Authenticator } from "./authenticate.ts";
import { noDefaults, type Principal } from "./principal.ts";

/** Prefix of SCIM tokens. */
export const scimTokenPrefix = "scim";

/** Scopes of an identity provider: managing the users of its organisation. */
const scimScopes: ReadonlySet<string> = new Set(
  ["create", "read", "update", "delete", "list"].map((verb) => `organisation_users.${verb}`),
);

/** A digest that no token has: comparing with it takes as long as with a real one. */
const noDigest = "A".repeat(43);

/** Authenticates the identity provider of an organisation. */
export interface ScimAuthenticator {
  /**
   * The caller of an `authorization` header; the token's id takes the place of a key's.
   *
   * @throws {AuthenticationError} If the token is absent, malformed, unknown, removed or expired.
   * @throws {RateLimitError} If it is wrong and the address failed too often.
   * @throws {UnavailableError} If the database does not respond.
   */
  authenticate(authorization: string | undefined, address: () => string): Promise<Principal>;
}

/** Options of the authenticator. */
interface ScimAuthenticatorOptions {
  store: ScimTokenStore;
  clock: Clock;
  /** The pepper, for comparisons in constant time. */
  pepper: Uint8Array<ArrayBuffer>;
  /** Counts wrong tokens together with wrong keys. */
  refuse: Authenticator["refuse"];
}

function readToken(authorization: string | undefined): string | undefined {
  return /^bearer +([^\s,]{1,512})$/i.exec(authorization ?? "")?.[1];
}

/** Whether an `authorization` header has what looks like a SCIM token. */
export function isScimAuthorization(authorization: string | undefined): boolean {
  return readToken(authorization)?.startsWith(`${scimTokenPrefix}_`) ?? false;
}

function toPrincipal({ id, organisationId }: ScimTokenRow): Principal {
  return {
    keyId: id,
    kind: "organisation-service",
    organisationId,
    workspaceId: null,
    userId: null,
    scopes: scimScopes,
    defaults: noDefaults,
  };
}

/** Creates the authenticator of identity providers. */
export function createScimAuthenticator({ store, clock, pepper, refuse }: ScimAuthenticatorOptions): ScimAuthenticator {
  const find = async (token: string): Promise<ScimTokenRow | undefined> => {
    const lookupId = readLookupId(token, scimTokenPrefix);
    if (lookupId === undefined) return undefined;
    const row = await store.findByLookupId(lookupId).catch((cause) => {
      throw new UnavailableError("Cannot check this token: the database does not respond", {
        cause,
        code: "database_unavailable",
        retryAfterSeconds: 1,
      });
    });
    return (await verifyMac(pepper, row?.digest ?? noDigest, token)) ? row : undefined;
  };
  return {
    async authenticate(authorization, address) {
      if (authorization === undefined) {
        throw new AuthenticationError("Cannot authenticate: send your SCIM token as a bearer token", {
          code: "missing_token",
          headers: { "www-authenticate": "Bearer" },
        });
      }
      const token = readToken(authorization);
      const row = token === undefined ? undefined : await find(token);
      if (!row) return refuse(address, "Invalid SCIM token: send a valid one as a bearer token");
      if (row.expiresAt === null || row.expiresAt > clock.now()) return toPrincipal(row);
      throw new AuthenticationError("Cannot use this SCIM token: it has expired", { code: "token_expired" });
    },
  };
}
