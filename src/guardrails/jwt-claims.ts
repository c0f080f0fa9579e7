import { fromBase64Url } from "../lib/base64.ts";
import { isHeaderValue } from "../lib/headers.ts";
import { decodeUtf8, findJsonExcess, hasRepeatedName, isObject, parseJson } from "../lib/json.ts";
import type { Steps } from "../lib/steps.ts";
import { isLatin } from "./call.ts";
import type { ClaimMatcher } from "./claim-match.ts";

/** What a token says, or the service that looked at it. */
export type Claims = Readonly<Record<string, unknown>>;

/** A token is not valid; the message says why, in words a client may read. */
export class TokenProblem extends Error {
  override readonly name = "TokenProblem";
  /** Whether the token was proven to be its issuer's before. */
  readonly isProven: boolean;

  constructor(message: string, isProven = false) {
    super(message);
    this.isProven = isProven;
  }
}

/** Bounds of a token's JSON texts. */
const jsonLimits = { depth: 16, values: 5_000, keys: 500 };
/** Longest value of a claim that becomes a header, in characters. */
const maxHeaderValue = 4_096;

/**
 * A part of a token, nothing of it proven: 0 is its header, 1 its claims.
 *
 * @throws {TokenProblem} If it cannot be read, or names a member twice: two readers could see different things.
 */
export function readTokenPart(token: string, index: 0 | 1): Claims {
  const value = parsePart(token.split(".")[index] ?? "");
  if (value === undefined) throw new TokenProblem("The token is malformed");
  return value;
}

function parsePart(part: string): Claims | undefined {
  try {
    const bytes = fromBase64Url(part);
    if (findJsonExcess(bytes, jsonLimits) !== undefined) return undefined;
    const text = decodeUtf8(bytes);
    const value = parseJson(text);
    return isObject(value) && !hasRepeatedName(text) ? value : undefined;
  } catch {
    return undefined; // no base64url, or no UTF-8
  }
}

/** When claims hold. */
interface TimeRules {
  /** Unix milliseconds. */
  now: number;
  /** Seconds clocks may differ. */
  tolerance: number;
  /** Seconds since a token was issued. */
  maxAge: number;
}

function readTime(claims: Claims, name: "exp" | "nbf" | "iat"): number | undefined {
  const value = claims[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new TokenProblem(`The claim ${name} of the token is no time`, true);
}

/**
 * Holds the times of proven claims against the clock; what is absent is not looked at.
 *
 * @throws {TokenProblem}
 */
export function requireTimes(claims: Claims, { now, tolerance, maxAge }: TimeRules): void {
  const seconds = now / 1_000;
  const [exp, nbf, iat] = [readTime(claims, "exp"), readTime(claims, "nbf"), readTime(claims, "iat")];
  if (exp !== undefined && exp <= seconds - tolerance) throw new TokenProblem("The token has expired", true);
  if (nbf !== undefined && nbf > seconds + tolerance) throw new TokenProblem("The token is not yet valid", true);
  if (iat === undefined) return;
  if (iat > seconds + tolerance) throw new TokenProblem("The token was issued in the future", true);
  if (seconds - iat - tolerance > maxAge) throw new TokenProblem("The token is older than allowed", true);
}

const secondsOf = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800, y: 31_557_600 } as const;
const durationForm =
  /^(\d+(?:\.\d+)?) ?(?:(s)(?:ec(?:ond)?s?)?|(m)(?:in(?:ute)?s?)?|(h)(?:(?:ou)?rs?)?|(d)(?:ays?)?|(w)(?:eeks?)?|(y)(?:(?:ea)?rs?)?)$/i;

/** Seconds of a duration such as `12h`, `1d` or `30 minutes`; undefined where it is none. */
export function readDuration(text: string): number | undefined {
  const [, amount, ...units] = durationForm.exec(text.trim()) ?? [];
  const unit = units.find((one) => one !== undefined)?.toLowerCase();
  if (amount === undefined || unit === undefined) return undefined;
  return Number(amount) * secondsOf[unit as keyof typeof secondsOf]; // the pattern knows no other
}

/** What of the claims is wanted. */
interface ClaimRules {
  requiredClaims: readonly string[];
  claimValues: readonly (readonly [claim: string, matches: ClaimMatcher])[];
  headerPayloadMatch: readonly string[];
}

/** What became of each rule. */
export interface ClaimFindings {
  requiredClaims: { valid: boolean; missing: string[] };
  claimValues: { valid: boolean; failed: string[] };
  headerPayloadMatch: { valid: boolean; mismatched: string[] };
}

/** A claim's own value: null and what every object has are none. */
function claimOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? (claims[name] ?? undefined) : undefined;
}

/** A claim as it is compared: the scopes of a `scope` are values of their own. */
function comparedOf(claims: Claims, name: string): unknown {
  const value = claimOf(claims, name);
  if (name !== "scope" || typeof value !== "string") return value;
  const scopes = value.split(/\s+/).filter((scope) => scope !== "");
  return scopes.length === 1 ? scopes[0] : scopes;
}

/** Holds claims, and the header of their token, against the rules, step by step. */
export function* findClaimProblems(
  claims: Claims,
  header: Claims | undefined,
  rules: ClaimRules,
): Steps<ClaimFindings> {
  const missing = rules.requiredClaims.filter((name) => claimOf(claims, name) === undefined);
  const failed: string[] = [];
  for (const [name, matches] of rules.claimValues) {
    if (!(yield* matches(comparedOf(claims, name)))) failed.push(name);
  }
  const mismatched = rules.headerPayloadMatch.filter((name) => {
    const value = claimOf(claims, name);
    return value === undefined || JSON.stringify(claimOf(header ?? {}, name)) !== JSON.stringify(value);
  });
  return {
    requiredClaims: { valid: missing.length === 0, missing },
    claimValues: { valid: failed.length === 0, failed },
    headerPayloadMatch: { valid: mismatched.length === 0, mismatched },
  };
}

/** Name of the header a claim becomes. */
export function toHeaderName(prefix: string, claim: string): string {
  return `${prefix}${claim}`.replaceAll("_", "-").toLowerCase();
}

function toPlain(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * Claims as headers. Null, so that no client can send it in the claim's place, for what is absent and for what no header can
 * hold: control characters, more than 4 KiB.
 */
export function toHeaders(claims: Claims, names: readonly string[], prefix: string): Record<string, string | null> {
  const headers: Record<string, string | null> = {};
  for (const name of names) {
    const value = claimOf(claims, name);
    headers[toHeaderName(prefix, name)] = null;
    if (value === undefined) continue;
    const text = Array.isArray(value) ? value.map(toPlain).join(",") : toPlain(value);
    const fits = text.length <= maxHeaderValue && isHeaderValue(text) && isLatin(text);
    if (fits) headers[toHeaderName(prefix, name)] = text;
  }
  return headers;
}
