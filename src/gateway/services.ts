import { defaultKeyPrefix } from "../auth/api-key.ts";
import { readConcurrencyLimits } from "../context/concurrency.ts";
import { Hops } from "../context/hops.ts";
import type { Limits, RunningCall, RunningStream, Services } from "../context.ts";
import { createS3Pieces } from "../control/files/pieces.ts";
import { createFileStorage } from "../control/files/storage.ts";
import { createLogExportWork } from "../control/log-exports.ts";
import { createObjectStore } from "../control/object-store.ts";
import { sealStored } from "../control/seal-stored.ts";
import type { ContentRules } from "../control/sealed-contents.ts";
import type { Vault } from "../control/vault.ts";
import { VectorStores } from "../control/vector-stores/vector-stores.ts";
import { createVerdictFeedback } from "../control/verdict-feedback.ts";
import { createWokenWork } from "../control/woken-work.ts";
import { isRefusedStatement } from "../db/client.ts";
import { createBatchStore } from "../db/stores/batches.ts";
import { createContentSealingStore } from "../db/stores/content-sealing.ts";
import { EvalRunStore } from "../db/stores/eval-runs.ts";
import { createFeedbackStore } from "../db/stores/feedback.ts";
import { createLogExportStore } from "../db/stores/log-exports.ts";
import { createIndexStores } from "../db/stores/log-index.ts";
import { createLogSegmentStore } from "../db/stores/log-segments.ts";
import { createLogTailStore } from "../db/stores/log-tail.ts";
import { createLogStore, type LogStore } from "../db/stores/logs.ts";
import { VectorStoreStore } from "../db/stores/vector-stores.ts";
import type { Guardrails } from "../guardrails/state.ts";
import { formBytes } from "../inference/files/upload.ts";
import { createAddressGuard } from "../lib/address.ts";
import { toBase64Url } from "../lib/base64.ts";
import { ByteBudget } from "../lib/byte-budget.ts";
import { createClientAddress, createProxyTest } from "../lib/client-address.ts";
import type { Clock } from "../lib/clock.ts";
import { gzipCoding } from "../lib/content-coding.ts";
import { deriveKey, webMac } from "../lib/hash.ts";
import { createHeaderRules } from "../lib/headers.ts";
import { createIdFactory, firstIdOf } from "../lib/ids.ts";
import { createOutbound, createSocketOutbound, type Outbound, webTransport } from "../lib/outbound.ts";
import { dayMs } from "../lib/periods.ts";
import { Tally } from "../lib/tally.ts";
import { createTimers } from "../lib/timers.ts";
import { countTokens, withBoundedWaiting } from "../lib/token-count.ts";
import { LogTail } from "../logs/follow/log-tail.ts";
import { readTailPage, type TailReader } from "../logs/follow/page.ts";
import { createHandedLog, RefusedRowsError } from "../logs/handed/handed-log.ts";
import { createIndexedLog } from "../logs/index/indexed-log.ts";
import { LimitJournal, replayJournals } from "../logs/journal.ts";
import { createLateHookQueue, type LateHookQueue } from "../logs/late-hooks.ts";
import { createLogQueue, defaultWaitingLimits, type LogQueue } from "../logs/queue.ts";
import { describeLoss } from "../logs/record.ts";
import { createRedactor, type RedactionSettings, type Redactor } from "../logs/redact.ts";
import type { WaitingLimits } from "../logs/waiting-rows.ts";
import { createLogWriter, type LogWriter } from "../logs/writer.ts";
import { startMetricsPush } from "../observability/push.ts";
import type { TelemetrySettings } from "../observability/telemetry.ts";
import { createProviderRegistry, type ProviderRegistry } from "../providers/registry.ts";
import { defaultTargetLimits } from "../routing/config.ts";
import { createRoutingState } from "../routing/state.ts";
import { createAuthTools, readFirstOrganisation } from "./auth-tools.ts";
import { createMeasureExchange } from "./balancing.ts";
import { createReused } from "./cache.ts";
import { publishOf } from "./crew.ts";
import { locationOf, type OpenData } from "./data.ts";
import { createEnds } from "./ends.ts";
import { createOwnGuardrails } from "./guardrails.ts";
import { createIdentity } from "./identity.ts";
import { createLimits } from "./limit-store.ts";
import { createLoad } from "./load.ts";
import { createReader } from "./log-reader.ts";
import { createMcp } from "./mcp.ts";
import { createMetrics, requestMetricsOf } from "./metrics.ts";
import { type GatewayOptions, retentionDaysOf, warnOf } from "./options.ts";
import { secretHeaders, secretMembers, toContentRules, toKnownProviders, toProviderRules } from "./provider-rules.ts";
import { createLogTelemetry } from "./telemetry.ts";

const defaultLimits: Limits = {
  jsonBodyBytes: 25 * 1024 * 1024,
  heldBodyBytes: 512 * 1024 * 1024,
  heldBodyBytesPerKey: 128 * 1024 * 1024,
  formBodyBytes: 100 * 1024 * 1024,
  streamedBodyBytes: 512 * 1024 * 1024,
  requestTimeoutMs: 300_000,
  streamIdleTimeoutMs: 300_000,
  streamKeepAliveMs: 15_000,
  streamTotalTimeoutMs: 30 * 60_000,
  realtimeConnectTimeoutMs: 10_000,
  realtimeIdleTimeoutMs: 15 * 60_000,
  realtimeTotalTimeoutMs: 2 * 60 * 60_000,
};

/** What services are made from besides the options. */
interface ServiceParts extends OpenData {
  clock: Clock;
  handle: Services["handle"];
  isReady(): boolean;
}

/** What our own headers begin with, the usual prefix first. */
function headerPrefixesOf({ headerAliases = [] }: GatewayOptions): string[] {
  return ["x-gateway-", ...headerAliases];
}

/** How secrets are taken out of what is stored. */
function redactionOf(
  options: GatewayOptions,
  { installation }: OpenData,
  providers: ProviderRegistry,
): RedactionSettings {
  const prefixes = headerPrefixesOf(options);
  return {
    key: installation.keys.logHash,
    keyPrefix: options.keyPrefix ?? defaultKeyPrefix,
    sensitiveNames: [...(options.sensitiveHeaders ?? []), ...secretHeaders(providers, prefixes)],
    secretMembers: secretMembers(providers, prefixes),
    aliasPrefixes: options.headerAliases ?? [],
  };
}

/** Longest time a request for a log row waits for the object store. */
const contentTimeoutMs = 15_000;

type IndexedLog = ReturnType<typeof createIndexedLog>;

/** The writer the host offers for files, else one that shares the gateway's connection. */
function createWriter(
  options: GatewayOptions,
  log: IndexedLog,
  {
    redaction,
    redactor,
    outbound,
    waitsForRecover,
  }: { redaction: RedactionSettings; redactor: Redactor; outbound: Outbound; waitsForRecover: boolean },
): LogWriter & Partial<TailReader> {
  const url = options.database ?? ":memory:";
  if (options.owner) return createHandedLog(options.owner, redactor);
  const settings: TelemetrySettings = { metrics: requestMetricsOf(options), otlp: options.otlp ?? null };
  // a database in memory belongs to one connection
  if (options.createLogWriter && url !== ":memory:") {
    const location = locationOf(options);
    const { logSpill: spill, logObjects: objects } = options;
    return options.createLogWriter(location, redaction, settings, {
      ...(spill && { spill }),
      ...(objects && { objects }),
      waitsForRecover,
    });
  }
  const telemetry = createLogTelemetry(settings, { outbound, warn: warnOf(options) });
  const store: Parameters<typeof createLogWriter>[0] = {
    purge: log.purge,
    index: log.index,
    offload: log.offload,
    traceHooks: settings.otlp ? async (hooks) => telemetry.observeHooks(hooks) : undefined,
    metrics: async () => telemetry.toText(),
    async append(batches) {
      await log.append(batches);
      telemetry.observe(batches);
    },
    async close() {
      await log.close();
      await telemetry.close();
    },
  };
  return createLogWriter(store, redactor);
}

/** Most rows that wait. When the last quarter is reached, no request begins, and those that run find room. */
function waitingLimitsOf({ concurrency, logWaiting }: GatewayOptions): WaitingLimits {
  const rows = Math.max(defaultWaitingLimits.rows, 4 * readConcurrencyLimits(concurrency).total);
  return { ...defaultWaitingLimits, rows, ...logWaiting };
}

/** The log: its store, its queue, and what takes secrets out of it. */
function createLog(
  options: GatewayOptions,
  parts: ServiceParts,
  { providers, createId, outbound }: { providers: ProviderRegistry; createId(): string; outbound: Outbound },
) {
  const objects =
    options.logObjects && createObjectStore(options.logObjects, { outbound, clock: parts.clock }, contentTimeoutMs);
  const { contents } = retentionDaysOf(options);
  const shownSince = () => parts.clock.now() - contents * dayMs;
  const logStore = createLogStore(parts.database, options.logCodec, objects, shownSince);
  const redaction = redactionOf(options, parts, providers);
  const redactor = createRedactor({ ...redaction, mac: (options.createMac ?? webMac)(redaction.key) });
  const logSegments = createLogSegmentStore(parts.database);
  const log = createIndexedLog(logStore, createIndexStores(parts.database), parts.clock.now, objects);
  const writer = createWriter(options, log, {
    redaction,
    redactor,
    outbound,
    waitsForRecover: parts.begunFrom !== undefined,
  });
  const stateMac = (options.createMac ?? webMac)(parts.installation.keys.state);
  const tailStore = createLogTailStore(parts.database);
  const logTail = new LogTail({
    readTail: writer.readTail ?? ((request) => readTailPage({ store: tailStore }, request)),
    newest: tailStore.newest,
    mac: stateMac,
    limits: options.logFollowers,
    warn: warnOf(options),
  });
  const limitJournal = createJournal(options, redactor, parts.clock);
  const queue: LogQueue = createLogQueue({
    async store(records) {
      const foreseen = logTail.foresee(records);
      const isForeseen = await writer.append(records, foreseen);
      limitJournal?.stored(records);
      logTail.wake(isForeseen ? foreseen : undefined);
    },
    batchBytes: writer.batchBytes,
    batchRows: writer.batchRows,
    writesAtOnce: writer.writesAtOnce,
    // a killed process has handed over what its finished requests left
    flushAfterMs: options.owner ? 0 : options.logFlushMs,
    limits: waitingLimitsOf(options),
    // what the journal has is added to counters by the next start
    describeLoss: (loss) => describeLoss(limitJournal ? { ...loss, counted: [] } : loss, createId()),
    isPermanent: (error) => error instanceof RefusedRowsError || isRefusedStatement(error),
    warn: warnOf(options),
  });
  const lateHooks = createLateHookQueue({
    async store(hooks) {
      await logStore.addHooks(hooks);
      await writer.traceHooks?.(hooks);
    },
    isPermanent: isRefusedStatement,
    warn: warnOf(options),
    flushAfterMs: options.logFlushMs,
  });
  const logReader = createReader(options, parts.database, {
    redaction,
    segments: logSegments,
    contents: { store: logStore, redactor },
  });
  const used = { record: queue.add.bind(queue), logRoom: queue, limitJournal };
  return { ...used, logStore, lateHooks, logReader, logSegments, logTail, stateMac, redactor, writer, queue };
}

/**
 * The journal of limits, where the operator wants one.
 *
 * @throws If it cannot be created, and there is no Redis that holds the counters.
 */
function createJournal(
  options: GatewayOptions,
  redactor: Redactor,
  { monotonic }: Pick<Clock, "monotonic">,
): LimitJournal | undefined {
  const { limitJournal: place, redis } = options;
  if (!place) return undefined;
  const warn = warnOf(options);
  try {
    return new LimitJournal({ place, redactor, monotonic, warn });
  } catch (error) {
    if (!redis)
      throw new Error("Cannot create the journal of limits: LIMITS_JOURNAL_FILE must be writable", { cause: error });
    warn("Cannot create the journal of limits: their counters are in Redis alone until log rows are stored", error);
    return undefined;
  }
}

/** Stores what an outage or a killed process left in files: counters of limits are read afterwards. */
async function recoverLog(
  { writer, logStore }: { writer: LogWriter; logStore: LogStore },
  options: GatewayOptions,
  now: number,
): Promise<void> {
  // rows that were removed since must not be counted again
  const firstId = firstIdOf(now - retentionDaysOf(options).rows * dayMs);
  await writer.recover?.();
  if (!options.limitJournal) return;
  await replayJournals(options.limitJournal, {
    isStored: async ({ organisation_id: organisationId, workspace_id: workspaceId, id }) =>
      id < firstId || (await logStore.find({ organisationId, workspaceId }, id)) !== undefined,
    append: (batches) => logStore.append(batches),
  });
}

/** The log, with what earlier processes left. While the database is away, that waits. */
async function openLog(options: GatewayOptions, parts: ServiceParts, made: Parameters<typeof createLog>[2]) {
  const log = createLog(options, parts, made);
  const recover = () => recoverLog(log, options, parts.clock.now());
  if (!parts.begunFrom) await closingOnFailure(log.writer, recover);
  return { ...log, recover };
}

async function closingOnFailure(writer: LogWriter, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    await writer.close();
    throw error;
  }
}

/** What routing remembers. */
function createRouting(
  options: GatewayOptions,
  { providers, guardrails }: { providers: ProviderRegistry; guardrails: Guardrails },
  clock: Clock,
) {
  return createRoutingState({
    findHookProblems: guardrails.findProblems,
    limits: { ...defaultTargetLimits, ...options.targetLimits },
    providers: toKnownProviders(providers),
    random: options.random ?? Math.random,
    now: clock.monotonic,
    publish: publishOf(options),
  });
}

const defaultFileLimits = { fileBytes: 32 * 1024 * 1024, workspaceBytes: 1024 * 1024 * 1024 };

/** Bytes of the largest body any route takes: a host need not let more in. */
export function largestBodyBytes({ limits, files }: Pick<GatewayOptions, "limits" | "files">): number {
  const { jsonBodyBytes, formBodyBytes, streamedBodyBytes } = { ...defaultLimits, ...limits };
  const { fileBytes } = { ...defaultFileLimits, ...files };
  return Math.max(jsonBodyBytes, formBodyBytes, streamedBodyBytes, fileBytes + formBytes);
}

/** What the gateway has of files, batches and vector stores. */
function createOwnStore(
  { files: { s3, ...limits } = {} }: GatewayOptions,
  { database, clock }: ServiceParts,
  { control, outbound }: Pick<Services, "control" | "outbound">,
) {
  const files = createFileStorage({
    database,
    clock,
    stores: control.stores,
    vault: control.vault,
    limits: { ...defaultFileLimits, ...limits },
    pieces: s3 && createS3Pieces(createObjectStore(s3, { outbound, clock })),
  });
  const { stores, vault } = control;
  const vectorStores = new VectorStores({ store: new VectorStoreStore(database), stores, vault, clock });
  const batches = createWokenWork(createBatchStore(database));
  return { files, batches, vectorStores, evalRuns: createWokenWork(new EvalRunStore(database)) };
}

/** What ends requests that lead back here; the id is the same in all processes of an installation. */
async function createHops({ installation }: OpenData): Promise<Hops> {
  return new Hops(toBase64Url((await deriveKey(installation.keys.state, "hops")).subarray(0, 12)));
}

/** What marks or signs with keys that are the same in all processes of an installation, each for nothing else. */
async function createSigned(options: GatewayOptions, data: OpenData) {
  const mac = (options.createMac ?? webMac)(await deriveKey(data.installation.keys.state, "log-export-links"));
  return { hops: await createHops(data), logExports: createLogExportWork(createLogExportStore(data.database), mac) };
}

/** What sends requests, and which addresses it may call. */
function createCalls(options: GatewayOptions) {
  const guard = createAddressGuard({
    trustedHosts: options.trustedHosts ?? [],
    warn: (message) => warnOf(options)(message),
  });
  const transport = options.transport ?? webTransport;
  const refused = new Tally((count) => {
    const remedy = "raise the limit of open files (ulimit -n), or lower MAX_CONCURRENT_REQUESTS";
    warnOf(options)(`No file descriptors are left: ${count} calls failed and were answered with 503; ${remedy}`);
  });
  const sent = { transport, guard, onOutOfFiles: () => refused.note() };
  return { guard, outbound: createOutbound(sent), openSocket: createSocketOutbound(sent) };
}

/** Starts to push metrics, if the operator asked for it. The result stores waiting rows and pushes a last time. */
function startLog(
  options: GatewayOptions,
  { outbound, metrics, responses, cache, verdictFeedback, logReader, routing }: Services,
  {
    queue,
    limitJournal,
    lateHooks,
  }: { queue: LogQueue; limitJournal: LimitJournal | undefined; lateHooks: LateHookQueue },
): () => Promise<void> {
  const { push: settings } = options.metrics || {};
  const warn = warnOf(options);
  const parts = { outbound, instance: crypto.randomUUID(), toText: metrics.toText, warn };
  const push = settings && startMetricsPush(settings, parts);
  return async () => {
    await responses.close();
    await cache.close();
    await verdictFeedback.close();
    await queue.close();
    limitJournal?.close();
    await lateHooks.close();
    await push?.close();
    routing.measureExchange?.close();
    await logReader.close();
  };
}

/** Ratings of traces: those that callers send, and those of guardrails. */
function createFeedback(options: GatewayOptions, { database, clock }: ServiceParts) {
  const feedback = createFeedbackStore(database);
  return { feedback, verdictFeedback: createVerdictFeedback(feedback, { clock, warn: warnOf(options) }) };
}

/** Options that services read as they are, with their defaults. */
function createSwitches(options: GatewayOptions) {
  const { realtimeOrigins, pageOrigins, forwardsTraceparent, savedOnly, serverTiming, contentCodings } = options;
  const headerPrefixes = headerPrefixesOf(options);
  return {
    headerPrefixes,
    headerRules: createHeaderRules(headerPrefixes),
    realtimeOrigins: new Set(realtimeOrigins),
    pageOrigins: new Set(pageOrigins),
    forwardsTraceparent: forwardsTraceparent ?? false,
    savedOnly: savedOnly ?? false,
    serverTiming: serverTiming ?? false,
    contentCodings: contentCodings ?? [gzipCoding],
  };
}

/** Seals what earlier versions stored; where the database is away, an earlier start has done it. */
async function sealEarlier({ database, clock, begunFrom }: ServiceParts, vault: Vault, rules: ContentRules) {
  if (begunFrom) return;
  await sealStored({ store: createContentSealingStore(database), vault, rules, now: clock.now() });
}

/** What lives as long as the gateway, and what starts and ends it. */
interface MadeServices {
  services: Services;
  writer: LogWriter;
  closeQueue(): Promise<void>;
  startLooks(): () => void;
  /** Stores what earlier processes left of the log, where the database was away at the start. */
  recover(): Promise<void>;
}

/** Wires the parts that live as long as the gateway. */
export async function createServices(options: GatewayOptions, parts: ServiceParts): Promise<MadeServices> {
  const { clock, isReady, handle } = parts;
  const providers = createProviderRegistry(options.providers);
  const createId = createIdFactory(clock.now);
  const { guard, outbound, openSocket } = createCalls(options);
  const { redactor, writer, queue, recover, ...log } = await openLog(options, parts, { providers, createId, outbound });
  const guardrails = createOwnGuardrails(options, { outbound, clock, services: () => services });
  const identity = await createIdentity(options, parts, { outbound, guard, services: () => services });
  const contentRules = toContentRules(providers);
  await sealEarlier(parts, identity.control.vault, contentRules);
  const timers = createTimers();
  const routing = createRouting(options, { providers, guardrails }, clock);
  const organisationId = await readFirstOrganisation(identity.control);
  const { startLooks, ...load } = createLoad(options, { ...parts, queue, limitStore: () => services.limitStore });
  const ends = createEnds(options, redactor, () => services);
  const waits = () => services.limitQueues.state();
  const metrics = createMetrics(options, { ...log, ...load, ...ends, queue, writer, routing, organisationId }, waits);
  const limits = { ...defaultLimits, ...options.limits };
  const services: Services = {
    ...identity,
    contentRules,
    providerRules: toProviderRules(providers, options.modelFacts),
    ...createOwnStore(options, parts, { control: identity.control, outbound }),
    clock,
    createId,
    isReady,
    outbound,
    addressGuard: guard,
    timers,
    limits,
    bodies: new ByteBudget(limits.heldBodyBytes, timers),
    openSocket,
    ...createSwitches(options),
    ...log,
    ...createFeedback(options, parts),
    redactor,
    ...ends,
    metrics,
    ...(await createReused(options, parts, () => services.steadyTime())),
    ...load,
    ...(await createSigned(options, parts)),
    mcp: await createMcp(options, parts),
    mcpServers: options.mcpServers ?? identity.control.mcpServers,
    clientAddress: createClientAddress(options.trustedProxies ?? []),
    isTrustedPeer: createProxyTest(options.trustedProxies ?? []),
    basePath: options.basePath ?? "",
    providers,
    guardrails,
    routing: {
      ...routing,
      measureExchange: await createMeasureExchange(options, parts, { routing, now: clock.monotonic }),
    },
    authTools: await createAuthTools(options, identity.control, { outbound, clock }),
    countTokens: withBoundedWaiting(options.countTokens ?? countTokens),
    streams: new Set<RunningStream>(),
    calls: new Set<RunningCall>(),
    handle,
    // last, because it begins to work: nothing fails after it
    ...(await createLimits(options, parts, { ...identity, ...log, outbound, limits, timers })),
  };
  return { services, closeQueue: startLog(options, services, { ...log, queue }), writer, startLooks, recover };
}
