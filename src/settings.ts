import { requireBootstrapKey } from "./auth/api-key.ts";
import { mayHoldScope, normaliseScope } from "./auth/scopes.ts";
import { readConcurrencyLimits } from "./context/concurrency.ts";
import type { GatewayOptions } from "./gateway/options.ts";
import { readBasePath } from "./lib/base-path.ts";
import { createClientAddress } from "./lib/client-address.ts";
import { containerAddress } from "./providers/auth/aws-machine.ts";
import { load } from "./settings/load.ts";
import { mcp } from "./settings/mcp.ts";
import { metrics } from "./settings/metrics.ts";
import { fileStore, logStore } from "./settings/object-stores.ts";
import { outboundProxy } from "./settings/outbound-proxy.ts";
import { type ProcessLogSettings, processLog } from "./settings/process-log.ts";
import { type Environment, flag, flagOn, integer, list, text } from "./settings/read.ts";
import { type TlsFiles, tls } from "./settings/tls.ts";
import { tracing } from "./settings/tracing.ts";

/** The mail server that sends alerts. */
export interface MailSettings {
  host: string;
  port: number;
  /** TLS from the first byte. Otherwise the connection is encrypted by STARTTLS. */
  isImplicitTls: boolean;
  /** Without TLS the connection goes on in clear text: there are no credentials, or the server is on this machine. */
  allowsClearText: boolean;
  login?: { user: string; password: string };
  from: { name: string; address: string };
}

/** Settings of a process, from its environment. */
export interface Settings {
  hostname: string;
  port: number;
  /** Port of MCP, in the modes where it has its own. */
  mcpPort: number;
  /** Port of probes. Undefined: they ask the common one alone. */
  healthPort: number | undefined;
  /** Seconds for running requests when the process shuts down. */
  drainSeconds: number;
  database: string;
  /** File that the master keys are read from. Undefined: the operator set none. */
  masterKeysFile: string | undefined;
  /** Absent: no mail is sent. */
  mail?: MailSettings;
  /** File with facts of models. Undefined: the built-in tables alone hold. */
  modelFactsFile: string | undefined;
  /** File that the configuration comes from. Undefined: the control plane changes it. */
  declaredFile: string | undefined;
  /** Whether the console for browsers is served. */
  hasConsole: boolean;
  /** The file in which log rows wait; beside the database without a path. */
  logSpill: { path: string | undefined; bytes: number };
  /** The snapshot of the database; beside the file for log rows without a path. No hours: no snapshot. */
  snapshot: { path: string | undefined; hours: number };
  /** The journal of limits; beside the database without a path. */
  limitJournalFile: string | undefined;
  processLog: ProcessLogSettings;
  /** Processes that serve; `auto` stands for one on each processor. */
  workers: number | "auto";
  /** Undefined: ports serve HTTP. */
  tls: TlsFiles | undefined;
  gateway: GatewayOptions;
}

function aliases(environment: Environment): string[] {
  return list(environment, "GATEWAY_HEADER_ALIASES").map((alias) => {
    const prefix = alias.toLowerCase();
    if (/^[a-z0-9-]{1,60}-$/.test(prefix)) return prefix;
    throw new TypeError(
      "Cannot use GATEWAY_HEADER_ALIASES: list header prefixes that end in a hyphen, such as x-acme-",
    );
  });
}

function bootstrap(environment: Environment): NonNullable<GatewayOptions["bootstrap"]> {
  const read = (name: string) =>
    // set but empty is a mistake of the operator, not a request for a random key
    environment[name] === undefined ? undefined : requireBootstrapKey(name, environment[name]);
  const adminKey = read("BOOTSTRAP_ADMIN_KEY");
  const workspaceKey = read("BOOTSTRAP_WORKSPACE_KEY");
  if (adminKey !== undefined && adminKey === workspaceKey) {
    throw new TypeError("Cannot use BOOTSTRAP_ADMIN_KEY and BOOTSTRAP_WORKSPACE_KEY: they must differ");
  }
  return { ...(adminKey !== undefined && { adminKey }), ...(workspaceKey !== undefined && { workspaceKey }) };
}

const megabyte = 1024 * 1024;

function limits(environment: Environment): NonNullable<GatewayOptions["limits"]> {
  const json = integer(environment, "MAX_JSON_PAYLOAD_SIZE_IN_MB");
  const held = integer(environment, "MAX_HELD_BODIES_IN_MB");
  const heldPerKey = integer(environment, "MAX_HELD_BODIES_PER_KEY_IN_MB");
  const form = integer(environment, "MAX_FORM_SIZE_IN_MB");
  const upload = integer(environment, "MAX_UPLOAD_SIZE_IN_MB");
  const request = integer(environment, "REQUEST_TIMEOUT");
  const idle = integer(environment, "STREAM_IDLE_TIMEOUT_MS");
  const keepAlive = integer(environment, "STREAM_KEEP_ALIVE_MS");
  const total = integer(environment, "STREAM_TOTAL_TIMEOUT_MS");
  const connect = integer(environment, "REALTIME_CONNECT_TIMEOUT_MS");
  const quiet = integer(environment, "REALTIME_IDLE_TIMEOUT_MS");
  const session = integer(environment, "REALTIME_TOTAL_TIMEOUT_MS");
  return {
    ...(json !== undefined && { jsonBodyBytes: json * megabyte }),
    ...(held !== undefined && { heldBodyBytes: held * megabyte }),
    ...(heldPerKey !== undefined && { heldBodyBytesPerKey: heldPerKey * megabyte }),
    ...(form !== undefined && { formBodyBytes: form * megabyte }),
    ...(upload !== undefined && { streamedBodyBytes: upload * megabyte }),
    ...(request !== undefined && { requestTimeoutMs: request }),
    ...(idle !== undefined && { streamIdleTimeoutMs: idle }),
    ...(keepAlive !== undefined && { streamKeepAliveMs: keepAlive }),
    ...(total !== undefined && { streamTotalTimeoutMs: total }),
    ...(connect !== undefined && { realtimeConnectTimeoutMs: connect }),
    ...(quiet !== undefined && { realtimeIdleTimeoutMs: quiet }),
    ...(session !== undefined && { realtimeTotalTimeoutMs: session }),
  };
}

function concurrency(environment: Environment): NonNullable<GatewayOptions["concurrency"]> {
  const total = integer(environment, "MAX_CONCURRENT_REQUESTS");
  const perWorkspace = integer(environment, "MAX_CONCURRENT_PER_WORKSPACE");
  const perKey = integer(environment, "MAX_CONCURRENT_PER_KEY");
  const limits = {
    ...(total !== undefined && { total }),
    ...(perWorkspace !== undefined && { perWorkspace }),
    ...(perKey !== undefined && { perKey }),
  };
  readConcurrencyLimits(limits); // contradictory limits fail here, at start
  return limits;
}

function waiting(environment: Environment): NonNullable<GatewayOptions["waiting"]> {
  const requests = integer(environment, "MAX_WAITING_REQUESTS");
  const size = integer(environment, "MAX_WAITING_SIZE_IN_MB");
  return { ...(requests !== undefined && { requests }), ...(size !== undefined && { bytes: size * megabyte }) };
}

/** How many requests may run, and how many of them wait. */
function admission(environment: Environment): Pick<GatewayOptions, "concurrency" | "waiting"> {
  return { concurrency: concurrency(environment), waiting: waiting(environment) };
}

/** The server of Redis that all processes share. Its password is in the address, which no message shows. */
function redis(environment: Environment): GatewayOptions["redis"] {
  const timeoutMs = integer(environment, "REDIS_TIMEOUT_MS");
  const url = text(environment, "REDIS_URL");
  if (url === undefined) return undefined;
  const parsed = URL.parse(url);
  if (!parsed || !["redis:", "rediss:"].includes(parsed.protocol) || parsed.hostname === "") {
    throw new TypeError("Cannot use REDIS_URL: it must be an address such as redis://user:password@host:6379");
  }
  return { url, ...(timeoutMs !== undefined && { timeoutMs }) };
}

function files(environment: Environment): NonNullable<GatewayOptions["files"]> {
  const file = integer(environment, "MAX_FILE_SIZE_IN_MB");
  const workspace = integer(environment, "MAX_WORKSPACE_FILES_IN_MB");
  const store = fileStore(environment);
  return {
    ...(file !== undefined && { fileBytes: file * megabyte }),
    ...(workspace !== undefined && { workspaceBytes: workspace * megabyte }),
    ...(store && { s3: store }),
  };
}

function batches(environment: Environment): NonNullable<GatewayOptions["batches"]> {
  const pauseMs = integer(environment, "BATCH_PAUSE_MS");
  const atOnce = integer(environment, "BATCHES_AT_ONCE");
  const statusCheckMs = integer(environment, "BATCH_STATUS_CHECK_INTERVAL");
  return {
    ...(pauseMs !== undefined && { pauseMs }),
    ...(atOnce !== undefined && { atOnce }),
    ...(statusCheckMs !== undefined && { statusCheckMs }),
  };
}

/** The operator's webhook for alerts. */
function alertWebhook(environment: Environment): NonNullable<GatewayOptions["alerts"]> {
  const url = text(environment, "ALERT_WEBHOOK_URL");
  const secret = text(environment, "ALERT_WEBHOOK_SECRET");
  if (url === undefined) {
    if (secret === undefined) return {};
    throw new TypeError("Cannot use ALERT_WEBHOOK_SECRET: ALERT_WEBHOOK_URL must be set too");
  }
  if (!/^https?:\/\/[^/?#@\s]+(?:[/?][^#\s]*)?$/.test(url) || !URL.canParse(url)) {
    throw new TypeError("Cannot use ALERT_WEBHOOK_URL: it must be an address such as https://hooks.example.com/alerts");
  }
  return { webhook: { url, secret } };
}

const loopbackHost = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|::1)$/i;

/** The mail server of an address such as `smtp://user:password@mail.example.com:587`. */
function readMailServer(address: string): Omit<MailSettings, "from"> {
  const form = /^smtps?:\/\/(?:[^/?#@\s]*@)?(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?\/?$/;
  const url = form.test(address) ? URL.parse(address) : null;
  if (!url) {
    throw new TypeError(
      "Cannot use SMTP_URL: it must be an address such as smtp://user:password@mail.example.com:587, without a path",
    );
  }
  const isImplicitTls = url.protocol === "smtps:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const hasLogin = url.username !== "";
  const server = {
    host,
    port: url.port === "" ? (isImplicitTls ? 465 : 587) : Number(url.port),
    isImplicitTls,
    allowsClearText: !hasLogin || loopbackHost.test(host),
  };
  if (!hasLogin) return server;
  try {
    const login = { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
    return { ...server, login };
  } catch {
    throw new TypeError("Cannot use SMTP_URL: % in the user or the password must be written as %25");
  }
}

/** A sender: an address, or a name and an address. */
function readSender(value: string): MailSettings["from"] {
  const {
    name = "",
    named,
    plain,
  } = /^(?:(?<name>[^<>"\r\n]{1,100}?) *<(?<named>[^<>]+)>|(?<plain>\S+))$/.exec(value)?.groups ?? {};
  const address = named ?? plain ?? "";
  if (/^[^\s@,;<>"()]+@[^\s@,;<>"()]+$/.test(address)) return { name, address };
  throw new TypeError(
    "Cannot use ALERT_EMAIL_FROM: it must be an e-mail address, or a name and an address as in Gateway <gateway@example.com>",
  );
}

/** The cache of responses. */
function cache(environment: Environment): NonNullable<GatewayOptions["cache"]> {
  const memory = integer(environment, "CACHE_MEMORY_MB");
  const database = integer(environment, "CACHE_DATABASE_MB");
  const vectors = integer(environment, "SEMANTIC_CACHE_MEMORY_MB");
  return {
    ...(memory !== undefined && { memoryBytes: memory * megabyte }),
    ...(database !== undefined && { databaseBytes: database * megabyte }),
    ...(vectors !== undefined && { vectorBytes: vectors * megabyte }),
  };
}

/** A number from 0 to 1. */
function fraction(environment: Environment, name: string): number | undefined {
  const value = text(environment, name);
  if (value === undefined || /^(?:0?\.[0-9]{1,9}|[01](?:\.0{1,9})?)$/.test(value))
    return value === undefined ? undefined : Number(value);
  throw new TypeError(`Cannot use ${name}: it must be a number from 0 to 1`);
}

/** What makes embeddings for semantic caches. */
function semanticCache(environment: Environment): NonNullable<GatewayOptions["semanticCache"]> {
  return {
    provider: text(environment, "SEMANTIC_CACHE_PROVIDER"),
    model: text(environment, "SEMANTIC_CACHE_MODEL"),
    dimensions: integer(environment, "SEMANTIC_CACHE_DIMENSIONS"),
    threshold: fraction(environment, "SEMANTIC_CACHE_SIMILARITY_THRESHOLD"),
  };
}

/** What the gateway stores itself, besides the log. */
function stored(environment: Environment): Pick<GatewayOptions, "files" | "batches" | "cache" | "semanticCache"> {
  return {
    files: files(environment),
    batches: batches(environment),
    cache: cache(environment),
    semanticCache: semanticCache(environment),
  };
}

/** How alerts are mailed: both settings or none. */
function mail(environment: Environment): MailSettings | undefined {
  const server = text(environment, "SMTP_URL");
  const sender = text(environment, "ALERT_EMAIL_FROM");
  if (server === undefined && sender === undefined) return undefined;
  if (server === undefined) throw new TypeError("Cannot use ALERT_EMAIL_FROM: SMTP_URL must be set too");
  if (sender === undefined) throw new TypeError("Cannot use SMTP_URL: ALERT_EMAIL_FROM must be set too");
  return { ...readMailServer(server), from: readSender(sender) };
}

/** The file in which log rows wait while the database is away; its size in bytes, 0 for none. */
function logSpill(environment: Environment): { path: string | undefined; bytes: number } {
  const bytes = integer(environment, "LOG_SPILL_BYTES") ?? 256 * megabyte;
  if (bytes > 0 && bytes < megabyte) {
    throw new TypeError(`Cannot use LOG_SPILL_BYTES: it must be 0 or at least ${megabyte}`);
  }
  return { path: text(environment, "LOG_SPILL_FILE"), bytes };
}

/** Files beside the database. */
function ownFiles(environment: Environment): Pick<Settings, "logSpill" | "snapshot" | "limitJournalFile"> {
  const hours = integer(environment, "SNAPSHOT_MAX_AGE_HOURS") ?? 24;
  return {
    logSpill: logSpill(environment),
    snapshot: { path: text(environment, "SNAPSHOT_FILE"), hours },
    limitJournalFile: text(environment, "LIMITS_JOURNAL_FILE"),
  };
}

/** How long parts of the log are stored, and where. */
function logParts(environment: Environment): GatewayOptions {
  const retention = integer(environment, "LOG_RETENTION_DAYS");
  const bodies = integer(environment, "LOG_BODY_RETENTION_DAYS");
  const rollups = integer(environment, "ROLLUP_RETENTION_DAYS");
  const contents = logStore(environment);
  return {
    ...(retention !== undefined && { logRetentionDays: retention }),
    ...(bodies !== undefined && { logBodyRetentionDays: bodies }),
    ...(rollups !== undefined && { rollupRetentionDays: rollups }),
    ...(contents && { logObjects: contents }),
  };
}

/** Web origins in the form browsers send (RFC 6454, section 6.2). */
function origins(environment: Environment, name: string): string[] {
  return list(environment, name).map((item) => {
    const origin = URL.parse(item)?.origin;
    if (origin !== undefined && origin !== "null" && origin === item.toLowerCase()) return origin;
    throw new TypeError(`Cannot use ${name}: list origins without a path, such as https://app.example.com`);
  });
}

function tokens(environment: Environment): NonNullable<GatewayOptions["tokens"]> {
  const skew = integer(environment, "JWT_CLOCK_SKEW_SECONDS");
  const organisations = organisationIds(environment, "ORGANISATIONS_TO_SYNC");
  const defaultScopes = list(environment, "JWT_LOCAL_AUTH_DEFAULT_SCOPES").map(normaliseScope);
  const unknown = defaultScopes.find((scope) => !mayHoldScope("token", scope));
  if (unknown !== undefined) {
    throw new TypeError(`Cannot use JWT_LOCAL_AUTH_DEFAULT_SCOPES: no token may have the scope ${unknown}`);
  }
  return {
    enabled: flagOn(environment, "JWT_ENABLED"),
    ...(skew !== undefined && { clockSkewSeconds: skew }),
    organisations,
    defaultScopes,
  };
}

/** Ids of organisations. */
function organisationIds(environment: Environment, name: string): string[] {
  const ids = list(environment, name).map((id) => id.toLowerCase());
  if (ids.every((id) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))) return ids;
  throw new TypeError(`Cannot use ${name}: list ids of organisations, separated by commas`);
}

/** What stands before the gateway. */
function proxies(environment: Environment): Required<Pick<GatewayOptions, "trustedProxies" | "basePath">> {
  const trustedProxies = list(environment, "TRUSTED_PROXIES");
  createClientAddress(trustedProxies); // an invalid value fails here, at start
  const basePath = readBasePath(text(environment, "BASE_PATH") ?? "");
  if (basePath !== undefined) return { trustedProxies, basePath };
  throw new TypeError("Cannot use BASE_PATH: it must be a path of letters, digits and `-._~`, such as /gateway");
}

/** Variables by which cloud platforms identify a process. */
function cloudEnvironment(environment: Environment): Record<string, string | undefined> {
  for (const name of ["AWS_EC2_METADATA", "AZURE_INSTANCE_METADATA"]) flag(environment, name);
  containerAddress(environment);
  const names = /^(?:AWS_|AZURE_|GCP_WIF_|GCP_AUTH_MODE$|IDENTITY_(?:ENDPOINT|HEADER)$)/;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => names.test(name)));
}

/** Limits of configs; anything but a positive integer counts as unset. */
function targetLimits(environment: Environment): NonNullable<GatewayOptions["targetLimits"]> {
  const read = (name: string) => {
    const value = text(environment, name) ?? "";
    return /^[1-9][0-9]{0,5}$/.test(value) ? Number(value) : undefined;
  };
  const root = read("MAX_ROOT_CONFIG_TARGETS");
  const conditional = read("MAX_CONDITIONAL_ROOT_CONFIG_TARGETS");
  const nested = read("MAX_NESTED_CONFIG_TARGETS");
  return {
    ...(root !== undefined && { root }),
    ...(conditional !== undefined && { conditional }),
    ...(nested !== undefined && { nested }),
  };
}

function keyPrefix(environment: Environment): string | undefined {
  const prefix = text(environment, "API_KEY_PREFIX");
  if (prefix === undefined || /^[A-Za-z0-9-]{1,16}$/.test(prefix)) return prefix;
  throw new TypeError("Cannot use API_KEY_PREFIX: it must be 1 to 16 letters, digits or hyphens");
}

/** Whether `traceparent` goes upstream as it came. */
function forwardsTraceparent(environment: Environment): boolean {
  const value = text(environment, "FORWARD_TRACEPARENT");
  if (value === undefined || value === "child" || value === "unchanged") return value === "unchanged";
  throw new TypeError("Cannot use FORWARD_TRACEPARENT: it must be child or unchanged");
}

/** Options that are on or off, and the model of guardrails. */
function switches(environment: Environment) {
  return {
    serverTiming: flag(environment, "SERVER_TIMING"),
    forwardsTraceparent: forwardsTraceparent(environment),
    strictLimits: flag(environment, "LIMITS_STRICT"),
    savedOnly: flag(environment, "BLOCK_INLINE_CONFIG"),
    guardrailModel: { provider: text(environment, "GUARDRAIL_PROVIDER"), model: text(environment, "GUARDRAIL_MODEL") },
  };
}

/** How many processes serve. */
function workers(environment: Environment): number | "auto" {
  if (text(environment, "WORKERS")?.toLowerCase() === "auto") return "auto";
  return integer(environment, "WORKERS") ?? 1;
}

/** Beginnings of the addresses of databases. */
const databaseSchemes = /^(?::memory:$|file:|libsql:\/\/|https?:\/\/|wss?:\/\/)/;

/** The database. @throws {TypeError} If it is of another kind. The value is not shown: it may have a password. */
function databaseUrl(environment: Environment): string {
  const url = text(environment, "DATABASE_URL") ?? "file:data/gateway.db";
  if (databaseSchemes.test(url)) return url;
  const [, scheme] = /^([a-z][a-z0-9+.-]*):/i.exec(url) ?? [];
  const problem = scheme === undefined ? "it is not a URL" : `${scheme} is not supported`;
  throw new TypeError(
    `Cannot use DATABASE_URL: ${problem}; use a file, as in file:data/gateway.db, or :memory:, libsql://, https:// or http://`,
  );
}

/**
 * Settings from an environment record. Pure: reads no file.
 *
 * @throws {TypeError} Naming the invalid variable.
 */
export function readSettings(environment: Environment): Settings {
  const database = databaseUrl(environment);
  outboundProxy(environment); // the transport reads it; an invalid value fails here, at start
  const file = text(environment, "GATEWAY_MASTER_KEYS_FILE");
  const masterKeys = text(environment, "GATEWAY_MASTER_KEYS");
  const authToken = text(environment, "DATABASE_AUTH_TOKEN");
  const clientAuth = text(environment, "GATEWAY_CLIENT_AUTH");
  const prefix = keyPrefix(environment);
  const responses = integer(environment, "RESPONSES_RETENTION_DAYS");
  const shared = redis(environment);
  const identity = organisationIds(environment, "CLOUD_IDENTITY_ORGANISATIONS");
  const failures = integer(environment, "AUTH_FAILURES_PER_MINUTE");
  const mailed = mail(environment);
  const traced = tracing(environment);
  const hostname = text(environment, "HOST") ?? "127.0.0.1";
  return {
    hostname,
    mcpPort: integer(environment, "MCP_PORT") ?? 8788,
    healthPort: integer(environment, "HEALTH_PORT"),
    port: integer(environment, "PORT") ?? 8787,
    drainSeconds: integer(environment, "DRAIN_SECONDS") ?? 30,
    database,
    masterKeysFile: file,
    modelFactsFile: text(environment, "MODEL_FACTS_FILE"),
    declaredFile: text(environment, "GATEWAY_FILE"),
    ...(mailed && { mail: mailed }),
    hasConsole: flagOn(environment, "CONSOLE"),
    ...ownFiles(environment),
    processLog: processLog(environment),
    workers: workers(environment),
    tls: tls(environment),
    gateway: {
      database,
      ...(authToken !== undefined && { databaseAuthToken: authToken }),
      ...(shared && { redis: shared }),
      ...(masterKeys !== undefined && { masterKeys }),
      ...(clientAuth !== undefined && { clientAuth }),
      ...(prefix !== undefined && { keyPrefix: prefix }),
      ...logParts(environment),
      ...(responses !== undefined && { responseRetentionDays: responses }),
      ...(failures !== undefined && { authFailuresPerMinute: failures }),
      bootstrap: bootstrap(environment),
      tokens: tokens(environment),
      ...proxies(environment),
      trustedHosts: list(environment, "TRUSTED_CUSTOM_HOSTS"),
      headerAliases: aliases(environment),
      sensitiveHeaders: list(environment, "ORGANISATION_HEADERS_TO_MASK").map((name) => name.toLowerCase()),
      realtimeOrigins: origins(environment, "REALTIME_ORIGINS"),
      pageOrigins: origins(environment, "CORS_ORIGINS"),
      cloudEnvironment: cloudEnvironment(environment),
      ...(identity.length > 0 && { identityOrganisations: identity }),
      ...switches(environment),
      targetLimits: targetLimits(environment),
      limits: limits(environment),
      ...admission(environment),
      ...load(environment),
      ...stored(environment),
      alerts: alertWebhook(environment),
      metrics: metrics(environment),
      ...mcp(environment, hostname),
      ...(traced && { otlp: traced }),
    },
  };
}
