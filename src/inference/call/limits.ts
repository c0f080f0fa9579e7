import type { BookedPlace, CallRecord } from "../../context/call-record.ts";
import { reserveInTurn } from "../../context/limit-turn.ts";
import { noteRates, secondsUntil } from "../../context/met-rates.ts";
import type { ApartCall } from "../../context/shadow.ts";
import type { CallerContext, FinishedCall } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { BudgetError, LimitsUnavailableError, RateLimitError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { AppliedLimit } from "../../policies/applied.ts";
import type { Claim, Counted, Refusal, Reservation } from "../../policies/limit-store.ts";
import { estimateAt } from "../../pricing/cost.ts";
import { findPriceTiers, type PriceTiers } from "../../pricing/prices.ts";
import type { LimitIncrement } from "../../schemas/logs.ts";
import type { Attempt } from "../../upstream/attempt.ts";
import { isOperation } from "../facts/operation-facts.ts";
import { requestTypeOf } from "../facts/request-types.ts";
import { readView } from "../target/stored-provider.ts";
import { requireLabels } from "../target/target-labels.ts";
import { type ApplicableLimits, findLimits, toApplicable } from "./applicable-limits.ts";
import { requireLogRoom } from "./log-sink.ts";
import type { NamedCall } from "./named-models.ts";
import { applyUnpricedRule, type PricedCall } from "./unpriced-models.ts";

/** A use that was counted. */
interface CountedUse {
  readonly counted: readonly LimitIncrement[];
  /** Takes it from the counters of this process, where the increments could not be stored. */
  undo(): Promise<void>;
}

/** What a wait for room in a limit belongs to: the call ends it, and its time to the first byte begins behind it. */
type Waiting = Pick<Attempt, "signal" | "stopTimer" | "restartTimer">;

/** What a call is expected to use. */
interface Estimate {
  readonly prompt: number;
  readonly output: number;
  /** Nano-dollars of each; 0 where no limit counts money. */
  readonly promptCost: number;
  readonly outputCost: number;
}

/** Bytes of a token, at least: an estimate that is too high refuses no more than a prompt would. */
const bytesOfToken = 3;
/** Most output tokens that are reserved. What a response uses beyond them is counted when it ends. */
const mostReserved = 1_024;

/** Fields with the bound on output tokens: those of OpenAI's and Anthropic's APIs, of Gemini and of Bedrock's Converse. */
const outputFields = ["max_completion_tokens", "max_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens"];
/** Members that hold such a field in the last two. */
const outputHolders = ["generationConfig", "inferenceConfig"];

/** What limits read of a request before it is sent. */
export interface CallFacts extends Pick<NamedCall, "listModels"> {
  /** The request as it was parsed. Absent: its bound on output tokens is not known. */
  readonly request?: object | undefined;
}

/** What a call is expected to use of the limits that apply to it. Limits on requests need no estimate. */
function estimate(
  { body, request }: PricedCall & CallFacts,
  { money, countTokens }: ApplicableLimits,
  log: CallRecord,
): Estimate {
  if (!countTokens && money.length === 0) return nothing;
  // a prompt may be sent as the bytes that came; requests for records hold none, and forms begin with a hyphen
  const isPrompt = request !== undefined && isOperation(log.operation);
  const isJson = typeof body === "string" || (isPrompt && body instanceof Uint8Array && body[0] === 0x7b);
  const length = isJson ? body.length : 0;
  const asked = readOutputBound(request);
  const prompt = Math.ceil(length / bytesOfToken);
  const output = Math.min(asked ?? mostReserved, mostReserved);
  if (money.length === 0) return { prompt, output, promptCost: 0, outputCost: 0 };
  const cost = estimateAt({ prompt, output }, pricesOf(log));
  return { prompt, output, promptCost: cost.prompt, outputCost: cost.output };
}

/** Prices of the model that is called. */
function pricesOf({ provider, model, prices }: CallRecord): PriceTiers | undefined {
  if (provider === null || model === null) return undefined;
  return prices ? prices(model) : findPriceTiers(provider, model);
}

const nothing: Estimate = { prompt: 0, output: 0, promptCost: 0, outputCost: 0 };

/** The bound on output tokens that a request states; undefined without one. */
function readOutputBound(request: object | undefined): number | undefined {
  if (!isObject(request)) return undefined;
  for (const holder of [request, ...outputHolders.map((name) => request[name])]) {
    if (!isObject(holder)) continue;
    for (const name of outputFields) {
      const bound = holder[name];
      if (typeof bound === "number" && bound >= 0) return bound;
    }
  }
  return undefined;
}

/** What a request asks of one limit. */
function toClaim({ limit, bucket }: AppliedLimit, expected: Estimate): Claim {
  if (limit.counts === "requests") return { limit, bucket, least: 1, beyond: 0 };
  if (limit.counts === "tokens") return { limit, bucket, least: expected.prompt, beyond: expected.output };
  return { limit, bucket, least: expected.promptCost, beyond: expected.outputCost };
}

/** Refuses a request for which a limit has no room, or whose limits cannot be checked. */
function refuseOverLimit(
  { kind, holder, limit, code }: AppliedLimit,
  { resetsAt, isAway }: Refusal,
  now: number,
): never {
  if (isAway) {
    throw new LimitsUnavailableError("Cannot check the limits of this request: the counters do not respond", {
      code: "limits_unavailable",
      retryAfterSeconds: secondsUntil(resetsAt, now),
    });
  }
  const name = `${holder.charAt(0).toUpperCase()}${holder.slice(1)}`;
  const why = `its limit on ${limit.counts} has no room for this request`;
  if (kind === "usage") throw new BudgetError(`${name} Usage Limit Exceeded: ${why}`, { code });
  const seconds = secondsUntil(resetsAt, now);
  throw new RateLimitError(`${name} rate limit exceeded: ${why}. It resets in ${seconds} s`, {
    code,
    headers: { "retry-after": String(seconds) },
  });
}

/** Requests that only read files, batches or fine-tuning jobs of a provider: a used-up budget does not refuse them. */
function readsRecords({ method, log: { operation } }: CallerContext): boolean {
  return method === "GET" && !isOperation(operation) && requestTypeOf(operation) !== "proxy";
}

/**
 * Books what a call to a provider may use. A retry of the same target uses what is booked already. A call to another
 * target first settles what the former one used.
 *
 * @param facts What limits read of the request.
 * @param waiting The call, which waits where a limit without room has a queue.
 * @returns A promise only where the caller's workspace is not in memory.
 * @throws {PermissionError} 403 if a policy asks for labels that the target does not have.
 * @throws {BudgetError} 412 if a budget is used up.
 * @throws {RateLimitError} 429 if a rate limit is used up.
 * @throws {LimitsUnavailableError} 503 if shared counters are away, and nothing may pass without them.
 */
export function admitCall(
  { provider, path, body }: PricedCall,
  { listModels, request }: CallFacts,
  context: CallerContext,
  waiting: Waiting,
): void | Promise<void> {
  const call = { provider, path, body, listModels, request, waiting };
  const view = viewOf(context);
  return view instanceof Promise ? view.then((read) => admit(call, read, context)) : admit(call, view, context);
}

/**
 * Books what a running session may use next, after `settleSession`. Its request is counted already.
 *
 * @throws {GatewayError} As `admitCall`: a budget or rate limit is used up meanwhile.
 */
export async function admitSession(call: PricedCall & NamedCall, context: CallerContext): Promise<void> {
  const view = await viewOf(context);
  const found = findLimits(call, view, context);
  preparePrices(call, { view, found }, context);
  const lasting = found.all.filter(({ limit }) => limit.counts !== "requests");
  await book(call, toApplicable(lasting), context);
}

/**
 * Books a request whose response comes from the cache: it counts in limits on requests, and uses nothing of the others.
 *
 * @throws {GatewayError} If a limit on requests is used up.
 */
export async function admitCached(
  call: Pick<PricedCall, "provider"> & NamedCall,
  context: CallerContext,
): Promise<void> {
  const view = await viewOf(context);
  if (view?.labelPolicies) requireLabels(view, context);
  const { all } = findLimits(call, view, context);
  const found = toApplicable(all.filter(({ limit }) => limit.counts === "requests"));
  if (found.all.length === 0 && !context.log.booking) return;
  const { signal } = context.request;
  await book({ path: "", ...call, waiting: { signal, stopTimer() {}, restartTimer() {} } }, found, context);
}

/** The caller's workspace; keys of an organisation have none. */
function viewOf(context: CallerContext): WorkspaceView | undefined | Promise<WorkspaceView> {
  return context.principal.workspaceId === null ? undefined : readView(context);
}

/**
 * The limits of a call beside those of callers: those of the provider that it goes to. The copy of a request also takes of
 * budgets, but nothing of the rates of those whose requests are copied.
 */
function limitsOfApart({ shadowOf }: ApartCall, { all }: ApplicableLimits, { stored }: CallRecord): ApplicableLimits {
  const isCopy = shadowOf !== undefined;
  return toApplicable(all.filter((one) => (isCopy && one.kind === "usage") || stored?.limits.includes(one)));
}

/** Notes the limits on money that a call counts in, and the prices that its organisation adds. @throws {BudgetError} 412. */
function preparePrices(
  call: PricedCall,
  { view, found }: { view: WorkspaceView | undefined; found: ApplicableLimits },
  context: CallerContext,
): void {
  if (view && view.unpricedModels.mode !== "allow") applyUnpricedRule(call, view, context);
  context.log.moneyLimits = found.money;
}

function admit(call: AdmittedCall, view: WorkspaceView | undefined, context: CallerContext): void | Promise<void> {
  if (view?.labelPolicies) requireLabels(view, context);
  const applying = findLimits(call, view, context);
  const { apart } = context.connection;
  const found = apart ? limitsOfApart(apart, applying, context.log) : applying;
  preparePrices(call, { view, found }, context);
  if (found.all.length === 0 && !context.log.booking) return;
  if (!readsRecords(context)) return book(call, found, context);
  return book(call, toApplicable(found.all.filter(({ kind }) => kind === "rate")), context);
}

/** A call that books, and what it waits within; absent for sessions, which do not wait. */
type AdmittedCall = PricedCall & CallFacts & { readonly waiting?: Waiting };

const isSamePlace = (one: BookedPlace, other: BookedPlace): boolean =>
  one.every((part, index) => part === other[index]);

/** @returns A promise only where processes share the counters. */
function book(call: AdmittedCall, limits: ApplicableLimits, context: CallerContext): void | Promise<void> {
  const { log, services } = context;
  const applied = limits.all;
  const place: BookedPlace = [log.label, call.provider.slug, log.stored?.slug, log.model];
  if (log.booking && isSamePlace(log.booking.place, place)) return;
  if (log.booking) {
    settleBooking(log, log.spent);
    services.limitQueues.noteRoom();
  }
  const [first] = applied;
  if (!first) return;
  requireLogRoom(context, true);
  const expected = estimate(call, limits, log);
  const claims: Claim[] = [];
  for (const one of applied) claims.push(toClaim(one, expected));
  const note = (outcome: Reservation | Refusal) => {
    if ("claim" in outcome) {
      const refused = applied[claims.indexOf(outcome.claim)] ?? first;
      const noted = noteRates({ applied, states: outcome.states }, context);
      const end = () => refuseOverLimit(refused, outcome, services.steadyTime());
      return noted ? noted.then(end) : end();
    }
    // the request ended while it waited
    if (log.settled) return outcome.release();
    log.rates = { applied, states: outcome.states };
    log.booking = { place, reservation: outcome, spentBefore: log.spent, tokensBefore: log.spentTokens };
  };
  if (limits.hasQueues && call.waiting)
    return bookInTurn({ ...call, waiting: call.waiting }, { applied, claims }, context).then(note);
  const outcome = services.limitStore.reserve(claims);
  return outcome instanceof Promise ? outcome.then(note) : note(outcome);
}

/** Books where one of the limits lets requests wait. */
async function bookInTurn(
  { waiting, body }: PricedCall & { readonly waiting: Waiting },
  { applied, claims }: { applied: readonly AppliedLimit[]; claims: readonly Claim[] },
  context: CallerContext,
): Promise<Reservation | Refusal> {
  waiting.stopTimer();
  const length = typeof body === "string" ? body.length : 0;
  const outcome = await reserveInTurn({ applied, claims, length, signal: waiting.signal }, context);
  waiting.restartTimer();
  return outcome;
}

/** Replaces what is booked by what was used up to here. */
function settleBooking(log: CallRecord, cost: number, tokens: number = log.spentTokens): void {
  const { booking } = log;
  if (!booking) return;
  log.booking = null;
  const used: Record<Counted, number> = {
    requests: 1,
    tokens: tokens - booking.tokensBefore,
    cost: cost - booking.spentBefore,
  };
  for (const gain of booking.reservation.settle(used)) log.counted.push(gain);
}

/**
 * Settles what a running session used since it was settled before. Its request counts once.
 *
 * @param used Nano-dollars and tokens.
 * @returns What the counters gain.
 */
export function settleSession(log: CallRecord, used: { cost: number; tokens: number }): readonly LimitIncrement[] {
  settleBooking(log, log.spent + used.cost, log.spentTokens + used.tokens);
  return log.counted.splice(0);
}

/**
 * Counts what was used without a reservation, whatever is left of the limits.
 *
 * @returns What the counters gain.
 */
export async function countUse(
  call: NamedCall,
  used: Readonly<Record<Counted, number>>,
  context: CallerContext,
): Promise<CountedUse> {
  const { limitStore } = context.services;
  const { all: found } = findLimits(call, await viewOf(context), context);
  const add = (sign: 1 | -1) =>
    Promise.all(found.map(({ limit, bucket }) => limitStore.add(limit, bucket, sign * used[limit.counts])));
  const counted = await add(1);
  return { counted: counted.filter((increment) => increment !== undefined), undo: async () => void (await add(-1)) };
}

/** The sink that settles what a request booked. It runs before the log: the row carries what the counters gain. */
export function settleLimits({ context: { log, method, services }, status }: FinishedCall): void {
  if (!log.booking) return;
  // what came of a stream that broke off counts too
  const isAnswered = status === 101 || (status >= 200 && status <= 299) || log.isCut;
  // the tokens of a record that is read were counted when it was made
  const isRead = method === "GET" && !isOperation(log.operation);
  const tokens = isAnswered && !log.isDenied && !isRead ? (log.usage?.total_tokens ?? 0) : 0;
  settleBooking(log, log.cost ?? log.spent, log.spentTokens + tokens);
  services.limitQueues.noteRoom();
}
