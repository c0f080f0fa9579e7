import { jwtVerify } from "jose";
import * as v from "valibot";
import { PatternSum } from "../../../packages/patterns/src/pattern.ts";
import { createAddressGuard } from "../../lib/address.ts";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { sha256Hex } from "../../lib/hash.ts";
import { isHeaderName, isHeaderValue } from "../../lib/headers.ts";
import { isObject } from "../../lib/json.ts";
import { type TokenAlgorithm, tokenAlgorithms } from "../../schemas/auth-settings.ts";
import { callService, mayBeCarried, ServiceUrl } from "../call.ts";
import { type ClaimMatcher, createClaimMatcher, matchTypes } from "../claim-match.ts";
import {
  type ClaimFindings,
  type Claims,
  findClaimProblems,
  readDuration,
  readTokenPart,
  requireTimes,
  TokenProblem,
  toHeaderName,
  toHeaders,
} from "../jwt-claims.ts";
import { createKeySources, type KeyResolver, type KeySources, readKeys, type VerificationKeys } from "../jwt-keys.ts";
import { maxCheckPatterns } from "../tenant-patterns.ts";
import { beforeOnly, type Check, type CheckInput, type CheckOutcome, type CheckTools, type Work } from "../types.ts";

const form = "application/x-www-form-urlencoded";
const maxTokenLength = 16_384;
const cookieHeader = /^cookie$/i;
const letsPass =
  "Requests with a wrong token are let through: the check jwt only reports them unless actions.deny is true and actions.async is false";
/** Longest key id that is looked up. */
const maxKidLength = 512;
/** Largest clock tolerance, in seconds. */
const maxTolerance = 60;
/** Most names in a list, and most values of a claim. */
const maxNames = 50;
/** Token headers that name the token's own key or change what the signature covers. */
const refusedHeaders = ["jku", "x5u", "jwk", "x5c", "crit"];
/** Limits of an introspection call and of its cached results. */
const introspectBounds = { timeoutMs: 5_000, maxBytes: 256 * 1024 };
const maxIntrospections = 5_000;
const maxCachedAnswer = 16 * 1024;

const Seconds = v.pipe(v.number(), v.minValue(0));
const Names = v.nullish(v.pipe(v.array(v.pipe(v.string(), v.minLength(1))), v.maxLength(maxNames)), []);

/**
 * An address whose response decides whom to trust. Without TLS anyone on the network could forge it, so plain HTTP is
 * allowed only for hosts that are reachable solely because the operator trusts them.
 */
const IssuerUrl = v.pipe(
  ServiceUrl,
  v.check((url) => !url.startsWith("http:") || !isPublic(url), "must be an https address"),
);

function isPublic(url: string): boolean {
  try {
    createAddressGuard({ trustedHosts: [] }).checkUrl(url);
    return true;
  } catch {
    return false;
  }
}

const KeySet = v.pipe(
  v.unknown(),
  v.rawTransform<unknown, VerificationKeys>(({ dataset, addIssue, NEVER }) => {
    const keys = readKeys(dataset.value);
    if (typeof keys !== "string") return keys;
    addIssue({ message: keys });
    return NEVER;
  }),
);

const Algorithms = v.nullish(
  v.pipe(
    v.array(v.picklist(tokenAlgorithms, `must be any of ${tokenAlgorithms.join(", ")}`), "must be a list"),
    v.transform((list): readonly TokenAlgorithm[] => (list.length === 0 ? ["RS256"] : list)),
  ),
  ["RS256"],
);

const Text = v.pipe(v.union([v.string(), v.number(), v.boolean()]), v.transform(String));
const ClaimValue = v.object({
  values: v.pipe(
    v.union([v.array(Text), Text], "must be a string or a list of strings"),
    v.transform((values) => (Array.isArray(values) ? values : [values])),
    v.maxLength(maxNames),
  ),
  matchType: v.nullish(v.picklist(matchTypes), "exact"),
});

/** Expected values by claim; the limits for patterns apply to all of them together. */
const ClaimValues = v.pipe(
  v.record(v.string(), ClaimValue),
  v.rawTransform(({ dataset: { value: input }, addIssue, NEVER }) => {
    const sum = new PatternSum(maxCheckPatterns);
    const matchers: [claim: string, matcher: ClaimMatcher][] = [];
    for (const [key, value] of Object.entries(input)) {
      const matcher = createClaimMatcher(value.values, value.matchType, sum);
      if (typeof matcher !== "string") matchers.push([key, matcher]);
      else addIssue({ message: matcher, path: [{ type: "object", origin: "value", input, key, value }] });
    }
    return matchers.length === Object.keys(input).length ? { matchers, patterns: sum } : NEVER;
  }),
);

/** A duration, in seconds. */
const Duration = v.pipe(
  v.union([v.string(), v.number()]),
  v.rawTransform<string | number, number>(({ dataset: { value }, addIssue, NEVER }) => {
    const seconds = typeof value === "number" ? value : readDuration(value);
    if (seconds !== undefined && seconds >= 0) return seconds;
    addIssue({ message: "must be a duration such as 12h or 1d" });
    return NEVER;
  }),
);

const Jwt = v.pipe(
  v.object({
    jwks: v.nullish(KeySet),
    jwksUri: v.nullish(IssuerUrl),
    introspectEndpoint: v.nullish(IssuerUrl),
    introspectContentType: v.nullish(v.pipe(v.string(), v.check(isHeaderValue, "must be a media type")), form),
    introspectCacheMaxAge: v.nullish(Seconds, 0),
    headerKey: v.nullish(
      v.pipe(
        v.string(),
        v.check(isHeaderName, "must be the name of a header"),
        v.check((name) => !cookieHeader.test(name), "must not be the header of cookies: it holds sessions"),
      ),
      "Authorization",
    ),
    cacheMaxAge: v.nullish(Seconds, 86_400),
    clockTolerance: v.nullish(v.pipe(Seconds, v.maxValue(maxTolerance)), 5),
    maxTokenAge: v.nullish(Duration, "1d"),
    algorithms: Algorithms,
    requiredClaims: Names,
    claimValues: v.nullish(ClaimValues, {}),
    headerPayloadMatch: Names,
    extractClaims: Names,
    claimPrefix: v.nullish(v.string(), "x-jwt-"),
  }),
  v.forward(
    v.check(({ extractClaims, claimPrefix }) => {
      const names = extractClaims.map((claim) => toHeaderName(claimPrefix, claim));
      return names.every((name) => isHeaderName(name) && mayBeCarried(name));
    }, "must be claims whose headers are neither credentials nor the gateway's own"),
    ["extractClaims"],
  ),
);
type Jwt = v.InferOutput<typeof Jwt>;

/** A valid token. */
interface ValidToken {
  claims: Claims;
  /** Undefined where the token has no readable header. */
  header: Claims | undefined;
}

/** Validates a token. Throws `TokenProblem` where it is not valid. */
type Validate = (token: string, parameters: Jwt, tenant: string) => Promise<ValidToken>;

/** The token of a request; the scheme before it is optional. */
function readToken({ request }: CheckInput, { headerKey }: Jwt): string {
  const sent = request.header(headerKey)?.trim() ?? "";
  const token = sent.replace(/^bearer\s+/i, "");
  if (token === "" || /^bearer$/i.test(token))
    throw new TokenProblem(`The header ${headerKey} with the token is missing`);
  if (token.length > maxTokenLength) throw new TokenProblem("The token is too long");
  return token;
}

function readHeader(token: string): { header: Claims; kid: string | undefined } {
  const header = readTokenPart(token, 0);
  const refused = refusedHeaders.find((name) => Object.hasOwn(header, name));
  if (refused !== undefined) throw new TokenProblem(`The header ${refused} of a token is not accepted`);
  const { kid } = header;
  if (kid === undefined) return { header, kid };
  if (typeof kid !== "string" || kid.length > maxKidLength) throw new TokenProblem("The token names no key id");
  return { header, kid };
}

/** The library's reason for rejecting a token, as a message of the gateway. */
function toProblem(error: unknown): TokenProblem {
  if (error instanceof TokenProblem) return error;
  const { code, claim } = error as { code?: unknown; claim?: unknown }; // properties of the library's errors
  if (code === "ERR_JWT_EXPIRED") return new TokenProblem("The token has expired", true);
  if (code === "ERR_JWS_SIGNATURE_VERIFICATION_FAILED") return new TokenProblem("The token's signature is wrong");
  if (code === "ERR_JOSE_ALG_NOT_ALLOWED") return new TokenProblem("The token's algorithm is not allowed");
  if (code === "ERR_JWKS_NO_MATCHING_KEY") return new TokenProblem("The token's key does not fit its algorithm");
  if (claim === "nbf") return new TokenProblem("The token is not yet valid", true);
  if (claim === "exp") return new TokenProblem("The token has no expiry time", true);
  return new TokenProblem("The token is malformed or its key cannot be used");
}

/** Verifies tokens with public keys. */
function createVerifier({ clock }: CheckTools, sources: KeySources): Validate {
  const findKey = async (
    kid: string | undefined,
    parameters: Jwt,
    tenant: string,
  ): Promise<KeyResolver | undefined> => {
    const { jwks, jwksUri: url, cacheMaxAge, algorithms } = parameters;
    const allowed = algorithms;
    const own = jwks?.find(kid, allowed);
    if (own || !url) return own;
    return sources.find({ tenant, url, maxAgeMs: cacheMaxAge * 1_000 }, kid, allowed);
  };
  return async (token, parameters, tenant) => {
    const { algorithms, clockTolerance } = parameters;
    const tolerance = clockTolerance;
    const { header, kid } = readHeader(token);
    const claims = readTokenPart(token, 1);
    if (!algorithms.some((allowed) => allowed === header.alg)) {
      throw new TokenProblem("The token's algorithm is not allowed");
    }
    const key = await findKey(kid, parameters, tenant);
    if (!key) throw new TokenProblem("The token's key is not known");
    const currentDate = new Date(clock.now());
    await jwtVerify(token, key, {
      algorithms: [...algorithms],
      requiredClaims: ["exp"],
      clockTolerance: tolerance,
      currentDate,
    });
    return { claims, header };
  };
}

/** Whether an introspection response says that a token is valid (RFC 7662, section 2.2); some use other fields. */
function isActive({ active, valid, sub }: Claims): boolean {
  if (active !== undefined) return active === true;
  return valid === true || (typeof sub === "string" && sub !== "");
}

/** The token's header, for claim comparisons; an opaque token, which only the service can read, has no header. */
function readOptionalHeader(token: string): Claims | undefined {
  try {
    return readTokenPart(token, 0);
  } catch {
    return undefined;
  }
}

/** Introspects tokens (RFC 7662) and caches responses for valid ones. */
function createIntrospector(tools: CheckTools): Validate {
  const { clock } = tools;
  const known = new BoundedMap<string, { claims: Claims; askedAt: number }>(maxIntrospections);
  const ask = async (token: string, url: string, type: string): Promise<{ claims: Claims; length: number }> => {
    const isForm = type.toLowerCase().startsWith(form);
    const body = isForm ? new URLSearchParams({ token }).toString() : JSON.stringify({ token });
    const call = { url, headers: { "content-type": type }, body, ...introspectBounds };
    const answer = await callService(tools, call).catch(() => undefined);
    if (!answer?.isOk || !isObject(answer.json)) throw new TokenProblem("The token could not be introspected");
    return { claims: answer.json, length: answer.text.length };
  };
  return async (token, parameters, tenant) => {
    const { introspectEndpoint: url, introspectContentType: type, introspectCacheMaxAge: maxAge } = parameters;
    const header = readOptionalHeader(token);
    const name = await sha256Hex(JSON.stringify([tenant, token, url, type]));
    const kept = known.get(name);
    if (kept && clock.monotonic() - kept.askedAt < maxAge * 1_000) return { claims: kept.claims, header };
    // whoever writes a guardrail would get what opens the gateway
    if (await tools.isOwnCredential?.(token)) {
      throw new TokenProblem("The token is a credential of the gateway, which no service gets: check it with its keys");
    }
    const askedAt = clock.monotonic();
    const { claims, length } = await ask(token, url ?? "", type);
    if (!isActive(claims)) {
      known.delete(name);
      throw new TokenProblem("The token is not active");
    }
    if (maxAge > 0 && length <= maxCachedAnswer) known.set(name, { claims, askedAt });
    return { claims, header };
  };
}

/** What is wrong with the claims, in a sentence; undefined where they pass. */
function explain({ requiredClaims, claimValues, headerPayloadMatch }: ClaimFindings): string | undefined {
  if (!requiredClaims.valid) return `The token lacks required claims: ${requiredClaims.missing.join(", ")}`;
  if (!claimValues.valid) return `Claims of the token have unexpected values: ${claimValues.failed.join(", ")}`;
  if (!headerPayloadMatch.valid) {
    return `Header and claims of the token differ in: ${headerPayloadMatch.mismatched.join(", ")}`;
  }
  return undefined;
}

/** Removes the headers of absent claims, so that no client can send them in the claims' place. */
function withoutClaims({ extractClaims, claimPrefix }: Jwt): Record<string, null> {
  return Object.fromEntries(extractClaims.map((claim) => [toHeaderName(claimPrefix, claim), null]));
}

function failedOutcome(explanation: string, parameters: Jwt, signatureValid = false): CheckOutcome {
  const data = { verdict: false, explanation, validations: { signatureValid } };
  return { pass: false, data, headers: withoutClaims(parameters) };
}

/** Compares a valid token with the required claims. */
async function judge({ claims, header }: ValidToken, parameters: Jwt, work: Work): Promise<CheckOutcome> {
  const { requiredClaims, claimValues, headerPayloadMatch, extractClaims, claimPrefix } = parameters;
  const rules = { requiredClaims, claimValues: claimValues.matchers, headerPayloadMatch };
  const findings = await work.run(findClaimProblems(claims, header, rules));
  const problem = explain(findings);
  const pass = problem === undefined;
  const explanation = problem ?? "The token is valid";
  const data = { verdict: pass, explanation, validations: { signatureValid: true, ...findings } };
  return { pass, data, headers: pass ? toHeaders(claims, extractClaims, claimPrefix) : withoutClaims(parameters) };
}

/**
 * Validates the token of a request, with its issuer's keys or by introspection. Any problem is a failed verdict, never
 * an error of the check.
 */
export function createJwtCheck(tools: CheckTools): Check<Jwt> {
  const verify = createVerifier(tools, createKeySources(tools));
  const introspect = createIntrospector(tools);
  return {
    id: "default.jwt",
    phases: beforeOnly,
    reads: "facts",
    parameters: Jwt,
    patterns: ({ claimValues }) => claimValues.patterns,
    warning: ({ deny, async }) => (deny && !async ? undefined : letsPass),
    async run(input, parameters) {
      const { jwks, jwksUri, introspectEndpoint, clockTolerance, maxTokenAge } = parameters;
      if (!jwks && !jwksUri && !introspectEndpoint) {
        const error = "Cannot check tokens: one of jwks, jwksUri and introspectEndpoint must be set";
        return { ...failedOutcome("There is nothing to check the token with", parameters), error };
      }
      try {
        const token = readToken(input, parameters);
        const valid = await (introspectEndpoint ? introspect : verify)(token, parameters, input.tenant);
        const times = { now: tools.clock.now(), tolerance: clockTolerance, maxAge: maxTokenAge };
        requireTimes(valid.claims, times);
        return await judge(valid, parameters, input.work);
      } catch (error) {
        const { message, isProven } = toProblem(error);
        return failedOutcome(message, parameters, isProven);
      }
    },
  };
}
