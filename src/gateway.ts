import { logEndpoints } from "./admin/logs.ts";
import { systemEndpoints } from "./admin/system.ts";
import { defaultKeyPrefix } from "./auth/api-key.ts";
import { createAuthenticator } from "./auth/authenticate.ts";
import { type FirstKeys, type Installation, openInstallation } from "./auth/first-start.ts";
import { createMasterKeyText, readMasterKeys } from "./auth/master-keys.ts";
import type { ConnectionInfo, Limits, RunningStream, Services } from "./context.ts";
import { type Database, type DatabaseLocation, isRefusedStatement, openDatabase } from "./db/client.ts";
import { migrate } from "./db/migrate.ts";
import { createApiKeyStore } from "./db/stores/api-keys.ts";
import { createInstallationStore } from "./db/stores/installation.ts";
import { createLogStore, type LogStore, type TextCodec, toBatches } from "./db/stores/logs.ts";
import type { Endpoint } from "./endpoint.ts";
import { toErrorReply, UnavailableError } from "./errors.ts";
import { createHandle, type Handle, withFixedHeaders } from "./handler.ts";
import { inferenceEndpoints, passthroughEndpoints } from "./inference/endpoints.ts";
import { createAddressGuard } from "./lib/address.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import { type MacFactory, webMac } from "./lib/hash.ts";
import { createHeaderRules } from "./lib/headers.ts";
import { createIdFactory } from "./lib/ids.ts";
import { createOutbound, type Transport, webTransport } from "./lib/outbound.ts";
import { toResponse } from "./lib/reply.ts";
import { createTimers } from "./lib/timers.ts";
import { createLogQueue } from "./logs/queue.ts";
import { describeLoss } from "./logs/record.ts";
import { createRedactor, type RedactionSettings } from "./logs/redact.ts";
import { createLogWriter, type LogWriter } from "./logs/writer.ts";
import { createOpenapiEndpoint } from "./openapi.ts";
import { createProviderRegistry } from "./providers/registry.ts";
import type { Provider } from "./providers/types.ts";

/** What a gateway is made from. Everything has a default but the transport of hosts without a global `fetch`. */
export interface GatewayOptions {
  /** `file:`, `:memory:`, `libsql://` or `http(s)://`. Default `:memory:`. */
  database?: string;
  databaseAuthToken?: string;
  /** `v2:<base64url of 32 bytes>,v1:<…>`; needed by every database that outlives the process. */
  masterKeys?: string;
  /** Keys of the first start, instead of random ones. */
  bootstrap?: { adminKey?: string; workspaceKey?: string };
  /** Providers besides the built-in ones. */
  providers?: readonly Provider[];
  /** Hosts that may be private; see `docs/configuration.md`. */
  trustedHosts?: readonly string[];
  /** Sends requests; by default the global `fetch`, without address checks after name resolution. */
  transport?: Transport;
  /** Synchronous digests, where the host has them. */
  createMac?: MacFactory;
  /** Writes log rows of a database in a file elsewhere than on the request loop. */
  createLogWriter?: (location: DatabaseLocation, redaction: RedactionSettings) => LogWriter;
  /** Makes logged bodies small; without it they are stored as they are, and compressed ones cannot be read. */
  logCodec?: TextCodec;
  clock?: Clock;
  limits?: Partial<Limits>;
  keyPrefix?: string;
  headerAliases?: readonly string[];
  /** Lower-case header names whose values are never stored. */
  sensitiveHeaders?: readonly string[];
  logRetentionDays?: number;
  authFailuresPerMinute?: number;
  serverTiming?: boolean;
  /** Told what an operator should know; by default written to the console. */
  warn?: (message: string, error?: unknown) => void;
}

/** A gateway. */
export interface Gateway {
  /** Answers one request. Never rejects. */
  fetch(request: Request, connection?: ConnectionInfo): Promise<Response>;
  /**
   * Opens the database and gets ready to serve; the first request does it too.
   *
   * @returns The keys of the first start, once; undefined in a database that was used before.
   * @throws If the database or the settings cannot be used.
   */
  start(): Promise<FirstKeys | undefined>;
  /** Stops being ready, waits for running requests, then ends what still runs. Milliseconds. */
  drain(timeoutMs: number): Promise<void>;
  /** Stores what is still buffered. Call once, after the last request. */
  close(): Promise<void>;
}

const defaultLimits: Limits = {
  jsonBodyBytes: 25 * 1024 * 1024,
  streamedBodyBytes: 512 * 1024 * 1024,
  requestTimeoutMs: 300_000,
  streamIdleTimeoutMs: 120_000,
  streamTotalTimeoutMs: 30 * 60_000,
};

/** Who is told what an operator should know. */
function warnOf({ warn }: GatewayOptions): NonNullable<GatewayOptions["warn"]> {
  return warn ?? ((message, error) => console.error(message, error ?? ""));
}

/** Parts that exist once the database is open. */
interface RunningGateway {
  database: Database;
  /** Stores every row of requests that are over. */
  closeQueue(): Promise<void>;
  writer: LogWriter;
  services: Services;
  handle: Handle;
  firstKeys: FirstKeys | undefined;
  stopTimers(): void;
}

function requireMasterKeys(options: GatewayOptions, location: string) {
  if (options.masterKeys !== undefined) return readMasterKeys(options.masterKeys);
  if (location === ":memory:") return readMasterKeys(createMasterKeyText());
  throw new TypeError("Cannot open a lasting database without master keys: set masterKeys (GATEWAY_MASTER_KEYS)");
}

async function openData(
  options: GatewayOptions,
  clock: Clock,
): Promise<{ database: Database; installation: Installation }> {
  const url = options.database ?? ":memory:";
  const masterKeys = requireMasterKeys(options, url);
  const authToken = options.databaseAuthToken;
  const database = await openDatabase({ url, ...(authToken !== undefined && { authToken }) });
  try {
    await migrate(database);
    const installation = await openInstallation({
      store: createInstallationStore(database),
      masterKeys,
      createMac: options.createMac ?? webMac,
      keyPrefix: options.keyPrefix ?? defaultKeyPrefix,
      now: clock.now(),
      bootstrap: options.bootstrap ?? {},
    });
    return { database, installation };
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** How often old log rows are looked for, and how many go at once. */
const purgeEveryMs = 60_000;
const purgeBatches = 16;

function startTimers(
  { services, writer }: Pick<RunningGateway, "services" | "writer">,
  options: GatewayOptions,
): () => void {
  const warn = warnOf(options);
  const streams = setInterval(() => {
    if (services.streams.size === 0) return;
    const now = services.clock.monotonic();
    for (const stream of [...services.streams]) stream.tick(now);
  }, 1_000);
  const keepMs = (options.logRetentionDays ?? 30) * 86_400_000;
  const purgeOld = async () => {
    const time = services.clock.now() - keepMs;
    while ((await writer.purge(time, purgeBatches)) === purgeBatches);
  };
  const purge = setInterval(() => {
    purgeOld().catch((error) => warn("Cannot remove old log rows", error));
  }, purgeEveryMs);
  return () => {
    clearInterval(streams);
    clearInterval(purge);
    services.timers.close();
  };
}

/** All rows, in the order they are tried. */
function listEndpoints(): Endpoint[] {
  const rows = [...inferenceEndpoints, ...systemEndpoints, ...logEndpoints];
  return [...rows, createOpenapiEndpoint([...rows, ...passthroughEndpoints]), ...passthroughEndpoints];
}

/** The writer the host offers for files, else one that shares the gateway's connection. */
function createWriter(options: GatewayOptions, store: LogStore, key: RedactionSettings["key"]): LogWriter {
  const redaction: RedactionSettings = {
    key,
    keyPrefix: options.keyPrefix ?? defaultKeyPrefix,
    sensitiveNames: options.sensitiveHeaders ?? [],
    aliasPrefixes: options.headerAliases ?? [],
  };
  const url = options.database ?? ":memory:";
  if (options.createLogWriter && url.startsWith("file:")) return options.createLogWriter({ url }, redaction);
  const mac = (options.createMac ?? webMac)(key);
  const append = (entries: Parameters<typeof toBatches>[0]) => store.append(toBatches(entries));
  return createLogWriter({ append, purge: store.purge }, createRedactor({ ...redaction, mac }));
}

function createServices(
  options: GatewayOptions,
  parts: { clock: Clock; database: Database; installation: Installation; isReady(): boolean },
): Pick<RunningGateway, "services" | "closeQueue" | "writer"> {
  const { clock, database, installation } = parts;
  const warn = warnOf(options);
  const createMac = options.createMac ?? webMac;
  const keyPrefix = options.keyPrefix ?? defaultKeyPrefix;
  const headerPrefixes = ["x-gateway-", ...(options.headerAliases ?? [])];
  const createId = createIdFactory(clock.now);
  const logStore = createLogStore(database, options.logCodec);
  const writer = createWriter(options, logStore, installation.keys.logHash);
  const guard = createAddressGuard({ trustedHosts: options.trustedHosts ?? [], warn: (message) => warn(message) });
  const queue = createLogQueue({
    store: (records) => writer.append(records),
    batchBytes: writer.batchBytes,
    describeLoss: (sample, rows) => describeLoss(sample, rows, createId()),
    isPermanent: isRefusedStatement,
    warn,
  });
  const services: Services = {
    ...{ clock, createId, logStore, addressGuard: guard, isReady: parts.isReady, timers: createTimers() },
    limits: { ...defaultLimits, ...options.limits },
    providers: createProviderRegistry(options.providers),
    outbound: createOutbound({ transport: options.transport ?? webTransport, guard }),
    authenticator: createAuthenticator({
      ...{ clock, keyPrefix, store: createApiKeyStore(database), pepper: installation.keys.pepper },
      mac: createMac(installation.keys.pepper),
      failuresPerMinute: options.authFailuresPerMinute ?? 300,
    }),
    record: queue.add,
    stateMac: createMac(installation.keys.state),
    headerPrefixes,
    headerRules: createHeaderRules(headerPrefixes),
    serverTiming: options.serverTiming ?? false,
    streams: new Set<RunningStream>(),
  };
  return { services, closeQueue: queue.close, writer };
}

/** Counts what runs, so that a drain knows when nothing does. */
function createActivity() {
  let running = 0;
  let idle: (() => void) | undefined;
  return {
    begin: () => void running++,
    end() {
      if (--running === 0) idle?.();
    },
    /** Resolves when nothing runs, or after the time. */
    async settle(isIdle: () => boolean, timeoutMs: number): Promise<void> {
      const deadline = performance.now() + timeoutMs;
      while ((running > 0 || !isIdle()) && performance.now() < deadline) {
        await new Promise<void>((resolve) => {
          idle = resolve;
          setTimeout(resolve, 50);
        });
      }
    },
  };
}

const unknownConnection: ConnectionInfo = {};

/**
 * Creates a gateway. Nothing is opened before `start` or the first request.
 *
 * @throws {TypeError} When started with settings that cannot be used.
 */
export function createGateway(options: GatewayOptions = {}): Gateway {
  const clock = options.clock ?? systemClock;
  const activity = createActivity();
  let draining = false;
  let running: RunningGateway | undefined;
  let starting: Promise<RunningGateway> | undefined;

  const open = async (): Promise<RunningGateway> => {
    const { database, installation } = await openData(options, clock);
    const isReady = () => running !== undefined && !draining;
    const { services, closeQueue, writer } = createServices(options, { clock, database, installation, isReady });
    const stopTimers = startTimers({ services, writer }, options);
    const handle = createHandle(listEndpoints(), services);
    running = { database, closeQueue, writer, services, handle, stopTimers, firstKeys: installation.firstKeys };
    return running;
  };
  const ensureRunning = (): Promise<RunningGateway> => {
    if (starting) return starting;
    const attempt = open();
    starting = attempt;
    // a start that failed is tried again by the next request
    attempt.catch(() => {
      if (starting === attempt) starting = undefined;
    });
    return attempt;
  };
  const answer = async (request: Request, connection: ConnectionInfo): Promise<Response> => {
    activity.begin();
    try {
      const { handle } = running ?? (await ensureRunning());
      return await handle(request, connection);
    } catch (cause) {
      const message = "Cannot serve: the database cannot be opened";
      const error = new UnavailableError(message, { cause, code: "not_ready", retryAfterSeconds: 1 });
      return toResponse(withFixedHeaders(toErrorReply(error), { id: crypto.randomUUID() }));
    } finally {
      activity.end();
    }
  };

  return {
    fetch: (request, connection = unknownConnection) => answer(request, connection),
    start: async () => (await ensureRunning()).firstKeys,
    async drain(timeoutMs) {
      draining = true;
      const streams = running?.services.streams;
      await activity.settle(() => (streams?.size ?? 0) === 0, timeoutMs);
      for (const stream of [...(streams ?? [])]) stream.end();
      await activity.settle(() => (streams?.size ?? 0) === 0, 1_000);
    },
    async close() {
      draining = true;
      const open = await starting?.catch(() => undefined);
      if (!open) return;
      open.stopTimers();
      await open.closeQueue();
      await open.writer.close();
      await open.database.close();
    },
  };
}
