import { fromBase64Url } from "../lib/base64.ts";
import { isHeaderValue } from "../lib/headers.ts";
import { decodeUtf8, findJsonExcess, hasRepeatedName, isObject, parseJson } from "../lib/json.ts";
import type { Steps } from "../lib/steps.ts";
import { isLatin } from "./call.ts";
import type { ClaimMatcher } from "./claim-match.ts";

/** Claims of a token, or the introspection response about it. */
export type Claims = Readonly<Record<string, unknown>>;

/** A token is not valid. The message may be shown to a client. */
export class TokenProblem extends Error {
  override readonly name = "TokenProblem";
  /** Whether the token was already proven to come from its issuer. */
  readonly isProven: boolean;

  constructor(message: string, isProven = false) {
    super(message);
    this.isProven = isProven;
  }
}

/** Limits of a token's JSON. */
const jsonLimits = { depth: 16, values: 5_000, keys: 500 };
/** Longest claim value that becomes a header, in characters. */
const maxHeaderValue = 4_096;

/**
 * One part of a token, unverified: 0 is its header, 1 its claims.
 *
 * @throws {TokenProblem} If it cannot be read, or repeats a name: two readers could see different values.
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
    return undefined; // not base64url, or not UTF-8
  }
}

/** Rules for the times of a token. */
interface TimeRules {
  /** Unix milliseconds. */
  now: number;
  /** Clock tolerance, in seconds. */
  tolerance: number;
  /** Largest age of a token, in seconds. */
  maxAge: number;
}

function readTime(claims: Claims, name: "exp" | "nbf" | "iat"): number | undefined {
  const value = claims[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new TokenProblem(`The claim ${name} of the token is not a time`, true);
}

/**
 * Checks the times of verified claims; absent ones are not checked.
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

/** Seconds of a duration such as `12h`, `1d` or `30 minutes`; undefined where the text is not a duration. */
export function readDuration(text: string): number | undefined {
  const [, amount, ...units] = durationForm.exec(text.trim()) ?? [];
  const unit = units.find((one) => one !== undefined)?.toLowerCase();
  if (amount === undefined || unit === undefined) return undefined;
  return Number(amount) * secondsOf[unit as keyof typeof secondsOf]; // the pattern allows no other unit
}

/** Rules for claims. */
interface ClaimRules {
  requiredClaims: readonly string[];
  claimValues: readonly (readonly [claim: string, matches: ClaimMatcher])[];
  headerPayloadMatch: readonly string[];
}

/** The result of each rule. */
export interface ClaimFindings {
  requiredClaims: { valid: boolean; missing: string[] };
  claimValues: { valid: boolean; failed: string[] };
  headerPayloadMatch: { valid: boolean; mismatched: string[] };
}

/** The value of a claim; null and inherited properties count as absent. */
function claimOf(claims: Claims, name: string): unknown {
  return Object.hasOwn(claims, name) ? (claims[name] ?? undefined) : undefined;
}

/** A claim as it is compared: a `scope` is split into its scopes. */
function comparedOf(claims: Claims, name: string): unknown {
  const value = claimOf(claims, name);
  if (name !== "scope" || typeof value !== "string") return value;
  const scopes = value.split(/\s+/).filter((scope) => scope !== "");
  return scopes.length === 1 ? scopes[0] : scopes;
}

/** Compares claims, and the token's header, with the rules, in steps. */
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

/** Name of the header for a claim. */
export function toHeaderName(prefix: string, claim: string): string {
  return `${prefix}${claim}`.replaceAll("_", "-").toLowerCase();
}

function toPlain(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/**
 * Claims as headers. Claims that are absent or cannot be header values (control characters, more than 4 KiB) become
 * null, so that no client can send that header instead.
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
