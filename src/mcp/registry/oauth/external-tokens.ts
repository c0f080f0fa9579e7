import * as v from "valibot";
import type { KeySets } from "../../../auth/jwks.ts";
import { type Claims, hasTokenForm, readClaims } from "../../../auth/jwt-claims.ts";
import { verifyJwt } from "../../../auth/jwt-verify.ts";
import { AuthenticationError, GatewayError } from "../../../errors.ts";
import { BoundedMap } from "../../../lib/bounded-map.ts";
import type { Clock } from "../../../lib/clock.ts";
import { sha256Hex } from "../../../lib/hash.ts";
import type { HeaderRules } from "../../../lib/headers.ts";
import { isObject, parseJson, stringOf } from "../../../lib/json.ts";
import { isSharedKeySource, tokenAlgorithms } from "../../../schemas/auth-settings.ts";
import type { McpServer } from "../mcp-server.ts";
import { findClaimProblem } from "./claim-rules.ts";
import type { GuardedFetch } from "./guarded-fetch.ts";

const List = v.union([
  v.pipe(
    v.string(),
    v.transform((text) => [text]),
  ),
  v.array(v.string()),
]);

/** How tokens of an identity provider are verified for one integration: `configurations.jwt_validation`. */
const JwtValidation = v.object({
  jwksUri: v.optional(v.string()),
  jwks: v.optional(v.unknown()),
  introspectEndpoint: v.optional(v.string()),
  introspectContentType: v.optional(v.string(), "application/x-www-form-urlencoded"),
  introspectClientId: v.optional(v.string()),
  introspectClientSecret: v.optional(v.string()),
  introspectCacheMaxAge: v.optional(v.number(), 60),
  headerKey: v.optional(v.string(), "authorization"),
  algorithms: v.optional(v.array(v.picklist(tokenAlgorithms)), ["RS256"]),
  issuer: v.optional(v.string()),
  audience: v.optional(List),
  clockTolerance: v.optional(v.number(), 5),
  maxTokenAge: v.optional(v.union([v.string(), v.number()])),
  requiredClaims: v.optional(v.array(v.string()), []),
  claimValues: v.optional(
    v.record(
      v.string(),
      v.object({
        values: v.array(v.string()),
        matchType: v.optional(v.picklist(["exact", "contains", "containsAll", "regex"]), "exact"),
      }),
    ),
    {},
  ),
  headerPayloadMatch: v.optional(v.record(v.string(), v.string()), {}),
});
type JwtValidation = v.InferOutput<typeof JwtValidation>;

/** Verifies tokens of identity providers that integrations name. */
export interface ExternalTokens {
  /** How a server verifies tokens; undefined where it does not. */
  settingsOf(server: McpServer): Promise<JwtValidation | undefined>;
  /**
   * The claims of a token.
   *
   * @param header Reads a header of the request.
   * @throws {AuthenticationError} If it is not valid.
   */
  verify(server: McpServer, token: string, header: (name: string) => string | undefined): Promise<Claims>;
}

/** Headers that are for tokens of callers, and never sent on as they came. */
const tokenHeaders: ReadonlySet<string> = new Set(["authorization", "x-user-jwt", "x-upstream-authorization"]);

/**
 * Whether a header (in lower case) may be named for tokens beside a key: no cookie, and none of the gateway's own. What it
 * holds may be sent to the identity provider.
 */
export function mayHoldToken(name: string, { mayGoUpstream }: Pick<HeaderRules, "mayGoUpstream">): boolean {
  return tokenHeaders.has(name) || (mayGoUpstream(name) && !name.startsWith("mcp-"));
}

/** A token is verified again after this long. */
const heldMs = 60_000;
/** Largest tolerance of clocks, in seconds. */
const maxToleranceSeconds = 60;

/** Options of the verification. */
interface ExternalTokensOptions {
  readonly keySets: KeySets;
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  /** Whether a credential opens this gateway, or was issued for its organisation: it is sent nowhere. */
  readonly isOwnCredential: (credential: string) => Promise<boolean>;
}

/** The issuer that a signed token names, unverified; undefined for other tokens. */
function issuerIn(token: string): unknown {
  try {
    return readClaims(token).iss;
  } catch {
    return undefined;
  }
}

function refuseToken(reason: string): never {
  throw new AuthenticationError(`Cannot use this token: ${reason}`, { code: "unauthorized" });
}

async function readSettings(server: McpServer): Promise<JwtValidation | undefined> {
  if (!isObject(server.configurations.jwt_validation)) return undefined;
  const { jwt_validation: given } = await server.openConfigurations();
  const { success, output } = v.safeParse(JwtValidation, given);
  if (!success) return refuseToken("the settings of the server for tokens cannot be used");
  const { jwksUri, jwks, introspectEndpoint, issuer, audience } = output;
  if (jwksUri === undefined && jwks === undefined && introspectEndpoint === undefined) return undefined;
  // its keys sign tokens of other customers too
  if (jwksUri !== undefined && isSharedKeySource(jwksUri) && (!issuer || !audience?.length)) {
    return refuseToken("issuer and audience must be set for a key set that serves several customers");
  }
  return output;
}

class ExternalVerifier implements ExternalTokens {
  readonly #options: ExternalTokensOptions;
  readonly #held = new BoundedMap<string, { claims: Claims; until: number }>(10_000);
  readonly settingsOf = readSettings;

  constructor(options: ExternalTokensOptions) {
    this.#options = options;
  }

  async verify(server: McpServer, token: string, header: (name: string) => string | undefined): Promise<Claims> {
    const settings = (await readSettings(server)) ?? refuseToken("the server accepts no tokens");
    const claims = await this.#claims(server, settings, token);
    const problem = findClaimProblem(claims, settings, header);
    return problem === undefined ? claims : refuseToken(problem);
  }

  async #claims(server: McpServer, settings: JwtValidation, token: string): Promise<Claims> {
    const { id, organisationId, credentialVersion } = server;
    const key = JSON.stringify([
      organisationId,
      id,
      credentialVersion,
      JSON.stringify(settings),
      await sha256Hex(token),
    ]);
    const now = this.#options.clock.now();
    const held = this.#held.get(key);
    if (held && held.until > now) return held.claims;
    const isIntrospected = settings.introspectEndpoint !== undefined && (!hasTokenForm(token) || !hasKeys(settings));
    const claims = isIntrospected
      ? await this.#introspect(settings, token)
      : await this.#verifySigned(server, settings, token);
    const end = typeof claims.exp === "number" ? claims.exp * 1_000 : Number.POSITIVE_INFINITY;
    const most = isIntrospected ? settings.introspectCacheMaxAge * 1_000 : heldMs;
    this.#held.set(key, { claims, until: Math.min(end, now + most) });
    return claims;
  }

  async #verifySigned(server: McpServer, settings: JwtValidation, token: string): Promise<Claims> {
    const { jwksUri, jwks, algorithms, issuer, audience, clockTolerance, maxTokenAge } = settings;
    const source = {
      organisationId: `mcp ${server.organisationId} ${server.integrationId}`,
      urls: jwksUri === undefined ? [] : [jwksUri],
      inline: jwks,
    };
    const rules = {
      source,
      algorithms,
      issuer: issuer === undefined ? null : [issuer],
      audience,
      maxTokenAge,
      clockSkewSeconds: Math.min(clockTolerance, maxToleranceSeconds),
    };
    try {
      return await verifyJwt(token, rules, { keySets: this.#options.keySets, now: this.#options.clock.now() });
    } catch (error) {
      if (error instanceof GatewayError && error.status === 401) return refuseToken(error.message);
      throw error;
    }
  }

  /** Asks the identity provider (RFC 7662), only of tokens that may be its own. */
  async #introspect(settings: JwtValidation, token: string): Promise<Claims> {
    if (hasTokenForm(token) && (settings.issuer === undefined || issuerIn(token) !== settings.issuer)) {
      return refuseToken("its issuer is not the one in jwt_validation");
    }
    if (await this.#options.isOwnCredential(token)) return refuseToken("it is a credential of the gateway");
    const { introspectEndpoint = "", introspectContentType: type, introspectClientId: id = "" } = settings;
    const isJson = type.includes("json");
    const login = btoa(`${encodeURIComponent(id)}:${encodeURIComponent(settings.introspectClientSecret ?? "")}`);
    const response = await this.#options
      .fetch(introspectEndpoint, {
        method: "POST",
        headers: {
          "content-type": isJson ? "application/json" : "application/x-www-form-urlencoded",
          accept: "application/json",
          ...(id !== "" && { authorization: `Basic ${login}` }),
        },
        body: isJson ? JSON.stringify({ token }) : new URLSearchParams({ token }),
      })
      .catch(() => refuseToken("its identity provider does not answer"));
    const answer = response.status === 200 ? parseJson(await response.text()) : undefined;
    if (!isObject(answer) || answer.active !== true) return refuseToken("it is not active");
    return this.#requireTimes(answer, settings);
  }

  /** Checks of an answer what a signature would have been checked for. */
  #requireTimes(claims: Record<string, unknown>, { issuer, audience, clockTolerance }: JwtValidation): Claims {
    const now = this.#options.clock.now() / 1_000;
    const tolerance = Math.min(clockTolerance, maxToleranceSeconds);
    if (typeof claims.exp === "number" && claims.exp + tolerance < now) return refuseToken("it has expired");
    if (typeof claims.nbf === "number" && claims.nbf - tolerance > now) return refuseToken("it is not yet valid");
    if (issuer !== undefined && claims.iss !== issuer) return refuseToken("wrong issuer");
    const named = Array.isArray(claims.aud) ? claims.aud : [stringOf(claims.aud)];
    if (audience && !audience.some((one) => named.includes(one))) return refuseToken("wrong audience");
    return claims;
  }
}

function hasKeys({ jwksUri, jwks }: JwtValidation): boolean {
  return jwksUri !== undefined || jwks !== undefined;
}

/** Creates the verification of tokens of identity providers. */
export function createExternalTokens(options: ExternalTokensOptions): ExternalTokens {
  return new ExternalVerifier(options);
}
