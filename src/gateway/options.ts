import type { ConcurrencyLimits } from "../context/concurrency.ts";
import type { Limits } from "../context.ts";
import type { S3Settings } from "../control/files/pieces.ts";
import type { FileLimits } from "../control/files/storage.ts";
import type { TokenSettings } from "../control/tokens.ts";
import type { DatabaseLocation } from "../db/client.ts";
import type { TextCodec } from "../db/stores/logs.ts";
import type { BatchRunnerSettings } from "../inference/batches/runner.ts";
import type { Clock } from "../lib/clock.ts";
import type { MacFactory } from "../lib/hash.ts";
import type { Transport } from "../lib/outbound.ts";
import type { RedactionSettings } from "../logs/redact.ts";
import type { LogWriter } from "../logs/writer.ts";
import type { Provider } from "../providers/core/types.ts";
import type { TargetLimits } from "../routing/config.ts";

/** What a gateway is made from. Everything has a default but the transport of hosts without a global `fetch`. */
export interface GatewayOptions {
  /** `file:`, `:memory:`, `libsql://` or `http(s)://`. Default `:memory:`. */
  database?: string;
  databaseAuthToken?: string;
  /** `v2:<base64url of 32 bytes>,v1:<…>`; needed by every database that outlives the process. */
  masterKeys?: string;
  /** Reads the master keys again, where they can change while the gateway runs; undefined when there are none to read. */
  readMasterKeys?: () => string | undefined;
  /** Keys of the first start, instead of random ones. */
  bootstrap?: { adminKey?: string; workspaceKey?: string };
  /** Providers besides the built-in ones. */
  providers?: readonly Provider[];
  /** Hosts that may be private; see `docs/configuration.md`. */
  trustedHosts?: readonly string[];
  /** Addresses and ranges of the operator's own proxies, whose `x-forwarded-for` tells who the client is. */
  trustedProxies?: readonly string[];
  /** Sends requests. Default: what the runtime has; where it has no sockets the global `fetch`, without address checks after name resolution. */
  transport?: Transport;
  /** Synchronous digests, where the host has them. */
  createMac?: MacFactory;
  /** Writes log rows of a database in a file elsewhere than on the request loop. */
  createLogWriter?: (location: DatabaseLocation, redaction: RedactionSettings) => LogWriter;
  /** Makes logged bodies small; without it they are stored as they are, and compressed ones cannot be read. */
  logCodec?: TextCodec;
  clock?: Clock;
  limits?: Partial<Limits>;
  /** Most requests at once. */
  concurrency?: Partial<ConcurrencyLimits>;
  /** Files the gateway keeps, and where; by default in the database. */
  files?: Partial<FileLimits> & { s3?: S3Settings };
  /** How the gateway runs batches. */
  batches?: Partial<BatchRunnerSettings>;
  keyPrefix?: string;
  headerAliases?: readonly string[];
  /** Lower-case header names whose values are never stored. */
  sensitiveHeaders?: readonly string[];
  logRetentionDays?: number;
  /** Longest a log row waits for others to be written with, in milliseconds. Default 250. */
  logFlushMs?: number;
  /** Days responses are kept whose provider keeps none. Default 30. */
  responseRetentionDays?: number;
  authFailuresPerMinute?: number;
  /** Tokens of identity providers. */
  tokens?: TokenSettings;
  serverTiming?: boolean;
  /** Web origins whose pages may open realtime sessions, such as `https://app.example.com`. Default: none. */
  realtimeOrigins?: readonly string[];
  /** Most targets of a config. */
  targetLimits?: Partial<TargetLimits>;
  /** The operator's own identity in clouds: the variables clouds name, such as `AWS_ROLE_ARN`. */
  cloudEnvironment?: Readonly<Record<string, string | undefined>>;
  /** Ids of organisations that may act as the operator in clouds. Default: the first organisation. */
  identityOrganisations?: readonly string[];
  /** Reads a small file the cloud environment names. */
  readFile?: (path: string) => Promise<string>;
  /** Only saved configs and stored providers may be named. */
  savedOnly?: boolean;
  /** Numbers in [0, 1) for routing. */
  random?: () => number;
  /** Credential of the deployment this gateway is, as its creation answered it. */
  clientAuth?: string;
  /** Told what an operator should know; by default written to the console. */
  warn?: (message: string, error?: unknown) => void;
  /** Told lines of the process log that are worth keeping; by default written to the console. */
  log?: (line: string) => void;
}

/** Who is told what an operator should know. */
export function warnOf({ warn }: GatewayOptions): NonNullable<GatewayOptions["warn"]> {
  return warn ?? ((message, error) => console.error(message, error ?? ""));
}
