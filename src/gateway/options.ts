import type { SemanticSettings } from "../cache/semantic-settings.ts";
import type { ConcurrencyLimits } from "../context/concurrency.ts";
import type { Requirable } from "../context/dependencies.ts";
import type { PressureMarks } from "../context/pressure.ts";
import type { Limits } from "../context.ts";
import type { AlertSettings } from "../control/alerts/parts.ts";
import type { ConsoleAssets } from "../control/console/assets.ts";
import type { DeclaredIn } from "../control/declared-in.ts";
import type { FileLimits } from "../control/files/storage.ts";
import type { S3Settings } from "../control/object-store.ts";
import type { TokenSettings } from "../control/tokens.ts";
import type { DatabaseLocation } from "../db/client.ts";
import type { TextCodec } from "../db/stores/logs.ts";
import type { BatchRunnerSettings } from "../inference/batches/runner.ts";
import type { Clock } from "../lib/clock.ts";
import type { ContentCoding } from "../lib/content-coding.ts";
import type { Crew } from "../lib/crew.ts";
import type { MacFactory } from "../lib/hash.ts";
import type { Transport } from "../lib/outbound.ts";
import type { ConnectRedis } from "../lib/redis.ts";
import type { SteadyLink } from "../lib/steady-link.ts";
import type { TokenCounter } from "../lib/token-count.ts";
import type { FollowerLimits } from "../logs/follow/log-tail.ts";
import type { TailReader } from "../logs/follow/page.ts";
import type { JournalPlace } from "../logs/journal.ts";
import type { LogReader } from "../logs/read/log-reader.ts";
import type { RedactionSettings } from "../logs/redact.ts";
import type { WaitingLimits } from "../logs/waiting-rows.ts";
import type { LogWriter } from "../logs/writer.ts";
import type { McpServers } from "../mcp/registry/mcp-server.ts";
import type { McpSettings } from "../mcp/registry/mcp-state.ts";
import type { OtlpSettings } from "../observability/otlp/settings.ts";
import type { MetricsOptions, ProcessStats } from "../observability/settings.ts";
import type { TelemetrySettings } from "../observability/telemetry.ts";
import type { WaitingBounds } from "../policies/queue/limit-queues.ts";
import type { Provider } from "../providers/core/types.ts";
import type { TargetLimits } from "../routing/config.ts";
import type { OperatorFacts } from "../schemas/model-facts.ts";
import type { SnapshotSettings } from "./snapshot/snapshot.ts";

/**
 * Which parts of the gateway a process serves: all on one port, with MCP below `/m`; inference and the control plane alone;
 * MCP alone; or both, each on a separate port. Where MCP has its own port, its paths have no `/m`.
 */
export const serverModes = ["unified", "gateway", "mcp", "all"] as const;
export type ServerMode = (typeof serverModes)[number];

/** Options of a gateway. All have defaults except the transport on hosts without a global `fetch`. */
export interface GatewayOptions {
  /** `file:`, `:memory:`, `libsql://` or `http(s)://`. Default `:memory:`. */
  database?: string;
  databaseAuthToken?: string;
  /** Gateway processes that share the database file, and its limits. Default 1. A remote database is always shared. */
  workers?: number;
  /** The process of this gateway that owns the log and its counters. Absent: this one. */
  owner?: SteadyLink;
  /** The other processes of this gateway, where this one is their owner. */
  crew?: Crew;
  /** `v2:<base64url of 32 bytes>,v1:<…>`; required for every database that outlives the process. */
  masterKeys?: string;
  /** Reads the current master keys, if they can change while the gateway runs; undefined when there are no keys to read. */
  readMasterKeys?: () => string | undefined;
  /** Keys for the first start, instead of random ones. */
  bootstrap?: { adminKey?: string; workspaceKey?: string };
  /** Providers besides the built-in ones. */
  providers?: readonly Provider[];
  /** Hosts that may be private; see `docs/configuration.md`. */
  trustedHosts?: readonly string[];
  /** Addresses and ranges of trusted proxies, whose `x-forwarded-for` determines the client address. */
  trustedProxies?: readonly string[];
  /** Path below which a proxy or an application has the gateway, such as `/gateway`. Requests may come with it or without. */
  basePath?: string;
  /** Sends requests. Default: the runtime's client; without sockets the global `fetch`, which checks no resolved addresses. */
  transport?: Transport;
  /**
   * Redis, in which all processes with the same database count their limits: `redis://` or `rediss://`. `timeoutMs`:
   * longest time a request waits for it, by default 100.
   */
  redis?: { url: string; timeoutMs?: number };
  /**
   * While Redis, or the database that processes share, is away: requests with limits are refused with 503 instead of counted
   * by the share of the process.
   */
  strictLimits?: boolean;
  /** Where what requests used of limits is noted until their log rows are stored. Absent: nowhere. */
  limitJournal?: JournalPlace;
  /** Makes the connection to Redis. Default: that of the runtime, if it has sockets. */
  connectRedis?: ConnectRedis;
  /** Synchronous digests, if the host has them. */
  createMac?: MacFactory;
  /** Writes log rows off the request loop, unless the database is in memory, and reads them for those who follow the log. */
  createLogWriter?: (
    location: DatabaseLocation,
    redaction: RedactionSettings,
    telemetry: TelemetrySettings,
    places?: LogPlaces,
  ) => LogWriter & Partial<TailReader>;
  /** Reads lists and figures of the log off the request loop, unless the database is in memory. */
  createLogReader?: (location: DatabaseLocation, contents: LogContentSettings) => LogReader;
  /** Counts tokens off the request loop. Default: on it, where the first count holds it for 200 to 500 milliseconds. */
  countTokens?: TokenCounter;
  /**
   * Compresses logged bodies. Default: Zstandard on Bun, Deno and Node. Without it they are stored uncompressed, and
   * compressed ones cannot be read.
   */
  logCodec?: TextCodec;
  /** How responses may be compressed, what is preferred first. Default: with gzip. */
  contentCodings?: readonly ContentCoding[];
  /** Metrics of requests and of the process, at `/metrics`. False: there are no metrics. */
  metrics?: MetricsOptions | false;
  /** Where spans of finished requests are sent. Absent: nowhere. */
  otlp?: OtlpSettings;
  /** Reports memory and CPU time of the process, if the host knows them. */
  processStats?: () => ProcessStats;
  clock?: Clock;
  limits?: Partial<Limits>;
  /** Most concurrent requests. */
  concurrency?: Partial<ConcurrencyLimits>;
  /** Bounds of the requests that wait for room in limits with a queue. */
  waiting?: Partial<WaitingBounds>;
  /** Stored files, and their storage; by default the database. */
  files?: Partial<FileLimits> & { s3?: S3Settings };
  /** Settings of batches that the gateway runs. */
  batches?: Partial<BatchRunnerSettings>;
  keyPrefix?: string;
  /** `traceparent` goes upstream as it came. Default: with the gateway's span as parent. */
  forwardsTraceparent?: boolean;
  headerAliases?: readonly string[];
  /** Lower-case header names whose values are never stored. */
  sensitiveHeaders?: readonly string[];
  /** Days to keep log rows. Default 30. */
  logRetentionDays?: number;
  /** Days to keep headers and bodies, at most as long as the rows. Default: as long. */
  logBodyRetentionDays?: number;
  /** Days to keep the index over the log, from which statistics are computed, at least as long as the rows. Default 400. */
  rollupRetentionDays?: number;
  /** Where log rows wait while the database is away. Only with `createLogWriter`. Absent: in memory. */
  logSpill?: LogSpillOptions;
  /** Where the last known state of a database on another machine is stored. Absent: no start while it is away. */
  snapshot?: SnapshotSettings;
  /** An S3-compatible store, to which headers and bodies of log rows are moved. Absent: they stay in the database. */
  logObjects?: S3Settings;
  /** Longest time a log row waits for others, in milliseconds. Default 250. */
  logFlushMs?: number;
  /** Most log rows, and bytes of them, that wait in memory. Default: room for four times as many as requests may run. */
  logWaiting?: Partial<WaitingLimits>;
  /** Most followers of the log. */
  logFollowers?: Partial<FollowerLimits>;
  /** Days to store responses for providers that do not. Default 30. */
  responseRetentionDays?: number;
  /** Responses that are used again. */
  cache?: Partial<CacheOptions>;
  /** What makes embeddings for semantic caches, and how similar questions must be. Organisations may have their own. */
  semanticCache?: SemanticSettings;
  authFailuresPerMinute?: number;
  /** Tokens of identity providers. */
  tokens?: TokenSettings;
  serverTiming?: boolean;
  /** Web origins whose pages may open realtime sessions, such as `https://app.example.com`. Default: none. */
  realtimeOrigins?: readonly string[];
  /** Web origins whose pages may call the inference API, such as `https://app.example.com`. Default: none. */
  pageOrigins?: readonly string[];
  /** Most targets of a config. */
  targetLimits?: Partial<TargetLimits>;
  /** The operator's cloud identity: the variables of cloud SDKs, such as `AWS_ROLE_ARN`. */
  cloudEnvironment?: Readonly<Record<string, string | undefined>>;
  /** Ids of organisations that may use the operator's cloud identity. Default: the first organisation. */
  identityOrganisations?: readonly string[];
  /** Reads a small file that the cloud environment names. */
  readFile?: (path: string) => Promise<string>;
  /** What models take that are newer than the release, by provider. Precedes the built-in tables. */
  modelFacts?: OperatorFacts;
  /** Requests may only name saved configs and stored providers. */
  savedOnly?: boolean;
  /** The configuration comes from a file: the control plane refuses to change it. Absent: it does not. */
  declaredIn?: DeclaredIn;
  /** The model that checks of guardrails ask unless they name one: the slug of a stored provider, and its model. */
  guardrailModel?: { provider?: string | undefined; model?: string | undefined };
  /** Files of the console for browsers, at `/console`. Absent or false: there is no console, and no sign-in to it. */
  console?: ConsoleAssets | false;
  /** Which parts it serves. Default `unified`. */
  serverMode?: ServerMode;
  /** Settings of the MCP gateway. */
  mcp?: Partial<McpSettings>;
  /** Finds the MCP servers of workspaces. Default: those of the control plane. */
  mcpServers?: McpServers;
  /** Numbers in [0, 1) for routing. */
  random?: () => number;
  /** How alerts of budgets are delivered, besides the audit log and the log lines. Default: only to webhooks of organisations. */
  alerts?: Partial<AlertSettings>;
  /** Credential of this gateway's deployment, from the response to its creation. */
  clientAuth?: string;
  /** Marks of memory and of the event loop beyond which requests are refused with 503. */
  shedding?: Partial<PressureMarks>;
  /** What must be there for `/ready` to answer with 200. Default: nothing. */
  readyRequires?: readonly Requirable[];
  /** Called with warnings for the operator; by default written to the console. */
  warn?: (message: string, error?: unknown) => void;
  /** Called with important log lines; by default written to the console. */
  log?: (line: string) => void;
}

/** Where parts of the log are besides the database. */
export interface LogPlaces {
  spill?: LogSpillOptions;
  /** The database is not asked before `recover`: it may be another one, or its schema older. Default: false. */
  waitsForRecover?: boolean;
  /** The object store for headers and bodies. */
  objects?: S3Settings;
}

/** What a reader of the log needs to search contents. */
export interface LogContentSettings {
  readonly redaction: RedactionSettings;
  /** Days that contents are shown. */
  readonly days: number;
  /** The object store for headers and bodies. */
  readonly objects?: S3Settings;
}

/** Settings of the cache of responses. */
export interface CacheOptions {
  /** Bytes of responses in the memory of a process. Default 128 MiB. */
  memoryBytes: number;
  /** Bytes of responses in the database, where there is no Redis. Default 1 GiB. */
  databaseBytes: number;
  /** Bytes of embeddings of questions in the memory of a process. Default 256 MiB. */
  vectorBytes: number;
}

/** A file in which log rows wait while the database is away. */
export interface LogSpillOptions {
  /** Created if necessary. */
  path: string;
  /** Its largest size. */
  bytes: number;
  /** Longest time a write may take before its rows go to the file, in milliseconds. Default 1,000. */
  patienceMs?: number;
}

/** Where important log lines go. */
export function logOf({ log }: GatewayOptions): NonNullable<GatewayOptions["log"]> {
  return log ?? ((line) => console.log(line));
}

/** Where warnings for the operator go. */
export function warnOf({ warn }: GatewayOptions): NonNullable<GatewayOptions["warn"]> {
  return warn ?? ((message, error) => console.error(message, error ?? ""));
}

/**
 * Days after which parts of the log are removed.
 *
 * @throws {TypeError} If contents outlive their rows, or rows what statistics are computed from.
 */
export function retentionDaysOf(options: GatewayOptions): { rows: number; contents: number; statistics: number } {
  const { logRetentionDays: rows = 30 } = options;
  const { logBodyRetentionDays: contents = rows, rollupRetentionDays: statistics = Math.max(rows, 400) } = options;
  if (contents > rows) {
    throw new TypeError(`Cannot use LOG_BODY_RETENTION_DAYS: it must be at most LOG_RETENTION_DAYS, ${rows}`);
  }
  if (statistics < rows) {
    throw new TypeError(`Cannot use ROLLUP_RETENTION_DAYS: it must be at least LOG_RETENTION_DAYS, ${rows}`);
  }
  return { rows, contents, statistics };
}
