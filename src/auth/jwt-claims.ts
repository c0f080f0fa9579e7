import * as v from "valibot";
import { AuthenticationError } from "../errors.ts";
import { fromBase64Url, toBase64Url } from "../lib/base64.ts";
import { decodeUtf8, findJsonExcess, hasRepeatedName, isObject, parseJson } from "../lib/json.ts";
import { readMetadata } from "../lib/metadata.ts";
import { type TokenAlgorithm, tokenAlgorithms } from "../schemas/auth-settings.ts";
import { RateLimit, RateLimits, UsageLimits } from "../schemas/control.ts";
import { withKnownMembers } from "../schemas/objects.ts";
import { type CredentialLimits, type KeyDefaults, noDefaults } from "./principal.ts";
import { mayHoldScope, normaliseScope } from "./scopes.ts";

/** Claims of a token. */
export type Claims = Readonly<Record<string, unknown>>;

/** The relevant fields of a token's header. */
interface TokenHeader {
  alg: TokenAlgorithm;
  kid: string;
}

/** Three base64url parts, the format of a token (RFC 7515, section 7.1); unsigned tokens match, and are rejected later. */
const tokenForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;
const maxTokenLength = 16_384;
/** Limits of a token's JSON. */
const jsonLimits = { depth: 16, values: 5_000, keys: 500 };
const maxKidLength = 512;
/** Headers that name the token's own key or change what the signature covers. */
const refusedHeaders = ["jku", "x5u", "jwk", "x5c", "crit"];
/** Types of token (RFC 7519, section 5.1, and RFC 9068, section 2.1). */
const types = new Set(["jwt", "application/jwt", "at+jwt", "application/at+jwt"]);

/**
 * Rejects a token with a general reason.
 *
 * @throws {AuthenticationError}
 */
export function refuseToken(reason: string, code = "invalid_token"): never {
  throw new AuthenticationError(`JWT verification failed: ${reason}`, { code });
}

/** Decodes a part; undefined when it is not UTF-8, or not canonically encoded. */
function decodePart(part: string): string | undefined {
  try {
    const bytes = fromBase64Url(part);
    if (toBase64Url(bytes) !== part || findJsonExcess(bytes, jsonLimits) !== undefined) return undefined;
    return decodeUtf8(bytes);
  } catch {
    return undefined;
  }
}

/** Whether a credential has the format of a token: three parts, the first a JSON object. */
export function hasTokenForm(credential: string): boolean {
  if (credential.length > maxTokenLength || !tokenForm.test(credential)) return false;
  return isObject(parseJson(decodePart(credential.slice(0, credential.indexOf("."))) ?? ""));
}

function readObject(part: string, name: string): Claims {
  const text = decodePart(part);
  const value = text === undefined ? undefined : parseJson(text);
  if (text === undefined || !isObject(value)) return refuseToken(`its ${name} is malformed`);
  if (hasRepeatedName(text)) return refuseToken(`its ${name} repeats a name`);
  return value;
}

function isAlgorithm(alg: unknown): alg is TokenAlgorithm {
  return tokenAlgorithms.some((known) => known === alg);
}

/**
 * Claims of a token, unverified.
 *
 * @throws {AuthenticationError} If they are malformed.
 */
export function readClaims(token: string): Claims {
  return readObject(token.split(".")[1] ?? "", "payload");
}

/**
 * The header of a token, unverified.
 *
 * @throws {AuthenticationError} If it or the signature is malformed, or it uses unsupported features.
 */
export function readHeader(token: string): TokenHeader {
  const [first = "", , signature = ""] = token.split(".");
  const header = readObject(first, "header");
  const refused = refusedHeaders.find((name) => Object.hasOwn(header, name));
  if (refused !== undefined) return refuseToken(`the header ${refused} is not accepted`);
  const { alg, kid, typ } = header;
  if (typ !== undefined && !(typeof typ === "string" && types.has(typ.toLowerCase()))) {
    return refuseToken("its header states another type than a token");
  }
  if (!isAlgorithm(alg)) return refuseToken("its algorithm is not accepted");
  if (typeof kid !== "string" || kid === "" || kid.length > maxKidLength) {
    return refuseToken("its header names no key id");
  }
  if (!isCanonical(signature)) return refuseToken("its signature is malformed");
  return { alg, kid };
}

/** Whether a base64url string is the canonical encoding: otherwise one token could be written in several ways. */
function isCanonical(part: string): boolean {
  try {
    return part !== "" && toBase64Url(fromBase64Url(part)) === part;
  } catch {
    return false;
  }
}

/**
 * The first of some claims that is present; null without any.
 *
 * @throws {AuthenticationError} If it is not a string, or longer than any id.
 */
export function readText(claims: Claims, ...names: readonly string[]): string | null {
  for (const name of names) {
    const value = claims[name];
    if (value === undefined || value === null || value === "") continue;
    if (typeof value !== "string" || value.length > 1_024 || value.includes("\0")) {
      return refuseToken(`the claim ${name} is malformed`);
    }
    return value;
  }
  return null;
}

const emailForm = /^[^\s@,;<>"\0]{1,255}@[^\s@,;<>"\0]{1,255}$/;
/** Claims that may hold an e-mail address, in order of preference. */
const emailClaims = ["email_id", "email", "preferred_username", "upn", "unique_name"];

/** The user's e-mail address in lower case; null if absent, or if the issuer states that it is unverified. */
export function readEmail(claims: Claims): string | null {
  const { email_verified: verified } = claims;
  if (verified !== undefined && verified !== null && verified !== true && verified !== "true") return null;
  for (const name of emailClaims) {
    const value = claims[name];
    if (typeof value === "string" && emailForm.test(value)) return value.toLowerCase();
  }
  return null;
}

/** A claim that lists scopes: separated by blanks, or a list. */
function readList(given: unknown): unknown[] {
  if (typeof given === "string") return given.split(/\s+/);
  return Array.isArray(given) ? given : [];
}

/**
 * Scopes of a token, including defaults, without those that no token may have. Entra ID has delegated ones in `scp`, separated by
 * blanks, and those of applications in the list `roles`.
 */
export function readScopes({ scope, scopes, scp, roles }: Claims, defaults: readonly string[]): ReadonlySet<string> {
  const own = [...readList(scope ?? scopes), ...readList(scp), ...(Array.isArray(roles) ? roles : [])];
  const strings = own.filter((item) => typeof item === "string");
  return new Set([...strings, ...defaults].map(normaliseScope).filter((item) => mayHoldScope("token", item)));
}

/** A token's defaults for requests; malformed ones are ignored. */
export function readDefaults({ defaults }: Claims): KeyDefaults {
  if (!isObject(defaults)) return noDefaults;
  const { config_id: configId, metadata } = defaults;
  return {
    ...noDefaults,
    configId: typeof configId === "string" && /^[A-Za-z0-9_.-]{1,255}$/.test(configId) ? configId : null,
    metadata: isObject(metadata) ? (readMetadata(JSON.stringify(metadata)) ?? null) : null,
  };
}

function toList(value: unknown): unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}

const UsageLimitClaim = v.pipe(v.array(UsageLimits), v.maxLength(10));
const RateLimitClaim = v.pipe(v.array(RateLimit), RateLimits);

/**
 * Limits in a token; undefined without any.
 *
 * @throws {AuthenticationError} If they are malformed: an unreadable limit must not mean no limit.
 */
export function readLimits(claims: Claims): CredentialLimits | undefined {
  const listOf = (claim: unknown, limit: { readonly entries: object }) =>
    toList(claim).map((one) => withKnownMembers(one, limit));
  const usage = v.safeParse(UsageLimitClaim, listOf(claims.usage_limits, UsageLimits));
  const rate = v.safeParse(RateLimitClaim, listOf(claims.rate_limits, RateLimit));
  if (!usage.success) return refuseToken("the claim usage_limits is malformed");
  if (!rate.success) return refuseToken("the claim rate_limits is malformed");
  const isEmpty = usage.output.length === 0 && rate.output.length === 0;
  return isEmpty ? undefined : { usageLimits: usage.output, rateLimits: rate.output, lastResetAt: null };
}
