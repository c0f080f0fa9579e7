import { jwtVerify } from "jose";
import { hasTokenForm } from "../../../auth/jwt-claims.ts";
import { noDefaults, type Principal } from "../../../auth/principal.ts";
import { fromBase64Url } from "../../../lib/base64.ts";
import { BoundedMap } from "../../../lib/bounded-map.ts";
import type { Clock } from "../../../lib/clock.ts";
import { sha256Hex } from "../../../lib/hash.ts";
import { decodeUtf8, isObject, parseJson, stringOf } from "../../../lib/json.ts";
import type { Revocations } from "./revocations.ts";
import type { SigningKeys } from "./signing-keys.ts";

/** Seconds that an access token is valid. */
export const accessTokenSeconds = 900;

/** Type of access tokens (RFC 9068, section 2.1). */
const type = "at+jwt";

/** What an access token says. */
export interface AccessGrant {
  readonly organisationId: string;
  readonly workspaceId: string;
  /** Null for a client that acts for itself. */
  readonly userId: string | null;
  readonly clientId: string;
  readonly serverId: string;
  /** Separated by spaces. */
  readonly scope: string;
  /** Family of refresh tokens it was issued with. */
  readonly familyId?: string | undefined;
  /** The key by which the user signed in, and which of its secrets it was; null or absent for single sign-on. */
  readonly keyId?: string | null | undefined;
  readonly keyVersion?: string | null | undefined;
}

/** Who issues and who accepts a token. */
interface TokenParties {
  readonly issuer: string;
  readonly audience: string;
}

/** An access token that was verified. */
export interface VerifiedAccess extends AccessGrant, TokenParties {
  readonly id: string;
  /** Unix milliseconds. */
  readonly issuedAt: number;
  readonly expiresAt: number;
  readonly principal: Principal;
}

/** Access tokens of the gateway: signed, each for one address, and verified without the database. */
export interface AccessTokens {
  /** Whether a credential says that it is one. */
  takes(credential: string): boolean;
  issue(grant: AccessGrant, parties: TokenParties): Promise<string>;
  /** What a valid token says; undefined for any other. */
  verify(token: string): Promise<VerifiedAccess | undefined>;
}

/** Options of the access tokens. */
interface AccessTokensOptions {
  readonly keys: SigningKeys;
  readonly revocations: Revocations;
  readonly clock: Clock;
}

/** The header of a token, unverified. */
function headerOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const header = parseJson(decodeUtf8(fromBase64Url(token.slice(0, token.indexOf(".")))));
    return isObject(header) ? header : {};
  } catch {
    return {};
  }
}

async function toPrincipal(grant: AccessGrant): Promise<Principal> {
  const { organisationId, workspaceId, userId, clientId, serverId, scope } = grant;
  // a user is one caller, whatever client acts for it: clients register themselves
  const about = await sha256Hex(
    JSON.stringify(userId === null ? [organisationId, clientId] : [organisationId, userId]),
  );
  return {
    keyId: `oauth_${about.slice(0, 16)}`,
    kind: userId === null ? "workspace-service" : "workspace-user",
    organisationId,
    workspaceId,
    userId,
    scopes: new Set(["mcp.invoke"]),
    defaults: noDefaults,
    grant: { clientId, serverId, scopes: new Set(scope.split(" ")) },
  };
}

/** The claims of a token that this gateway signed. */
async function readAccess(payload: Readonly<Record<string, unknown>>): Promise<VerifiedAccess | undefined> {
  const { iss, aud, jti, client_id: clientId, server_id: serverId, scope } = payload;
  const { organisation_id: organisationId, workspace_id: workspaceId, iat, exp } = payload;
  const required = [iss, aud, jti, clientId, serverId, scope, organisationId, workspaceId];
  if (!required.every((value) => typeof value === "string") || typeof iat !== "number" || typeof exp !== "number") {
    return undefined;
  }
  const grant = {
    organisationId: String(organisationId),
    workspaceId: String(workspaceId),
    userId: stringOf(payload.user_id) ?? null,
    clientId: String(clientId),
    serverId: String(serverId),
    scope: String(scope),
    familyId: stringOf(payload.family_id),
    keyId: stringOf(payload.key_id),
    keyVersion: stringOf(payload.key_version),
  };
  return {
    ...grant,
    issuer: String(iss),
    audience: String(aud),
    id: String(jti),
    issuedAt: iat * 1_000,
    expiresAt: exp * 1_000,
    principal: await toPrincipal(grant),
  };
}

/** Creates the access tokens of an installation. */
export function createAccessTokens({ keys, revocations, clock }: AccessTokensOptions): AccessTokens {
  const verified = new BoundedMap<string, VerifiedAccess>(10_000);

  const check = async (token: string): Promise<VerifiedAccess | undefined> => {
    const { kid } = headerOf(token);
    const key = typeof kid === "string" ? await keys.find("access", kid) : undefined;
    if (!key) return undefined;
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ["ES256"],
        typ: type,
        requiredClaims: ["exp", "iat", "iss", "aud", "jti"],
        currentDate: new Date(clock.now()),
      });
      return await readAccess(payload);
    } catch {
      return undefined;
    }
  };
  return {
    takes: (credential) => hasTokenForm(credential) && headerOf(credential).typ === type,
    issue({ familyId, userId, keyId, keyVersion, ...grant }, { issuer, audience }) {
      const issuedAt = Math.floor(clock.now() / 1_000);
      const claims = {
        iss: issuer,
        aud: audience,
        sub: userId ?? grant.clientId,
        client_id: grant.clientId,
        iat: issuedAt,
        exp: issuedAt + accessTokenSeconds,
        jti: crypto.randomUUID(),
        scope: grant.scope,
        organisation_id: grant.organisationId,
        workspace_id: grant.workspaceId,
        server_id: grant.serverId,
        ...(userId !== null && { user_id: userId }),
        ...(familyId !== undefined && { family_id: familyId }),
        ...(keyId != null && { key_id: keyId }),
        ...(keyVersion != null && { key_version: keyVersion }),
      };
      return keys.sign("access", claims, type);
    },
    async verify(token) {
      const digest = await sha256Hex(token);
      const access = verified.get(digest) ?? (await check(token));
      if (!access) return undefined;
      verified.set(digest, access);
      const isOver = access.expiresAt <= clock.now();
      return isOver || revocations.has(access.id, access.familyId, access.clientId) ? undefined : access;
    },
  };
}
