import { jwtVerify } from "jose";
import { GatewayError } from "../errors.ts";
import type { TokenAlgorithm } from "../schemas/auth-settings.ts";
import type { KeySets, KeySource, VerificationKey } from "./jwks.ts";
import { type Claims, readHeader, refuseToken } from "./jwt-claims.ts";

/** What a token must satisfy. Absent rules are not checked. */
interface TokenRules {
  readonly source: KeySource;
  /** Accepted algorithms; empty or absent: the one of the key, else RS256. */
  readonly algorithms: readonly TokenAlgorithm[] | null | undefined;
  /** Accepted issuers and audiences. */
  readonly issuer: readonly string[] | null | undefined;
  readonly audience: readonly string[] | null | undefined;
  /** Largest age in seconds, or as text such as `1d`. */
  readonly maxTokenAge: number | string | null | undefined;
  readonly clockSkewSeconds: number;
}

/** Type of key that each algorithm needs. */
const formOf: Readonly<Record<TokenAlgorithm, string>> = {
  RS256: "RSA",
  RS384: "RSA",
  RS512: "RSA",
  PS256: "RSA",
  PS384: "RSA",
  PS512: "RSA",
  ES256: "P-256",
  ES384: "P-384",
  ES512: "P-521",
  EdDSA: "Ed25519",
};

/** Rejects an algorithm that neither the settings nor the key allow. The token's own statement is never enough. */
function requireAlgorithm(alg: TokenAlgorithm, key: VerificationKey, configured: TokenRules["algorithms"]): void {
  const isListed = configured && configured.length > 0;
  const allowed = isListed ? configured.includes(alg) : alg === (key.alg ?? "RS256");
  if (!allowed || (key.alg !== undefined && key.alg !== alg) || formOf[alg] !== key.form) {
    refuseToken("its algorithm is not the one of its key or not allowed");
  }
}

/** Reasons for the library's errors, by claim. */
const claimReasons: Readonly<Record<string, string>> = {
  iss: "wrong issuer",
  aud: "wrong audience",
  nbf: "the token is not yet valid",
  iat: "the time it was issued is missing or in the future",
  exp: "its expiry is missing or malformed",
};

/** The reason for an error of the library. */
function refuseFor(error: unknown): never {
  if (error instanceof GatewayError) throw error;
  const { code, claim } = error as { code?: unknown; claim?: unknown }; // properties of the library's errors
  const name = typeof claim === "string" ? claim : "";
  if (code === "ERR_JWT_EXPIRED") {
    return refuseToken(
      name === "iat" ? "the token is older than allowed" : "the token has expired",
      name === "iat" ? "invalid_token" : "token_expired",
    );
  }
  if (code === "ERR_JWS_SIGNATURE_VERIFICATION_FAILED") return refuseToken("wrong signature");
  return refuseToken(claimReasons[name] ?? "the token is malformed");
}

/**
 * Verifies a token with the keys of one source.
 *
 * @param now Unix milliseconds.
 * @throws {AuthenticationError} If it does not satisfy the rules.
 */
export async function verifyJwt(
  text: string,
  { source, algorithms, issuer, audience, maxTokenAge, clockSkewSeconds }: TokenRules,
  { keySets, now }: { keySets: KeySets; now: number },
): Promise<Claims> {
  const { alg, kid } = readHeader(text);
  const key = await keySets.find(source, kid);
  requireAlgorithm(alg, key, algorithms);
  const cryptoKey = await key.import(alg).catch(() => refuseToken("its key cannot be used"));
  try {
    const { payload } = await jwtVerify(text, cryptoKey, {
      algorithms: [alg],
      requiredClaims: ["exp"],
      clockTolerance: clockSkewSeconds,
      currentDate: new Date(now),
      ...(issuer && issuer.length > 0 && { issuer: [...issuer] }),
      ...(audience && audience.length > 0 && { audience: [...audience] }),
      ...(maxTokenAge != null && { maxTokenAge }),
    });
    const { iat, exp } = payload;
    if (!Number.isFinite(exp)) return refuseToken("its expiry is missing or malformed");
    if (iat !== undefined && iat > now / 1_000 + clockSkewSeconds) {
      return refuseToken("the time it was issued is missing or in the future");
    }
    return payload;
  } catch (error) {
    return refuseFor(error);
  }
}
