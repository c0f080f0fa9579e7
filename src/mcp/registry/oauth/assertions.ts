import type { KeySets } from "../../../auth/jwks.ts";
import { readText } from "../../../auth/jwt-claims.ts";
import { verifyJwt } from "../../../auth/jwt-verify.ts";
import { GatewayError } from "../../../errors.ts";
import type { Clock } from "../../../lib/clock.ts";
import { sha256Hex } from "../../../lib/hash.ts";
import { tokenAlgorithms } from "../../../schemas/auth-settings.ts";
import type { OauthClient } from "./clients.ts";

/** Longest life of an assertion. */
const maxLifeMs = 10 * 60_000;

/** Verifies by which keys clients authenticate (RFC 7523, section 3). */
export interface ClientAssertions {
  /**
   * Whether an assertion is of the client, for one of the audiences, and new.
   *
   * @throws {UnavailableError} If the keys of the client cannot be read.
   */
  verify(client: OauthClient, assertion: string, audience: readonly string[]): Promise<boolean>;
}

/** Creates the verification. */
export function createClientAssertions({
  keySets,
  clock,
  useNonce,
}: {
  readonly keySets: KeySets;
  readonly clock: Clock;
  readonly useNonce: (digest: string, expiresAt: number) => Promise<boolean>;
}): ClientAssertions {
  return {
    async verify({ id, jwks, jwksUri }, assertion, audience) {
      const source = { organisationId: `client ${id}`, urls: jwksUri === null ? [] : [jwksUri], inline: jwks };
      const rules = { algorithms: tokenAlgorithms, issuer: [id], audience, maxTokenAge: null, clockSkewSeconds: 30 };
      try {
        const claims = await verifyJwt(assertion, { source, ...rules }, { keySets, now: clock.now() });
        const expiresAt = Number(claims.exp) * 1_000;
        const jti = readText(claims, "jti");
        if (claims.sub !== id || jti === null || expiresAt - clock.now() > maxLifeMs) return false;
        return await useNonce(await sha256Hex(JSON.stringify(["assertion", id, jti])), expiresAt + 60_000);
      } catch (error) {
        if (error instanceof GatewayError && error.status === 401) return false;
        throw error;
      }
    },
  };
}
