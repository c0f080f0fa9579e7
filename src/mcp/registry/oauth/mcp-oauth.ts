import { readLookupId } from "../../../auth/api-key.ts";
import { createKeySets, type KeySets } from "../../../auth/jwks.ts";
import { scimTokenPrefix } from "../../../auth/scim-token.ts";
import type { ControlPlane } from "../../../control/control-plane.ts";
import { createDocumentFetcher } from "../../../control/fetch-document.ts";
import type { Database, Statement } from "../../../db/client.ts";
import type { Change } from "../../../db/stores/audit.ts";
import { createOauthStore, type OauthStore } from "../../../db/stores/oauth.ts";
import type { OrganisationRow } from "../../../db/tables/tenants.ts";
import type { AddressGuard } from "../../../lib/address.ts";
import type { Clock } from "../../../lib/clock.ts";
import { deriveKey, type Mac, verifyMac } from "../../../lib/hash.ts";
import type { Outbound } from "../../../lib/outbound.ts";
import { dayMs } from "../../../lib/periods.ts";
import { type AccessTokens, createAccessTokens } from "./access-tokens.ts";
import { type ClientAssertions, createClientAssertions } from "./assertions.ts";
import { createOauthClients, type OauthClients } from "./clients.ts";
import { createExternalTokens, type ExternalTokens } from "./external-tokens.ts";
import { createGuardedFetch, type GuardedFetch } from "./guarded-fetch.ts";
import { createOauthLimits, type OauthLimits } from "./limits.ts";
import { openOidcSecret } from "./oidc-secret.ts";
import { createRefreshTokens, isRefreshTokenForm, type RefreshTokens } from "./refresh-tokens.ts";
import { createRevocations, type Revocations } from "./revocations.ts";
import { createStateSeal, type StateSeal } from "./seal.ts";
import { createSigningKeys, type SigningKeys } from "./signing-keys.ts";
import { createUpstreamOauth, type UpstreamOauth } from "./upstream.ts";

/** The authorization server for MCP servers. */
export interface McpOauth {
  readonly store: OauthStore;
  readonly seal: StateSeal;
  readonly keys: SigningKeys;
  readonly clients: OauthClients;
  readonly assertions: ClientAssertions;
  readonly accessTokens: AccessTokens;
  readonly refreshTokens: RefreshTokens;
  readonly revocations: Revocations;
  readonly limits: OauthLimits;
  /** Key sets of clients and of identity providers of MCP servers. */
  readonly keySets: KeySets;
  /** Tokens of identity providers that integrations name. */
  readonly externalTokens: ExternalTokens;
  /** Whether a credential opens this gateway, or was issued for its organisation: it is sent nowhere. */
  isOwnCredential(credential: string): Promise<boolean>;
  /** Whether the gateway issued a token itself: for MCP servers, for refreshing these, about callers, or for SCIM. */
  isOwnToken(token: string): Promise<boolean>;
  /** The organisation of an installation that has exactly one; asked again after a while. */
  onlyOrganisation(): Promise<string | undefined>;
  /** Calls authorization servers that data names. */
  readonly fetch: GuardedFetch;
  readonly upstream: UpstreamOauth;
  /** Writes statements in one transaction. */
  write(statements: readonly Statement[]): Promise<void>;
  /** Whether a secret of a client is right; in constant time. */
  verifySecret(digest: string, secret: string): Promise<boolean>;
  /** The secret of an organisation's identity provider for sign-in. */
  openOidcSecret(organisationId: string): Promise<string | undefined>;
  /** Accepts a pending invitation for a verified address; true if there was one. */
  acceptInvite(organisationId: string, email: string): Promise<boolean>;
  /** Removes what expired. */
  cleanUp(): Promise<void>;
  /** Takes up what other processes changed. */
  note(changes: readonly Change[] | undefined): void;
}

/** Parts of the authorization server. */
interface McpOauthParts {
  readonly database: Database;
  readonly control: ControlPlane;
  readonly clock: Clock;
  readonly outbound: Outbound;
  readonly guard: AddressGuard;
  /** Keys are derived from it, each for one purpose. */
  readonly stateKey: Uint8Array<ArrayBuffer>;
  readonly pepper: Uint8Array<ArrayBuffer>;
  readonly keyMac: Mac;
  readonly identityKey: string | undefined;
  /** Milliseconds before the end of a token at which another one is asked for. */
  readonly expiryBufferMs: number;
  readonly warn: (message: string, error?: unknown) => void;
  acceptInvite(organisationId: string, email: string): Promise<boolean>;
  /** Whether a credential is a key of the gateway, or a token of an organisation's own identity provider. */
  isOwnCredential(credential: string): Promise<boolean>;
}

/** The only organisation is looked up again after this long. */
const onlyMs = 5_000;

/** Remembers which organisation is the only one. */
function createOnlyOrganisation({ only }: ControlPlane["stores"]["organisations"], clock: Clock) {
  let held: { row: OrganisationRow | undefined; readAt: number } | undefined;
  return async (): Promise<OrganisationRow | undefined> => {
    const now = clock.monotonic();
    if (!held || now - held.readAt >= onlyMs) held = { row: await only(), readAt: now };
    return held.row;
  };
}

/** Clients that nobody used for this long are removed. */
const unusedClientMs = 30 * dayMs;

/** Creates the authorization server. */
export async function createMcpOauth(parts: McpOauthParts): Promise<McpOauth> {
  const { database, control, clock, warn, stateKey } = parts;
  const store = createOauthStore(database.lastKnown);
  const fetchDocument = createDocumentFetcher(parts);
  const keySets = createKeySets({
    clock,
    fetchJson: async (url, bounds) => (await fetchDocument(url, bounds)).document,
  });
  const revocations = await createRevocations({
    store,
    audit: control.stores.audit,
    write: (statements) => database.write(statements),
    clock,
    warn,
  });
  const { now } = clock;
  const sealingKey = await deriveKey(stateKey, "signing-keys");
  const keys = createSigningKeys({ store, sealingKey, clock, identityKey: parts.identityKey });
  if (parts.identityKey !== undefined) {
    // at start, not at the first request
    await keys.keySet().catch((cause) => {
      throw new TypeError("Cannot use JWT_PRIVATE_KEY: it is not an RSA key in PKCS #8 PEM form", { cause });
    });
  }
  const refreshKey = await deriveKey(stateKey, "oauth-refresh-tokens");
  const sealKey = await deriveKey(stateKey, "oauth-states");
  const fetch = createGuardedFetch(parts);
  const upstream = createUpstreamOauth({ ...parts, fetch });
  const isOwnToken = async (token: string) =>
    isRefreshTokenForm(token) || readLookupId(token, scimTokenPrefix) !== undefined || (await keys.isSigner(token));
  const isOwnCredential = async (credential: string) =>
    (await isOwnToken(credential)) || parts.isOwnCredential(credential);
  const limits = createOauthLimits(clock);
  const only = createOnlyOrganisation(control.known.organisations, clock);
  return {
    store,
    upstream,
    keys,
    keySets,
    revocations,
    seal: await createStateSeal(sealKey, { now, useNonce: store.useNonce }),
    clients: createOauthClients({ store, fetchDocument, digest: parts.keyMac, clock, limits }),
    assertions: createClientAssertions({ keySets, clock, useNonce: store.useNonce }),
    accessTokens: createAccessTokens({ keys, revocations, clock }),
    refreshTokens: createRefreshTokens({ store, revocations, key: refreshKey, now }),
    limits,
    fetch,
    isOwnCredential,
    isOwnToken,
    externalTokens: createExternalTokens({ keySets, fetch, clock, isOwnCredential }),
    onlyOrganisation: async () => (await only())?.id,
    async write(statements) {
      await database.write(statements);
    },
    verifySecret: (digest, secret) => verifyMac(parts.pepper, digest, secret),
    openOidcSecret: (organisationId) => openOidcSecret(organisationId, control.stores, control.vault),
    acceptInvite: parts.acceptInvite,
    cleanUp: () => store.purge(now(), now() - unusedClientMs),
    note(changes) {
      revocations.note(changes);
      upstream.connections.note(changes);
    },
  };
}
