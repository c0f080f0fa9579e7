import type { Metadata } from "../lib/metadata.ts";
import type { BodyPieces, HeldBody } from "../logs/body.ts";
import type { AppliedLimit } from "../policies/applied.ts";
import type { BucketState, Reservation } from "../policies/limit-store.ts";
import type { PriceList } from "../pricing/own-prices.ts";
import type { MeasuredCall } from "../routing/balance/measured-call.ts";
import type { HookResult } from "../schemas/hooks.ts";
import type { Labels } from "../schemas/labels.ts";
import type {
  AttemptLog,
  AutoLog,
  CacheStatus,
  LimitIncrement,
  LoggedUsage,
  McpLog,
  PriceSource,
  UnfitLog,
} from "../schemas/logs.ts";
import type { WaitLog } from "../schemas/queues.ts";
import type { ShadowWish } from "./shadow.ts";

/** Hooks of the last target. */
export interface HookLog {
  before: readonly HookResult[];
  after: readonly HookResult[];
  /** Hooks that run after the request; each returns its results before and after the call. */
  later: readonly (() => Promise<Pick<HookLog, "before" | "after">>)[];
}

/** Outcome of a request. */
export interface SettledRequest {
  status: number;
  /** Nano-dollars; null where unknown. */
  cost: number | null;
  /** Prices of the integration that was called; null: list prices. */
  prices: PriceList | null;
}

/** One call to a provider: its times and outcome. Times are monotonic milliseconds. */
export interface UpstreamCall {
  /** Slug. */
  readonly provider: string;
  readonly model: string | null;
  /** Its address without the query. */
  readonly url: string;
  readonly startedAt: number;
  firstByteAt: number | null;
  endedAt: number | null;
  /** Status of the response; null without a response. */
  status: number | null;
  /** Code of the error that ended it; null without an error. */
  error: string | null;
}

/** A target: its label, the slugs of its provider and of the stored one, and its model. */
export type BookedPlace = readonly [string, string, string | undefined, string | null];

/** What a request has reserved of limits at one target. */
interface Booking {
  /** The target: a retry of it uses the same booking. */
  readonly place: BookedPlace;
  readonly reservation: Reservation;
  /** Cost and tokens of responses that were thrown away before it. */
  readonly spentBefore: number;
  readonly tokensBefore: number;
}

/** The rate limits that a request met at its last target, for the headers of its response. */
export interface MetRates {
  readonly applied: readonly AppliedLimit[];
  /** The state of each, with what the request reserved; as it was where the request was refused. */
  readonly states: readonly BucketState[];
}

/** A request as it was sent, and a response as it came, where the caller's differ. */
interface CallPhases {
  /** The request before its conversion, where its config or guardrails changed it. */
  final: object | null;
  /** Its text, where that is what was sent; null where it is not written yet. */
  finalBody: HeldBody | null;
  /** What was sent. Its headers gain the credential when it leaves. */
  sent: { readonly method: string; readonly headers: Readonly<Record<string, string>>; readonly body: HeldBody } | null;
  /** The provider's response, where it was converted. */
  original: HeldBody | null;
}

/** What a response from the cache saved. */
export interface CacheHit {
  /** Nano-dollars; null where unknown. */
  readonly cost: number | null;
  readonly tokens: number;
  /** How old the response is. */
  readonly ageMs: number;
}

/** What a model wrote, as far as it can be read. */
export type WrittenAnswer =
  | { readonly form: "answer"; readonly answer: object }
  /** The first bytes of an event stream, and how many there were in all. */
  | { readonly form: "events"; readonly sent: BodyPieces; readonly sentBytes: number }
  /** A text that is too long to be read. */
  | { readonly form: "bytes"; readonly sentBytes: number }
  /** Vectors or a list: nothing that is counted as output. */
  | { readonly form: "none" };

/** A call whose provider did not report all of its tokens: they are estimated when the request ends. */
export interface UncountedCall {
  /** What was asked for. */
  readonly request: object;
  readonly written: WrittenAnswer;
  /** Counts that the provider reported; null without any that can be used. */
  readonly reported: LoggedUsage | null;
  /** It broke off. */
  readonly isCut: boolean;
}

/** A name that a request uses as its model and that leads to a model or a config. */
export interface NamedTarget {
  readonly name: string;
  /** Where it leads: models as `@provider/model`, or the slug of a config. */
  readonly leadsTo: string;
  /** The targets of a config set the model; else it is `leadsTo`. */
  readonly isConfig: boolean;
  readonly limits: readonly AppliedLimit[];
}

/** A decision by what is in the request, and the largest model that it could have taken. */
export interface AutoRecord extends AutoLog {
  readonly largest: { readonly provider: string; readonly model: string | null; readonly prices: PriceList | null };
}

/** Facts collected during a request, for its log row. */
export interface CallRecord {
  operation: string;
  provider: string | null;
  model: string | null;
  stream: boolean;
  /** Every call to a provider, in order of start. */
  calls: UpstreamCall[];
  /** Monotonic start of the calls that make up the response; null if it is the last call alone. */
  callsFrom: number | null;
  /** Path in the config of the last target. */
  label: string;
  /** Metadata of that target by the config. */
  targetMetadata: Metadata | undefined;
  /** Retries of that target; -1 when exhausted. */
  retries: number;
  /** Number of retries made, whether exhausted or not. */
  retriesMade: number;
  /** Targets of a config that were called, in order; empty without a config. */
  attempts: AttemptLog[];
  /** Slug of the saved config, and labels of targets that were skipped: their circuit breaker is open, or they are ejected. */
  configSlug: string | null;
  /** The saved prompt and its version, if used. */
  prompt: { id: string; slug: string; versionId: string } | null;
  skipped: readonly string[];
  /** Targets that were skipped because their models lack what the request needs, with the reasons. */
  unfit: readonly UnfitLog[];
  /** The last call to a target that a load balancer measures, while it runs; null without one. */
  measured: MeasuredCall | null;
  /** What the config decided by what is in the request; null where it does not. */
  auto: AutoRecord | null;
  /** Results of hooks; null without hooks. */
  hooks: HookLog | null;
  /** Nano-dollars of discarded responses: another call followed, or a guardrail denied them. */
  spent: number;
  /** Tokens of the same. */
  spentTokens: number;
  /** The stored provider that is called, its integration and its limits; null where the request names a provider itself. */
  stored: { slug: string; integrationId: string; limits: readonly AppliedLimit[]; labels?: Labels } | null;
  /** Labels that the saved config gives the target that is called. */
  targetLabels: Labels | undefined;
  /** The model as the request names it. */
  requestedModel: string | null;
  /** What that is, where it is no provider's model: an alias, or a saved config. */
  named: NamedTarget | null;
  /** What is reserved at the target that is called; null where no limit applies. */
  booking: Booking | null;
  /** Null where no limit applies. */
  rates: MetRates | null;
  /** Its waits for room in limits, in order; absent without any. */
  waits?: readonly WaitLog[];
  /** What the request added to counters of limits. */
  counted: LimitIncrement[];
  /** The response is not a provider's: a guardrail denied the request. */
  isDenied: boolean;
  /** Fields of the request that the provider does not support. */
  dropped: string[] | null;
  usage: LoggedUsage | null;
  /** Counts of the calls whose sum `usage` is: the length of a prompt decides the price of its call alone. Null: one call. */
  parts: readonly LoggedUsage[] | null;
  /** The calls of the response whose tokens are not all known. Their counts are in `usage` as far as they were reported. */
  uncounted: readonly UncountedCall[];
  /** Its provider answered and reported nothing of it: without an estimate its cost is unknown. */
  hasUnseenUse: boolean;
  /** Records of discarded responses with such calls, as they were then. */
  uncountedDiscards: readonly CallRecord[];
  /** Counts of the usage, or some of the cost, are estimates. */
  isEstimated: boolean;
  /** The response was a stream that broke off: what came of it is paid for. */
  isCut: boolean;
  /** The model named by the response, if it was read. */
  answeredModel: string | null;
  /** Prices of the integration that is called; null: list prices. */
  prices: PriceList | null;
  /** Nano-dollars that the provider reported as the cost of the response; null where it reported none. */
  charge: number | null;
  /** The last call went to a host that the request or an integration names, not to the provider's own. */
  isAtCustomHost: boolean;
  /** Nano-dollars; null where what was counted has no price. Set when the request ends. */
  cost: number | null;
  /** Where the price comes from; null where none applied. */
  priceSource: PriceSource | null;
  /** The price is that of the model in the response, or none of both models has one. */
  isAnswerNeeded: boolean;
  /** Limits on money that the call to the current target counts in. */
  moneyLimits: readonly AppliedLimit[];
  /** Credentials of this request, which are masked wherever its row would contain them. */
  secrets: string[];
  /** Some of them belong to the gateway, not the caller. */
  isManaged: boolean;
  /** A header value that logs do not show, and what they show instead. */
  hidden: { text: string; shown: string } | null;
  requestBody: HeldBody | null;
  responseBody: HeldBody | null;
  /** Guardrails changed a round of this request, so its own bodies have what they removed: they are not stored. */
  hasChangedRounds?: boolean;
  /** The parsed request that `requestBody` shows; null where it is not JSON. */
  given: object | null;
  /** What became of request and response at the last target; null where both went through unchanged. */
  phases: CallPhases | null;
  /** The saved config that was used, by the ids of the config and its version. */
  savedConfig: { readonly id: string; readonly versionId: string } | null;
  /** Who reported the request, where the gateway did not make it. */
  source: "custom" | "otel" | null;
  /** How the root of the config chooses among its targets. */
  mode: string;
  /** Whether the response came from the cache; null where no cache was asked. */
  cacheStatus: CacheStatus | null;
  /** Why the cache that was asked for was not used; null where it was. */
  cacheProblem: string | null;
  /** The entry of the cache that is the response; null for other responses. */
  cacheHit: CacheHit | null;
  /** The call of an MCP server; null for other requests. */
  mcp: McpLog | null;
  /** The copy of the request that its config asks for. */
  shadow?: ShadowWish;
  /** It is sent. */
  isCopied?: boolean;
  /** The request has ended. */
  settled: boolean;
}

const noLabels: readonly string[] = [];
const noUnfit: readonly UnfitLog[] = [];
const noLimits: readonly AppliedLimit[] = [];
const noCalls: readonly UncountedCall[] = [];
/** A request that the gateway answers in rounds, which are requests too. */
export interface OuterRequest {
  /** Its record. Where guardrails change a round, the row has no bodies. */
  readonly record: CallRecord;
  readonly body: object;
  /** Functions of the round that stand for tools of the request. */
  readonly functions: ReadonlySet<string>;
}

const noRecords: readonly CallRecord[] = [];

/** An empty record. */
export function createCallRecord(): CallRecord {
  return {
    operation: "",
    provider: null,
    model: null,
    stream: false,
    calls: [],
    callsFrom: null,
    label: "config",
    targetMetadata: undefined,
    retries: 0,
    retriesMade: 0,
    attempts: [],
    configSlug: null,
    prompt: null,
    skipped: noLabels,
    unfit: noUnfit,
    measured: null,
    auto: null,
    hooks: null,
    spent: 0,
    spentTokens: 0,
    stored: null,
    targetLabels: undefined,
    requestedModel: null,
    named: null,
    booking: null,
    rates: null,
    counted: [],
    isDenied: false,
    dropped: null,
    usage: null,
    parts: null,
    uncounted: noCalls,
    hasUnseenUse: false,
    uncountedDiscards: noRecords,
    isEstimated: false,
    isCut: false,
    answeredModel: null,
    prices: null,
    charge: null,
    isAtCustomHost: false,
    cost: null,
    priceSource: null,
    isAnswerNeeded: false,
    moneyLimits: noLimits,
    secrets: [],
    isManaged: false,
    hidden: null,
    requestBody: null,
    responseBody: null,
    given: null,
    phases: null,
    savedConfig: null,
    source: null,
    mode: "single",
    cacheStatus: null,
    cacheProblem: null,
    cacheHit: null,
    mcp: null,
    settled: false,
  };
}

/** Forgets what a record says of one target: another one is called, at a path of the config. */
export function beginTarget(record: CallRecord, label: string, metadata: Metadata | undefined): void {
  record.label = label;
  record.targetMetadata = metadata;
  record.retries = 0;
  record.retriesMade = 0;
  record.provider = null;
  record.prices = null;
  record.stored = null;
  record.rates = null;
  record.answeredModel = null;
  record.hooks = null;
  record.cacheStatus = null;
  record.cacheProblem = null;
  record.cacheHit = null;
}
