import type { Principal } from "../../auth/principal.ts";
import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext, FinishedCall } from "../../context.ts";
import { BudgetError, RateLimitError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import { type AppliedLimit, toRateLimit, toUsageLimit } from "../../policies/applied.ts";
import type { Claim, Counted } from "../../policies/ledger.ts";
import { costAt } from "../../pricing/cost.ts";
import { findLadder } from "../../pricing/prices.ts";
import type { ProviderCall } from "../../providers/core/call.ts";

/** Limits of credentials: a principal lives as long as its key is in memory. */
const ofPrincipals = new WeakMap<Principal, readonly AppliedLimit[]>();

/** The limits a credential carries: those of a key's record, or of a token's claims. */
function limitsOfCredential(principal: Principal): readonly AppliedLimit[] {
  const known = ofPrincipals.get(principal);
  if (known) return known;
  const { keyId, limits } = principal;
  const bucket = `api_key:${keyId}`;
  const holder = "API key";
  const made: AppliedLimit[] = [];
  for (const stored of limits?.usageLimits ?? []) {
    const limit = toUsageLimit(stored, keyId);
    if (limit) made.push({ limit, bucket, kind: "usage", holder });
  }
  for (const stored of limits?.rateLimits ?? []) {
    made.push({ limit: toRateLimit(stored, keyId), bucket, kind: "rate", holder });
  }
  ofPrincipals.set(principal, made);
  return made;
}

/** What a call is expected to use. */
interface Estimate {
  readonly prompt: number;
  readonly output: number;
}

/** Bytes of a token, at least: an estimate that is too high refuses no more than a prompt would. */
const bytesOfToken = 3;
/** Most output tokens that are reserved. What a response uses beyond them is counted when it ends. */
const mostReserved = 1_024;

const outputFields = ["max_completion_tokens", "max_tokens", "max_output_tokens"];

function estimate({ body }: Pick<ProviderCall, "provider" | "body">): Estimate {
  const length = typeof body === "string" ? body.length : 0;
  const asked = typeof body === "string" ? readOutputBound(body) : undefined;
  return { prompt: Math.ceil(length / bytesOfToken), output: Math.min(asked ?? mostReserved, mostReserved) };
}

/** The bound on output tokens in a request body, where it is written in one of the usual fields. */
function readOutputBound(body: string): number | undefined {
  for (const name of outputFields) {
    const at = body.indexOf(`"${name}":`);
    if (at < 0) continue;
    const value = Number.parseInt(body.slice(at + name.length + 3, at + name.length + 23), 10);
    if (value >= 0) return value;
  }
  return undefined;
}

/** Nano-dollars of some tokens of the model that is called; 0 where it has no price. */
function priceOf(tokens: { input_tokens?: number; output_tokens?: number }, log: CallRecord): number {
  const { provider, model, prices } = log;
  if (provider === null || model === null) return 0;
  return costAt(tokens, prices ? prices(model) : findLadder(provider, model)) ?? 0;
}

/** What a request asks of one limit. */
function toClaim({ limit, bucket }: AppliedLimit, { prompt, output }: Estimate, log: CallRecord): Claim {
  if (limit.counts === "requests") return { limit, bucket, least: 1, beyond: 0 };
  if (limit.counts === "tokens") return { limit, bucket, least: prompt, beyond: output };
  const least = priceOf({ input_tokens: prompt }, log);
  return { limit, bucket, least, beyond: priceOf({ output_tokens: output }, log) };
}

/** Refuses a request for which a limit has no room. */
function refuse({ kind, holder, limit }: AppliedLimit, resetsAt: number, now: number): never {
  if (kind === "usage") {
    throw new BudgetError(`Cannot make this call: the ${limit.counts} limit of the ${holder} is used up`, {
      code: "usage_limit_exceeded",
    });
  }
  const seconds = Math.max(1, Math.ceil((resetsAt - now) / 1_000));
  throw new RateLimitError(`Cannot make this call: the rate limit of the ${holder} on ${limit.counts} is used up`, {
    code: "rate_limit_exceeded",
    headers: { "retry-after": String(seconds) },
  });
}

/** Requests that only read records of a provider: a used-up budget does not refuse them. */
function readsRecords({ method, relay }: CallerContext): boolean {
  return method === "GET" && relay !== undefined;
}

/**
 * Books what a call to a provider may use. A retry of the same target uses what is booked already; a call to another
 * target first settles what the former one used.
 *
 * @throws {BudgetError} 412 if a budget is used up.
 * @throws {RateLimitError} 429 if a rate limit is used up.
 */
export function admitCall(call: Pick<ProviderCall, "provider" | "body">, context: CallerContext): void {
  const { principal, log, services } = context;
  const applied = limitsOfCredential(principal);
  if (applied.length === 0) return;
  const place = JSON.stringify([log.label, call.provider.slug, log.model]);
  if (log.booking?.place === place) return;
  settleBooking(log, log.spent);
  const counted = readsRecords(context) ? applied.filter(({ kind }) => kind === "rate") : applied;
  const expected = estimate(call);
  const claims = counted.map((one) => toClaim(one, expected, log));
  const booked = services.ledger.reserve(claims);
  if ("claim" in booked) {
    const refused = counted[claims.indexOf(booked.claim)];
    if (refused) refuse(refused, booked.resetsAt, services.clock.now());
    return;
  }
  log.booking = { place, reservation: booked, spentBefore: log.spent, tokensBefore: log.spentTokens };
}

/** Replaces what is booked by what was used up to here. */
function settleBooking(log: CallRecord, cost: number, tokens = log.spentTokens): void {
  const { booking } = log;
  if (!booking) return;
  log.booking = null;
  const used: Record<Counted, number> = {
    requests: 1,
    tokens: tokens - booking.tokensBefore,
    cost: cost - booking.spentBefore,
  };
  log.counted.push(...booking.reservation.settle(used));
}

/** The sink that settles what a request booked. It runs before the log: the row carries what the counters gain. */
export function settleLimits({ context: { log }, status }: FinishedCall): void {
  if (!log.booking) return;
  const isSuccess = status >= 200 && status <= 299;
  const tokens = isSuccess && isObject(log.usage) ? log.usage.total_tokens : 0;
  settleBooking(log, log.cost ?? log.spent, log.spentTokens + tokens);
}
