import type { HeldBody } from "../logs/body.ts";
import type { PriceBook } from "../pricing/own-prices.ts";
import type { HookResult } from "../schemas/hooks.ts";
import type { AttemptLog, LoggedUsage } from "../schemas/logs.ts";

/** Hooks of the target that was called last. */
export interface HookLog {
  before: readonly HookResult[];
  after: readonly HookResult[];
  /** Hooks that run once the request is over; each gives what it said before and after the call. */
  later: readonly (() => Promise<Pick<HookLog, "before" | "after">>)[];
}

/** One call to a provider: when it ran and how it ended. Times are milliseconds of the monotonic clock. */
export interface UpstreamCall {
  /** Slug. */
  readonly provider: string;
  readonly model: string | null;
  /** Its address without the query. */
  readonly url: string;
  readonly startedAt: number;
  firstByteAt: number | null;
  endedAt: number | null;
  /** Status of the response; null until one came. */
  status: number | null;
  /** Code of the failure that ended it; null where there was none. */
  error: string | null;
}

/** What becomes known of a request on its way, for its log row. */
export interface CallRecord {
  operation: string;
  provider: string | null;
  model: string | null;
  stream: boolean;
  /** Every call to a provider, in the order they began. */
  calls: UpstreamCall[];
  /** When the calls began that one response is made of, by the monotonic clock; null where it is made of the last one. */
  callsFrom: number | null;
  /** Place in the config of the target that was called last. */
  label: string;
  /** Retries of that target; -1 when they were used up. */
  retries: number;
  /** How many of them were made, whether or not they were used up. */
  retriesMade: number;
  /** What a config had tried, in order; empty without one. */
  attempts: AttemptLog[];
  /** Slug of the saved config, and labels its breakers left out. */
  configSlug: string | null;
  /** The saved prompt and its version, where one is used. */
  prompt: { id: string; slug: string; versionId: string } | null;
  skipped: readonly string[];
  /** What hooks said; null where none ran. */
  hooks: HookLog | null;
  /** Nano-dollars of answers that were thrown away: another call was made, or a guardrail denied them. */
  spent: number;
  /** What is answered is no answer of a provider: a guardrail denied the request. */
  isDenied: boolean;
  /** Members of the request the provider could not take. */
  dropped: string[] | null;
  usage: LoggedUsage | null;
  /** Counts of the usage, or some of the cost, are estimates: a stream broke off. */
  isEstimated: boolean;
  /** The response was a stream that broke off: what came of it is paid for. */
  isCut: boolean;
  /** The model that answered, where the answer was read. */
  answeredModel: string | null;
  /** Prices of the integration that is called; null: those of the list. */
  prices: PriceBook | null;
  /** Nano-dollars; null where it is not known. Set when the request ends. */
  cost: number | null;
  /** Credentials this request was made with: wherever its row would repeat one, it does not. */
  secrets: string[];
  /** Some of them are not the caller's. */
  isManaged: boolean;
  /** A header value logs do not show, and what they show instead. */
  hidden: { text: string; shown: string } | null;
  requestBody: HeldBody | null;
  responseBody: HeldBody | null;
  /** The request is over. */
  settled: boolean;
}

const noLabels: readonly string[] = [];

/** A draft of which nothing is known. */
export function createCallRecord(): CallRecord {
  return {
    operation: "",
    provider: null,
    model: null,
    stream: false,
    calls: [],
    callsFrom: null,
    label: "config",
    retries: 0,
    retriesMade: 0,
    attempts: [],
    configSlug: null,
    prompt: null,
    skipped: noLabels,
    hooks: null,
    spent: 0,
    isDenied: false,
    dropped: null,
    usage: null,
    isEstimated: false,
    isCut: false,
    answeredModel: null,
    prices: null,
    cost: null,
    secrets: [],
    isManaged: false,
    hidden: null,
    requestBody: null,
    responseBody: null,
    settled: false,
  };
}
