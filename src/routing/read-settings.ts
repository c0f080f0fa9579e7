import { isObject } from "../lib/json.ts";
import {
  breakerMembers,
  cacheMembers,
  type PromptCacheSettings,
  promptCacheMembers,
  retryMembers,
  stickyMembers,
} from "../schemas/routing.ts";
import {
  type BreakerSettings,
  type CacheSettings,
  clampCacheAge,
  type RetrySettings,
  type StickySettings,
} from "./config.ts";
import { codesOf, type MemberReader, type Members, numberOf } from "./member-reader.ts";

/** Status codes that are retried by default. */
const defaultRetryCodes = [429, 500, 502, 503, 504, 529];
const maxRetries = 5;
/** Shortest cooldown of a circuit breaker. */
const minCooldownMs = 30_000;
const defaultStickySeconds = 3_600;

/** Why a request goes on without the cache its config names; a config with this problem cannot be saved. */
function findCacheProblem({ mode, max_age: age }: Members): string | undefined {
  if (typeof mode === "string" && mode !== "simple" && mode !== "semantic")
    return "cache.mode must be simple or semantic";
  const isUsable = age === undefined || age === null || (typeof age === "number" && Number.isFinite(age));
  return isUsable ? undefined : "cache.max_age must be a number";
}

/** The members of `cache` at a request: an age outside the limits counts as the nearest limit. */
function withUsableAge(written: unknown): unknown {
  if (!isObject(written)) return written;
  const ages = ["max_age", "maxAge"].filter((name) => typeof written[name] === "number");
  return { ...written, ...Object.fromEntries(ages.map((name) => [name, clampCacheAge(Number(written[name]))])) };
}

export function readRetry(value: unknown, path: string, reader: MemberReader): RetrySettings | undefined {
  if (value === undefined) return undefined;
  const { attempts } = isObject(value) ? value : {};
  // older saved configs may exceed today's limit
  const clamp = !reader.isStrict && typeof attempts === "number" && attempts > maxRetries;
  const clamped = clamp && isObject(value) ? { ...value, attempts: maxRetries } : value;
  const members = reader.check(clamped, path, retryMembers);
  if (isObject(value) && (attempts ?? undefined) === undefined) reader.note(`${path}.attempts`, "must be given");
  return {
    attempts: numberOf(members.attempts) ?? 0,
    onStatusCodes: codesOf(members.on_status_codes) ?? defaultRetryCodes,
    useRetryAfter: members.use_retry_after_headers === true,
  };
}

export function readCache(value: unknown, path: string, reader: MemberReader): CacheSettings | undefined {
  if (value === undefined) return undefined;
  const written = typeof value === "string" ? { mode: value } : value;
  if (!reader.isStrict && isObject(written)) {
    const problem = findCacheProblem(reader.normalise(written, path));
    if (problem !== undefined) return { mode: "off", maxAgeSeconds: undefined, join: false, problem };
  }
  const members = reader.check(reader.isStrict ? written : withUsableAge(written), path, cacheMembers);
  if (isObject(written) && (written.mode ?? undefined) === undefined) reader.note(`${path}.mode`, "must be given");
  return {
    mode: members.mode === "semantic" ? "semantic" : "simple",
    maxAgeSeconds: numberOf(members.max_age),
    join: members.join === true,
    problem: undefined,
  };
}

export function readPromptCache(
  value: unknown,
  path: string,
  reader: MemberReader,
): PromptCacheSettings | false | undefined {
  if (value === undefined || value === false) return value;
  const { ttl } = reader.check(value === true ? {} : value, path, promptCacheMembers);
  return { ttl: ttl === "5m" || ttl === "1h" ? ttl : undefined };
}

export function readBreaker(value: unknown, path: string, reader: MemberReader): BreakerSettings | undefined {
  if (value === undefined) return undefined;
  const members = reader.check(value, path, breakerMembers);
  const failureThreshold = numberOf(members.failure_threshold);
  const failureThresholdPercentage = numberOf(members.failure_threshold_percentage);
  if (failureThreshold === undefined && failureThresholdPercentage === undefined) return undefined;
  return {
    failureThreshold,
    failureThresholdPercentage,
    minimumRequests: numberOf(members.minimum_requests) ?? 5,
    cooldownMs: Math.max(numberOf(members.cooldown_interval) ?? minCooldownMs, minCooldownMs),
    failureStatusCodes: codesOf(members.failure_status_codes),
  };
}

export function readSticky(value: unknown, path: string, reader: MemberReader): StickySettings | undefined {
  if (value === undefined) return undefined;
  const members = reader.check(value, path, stickyMembers);
  if (members.enabled !== true) return undefined;
  const hashFields = Array.isArray(members.hash_fields) ? members.hash_fields.map(String) : [];
  return { hashFields, ttlSeconds: numberOf(members.ttl) ?? defaultStickySeconds };
}
