import type { FirstKeys } from "../auth/first-start.ts";
import { markServed } from "../db/serving-lock.ts";
import { largestBodyBytes } from "../gateway/services.ts";
import { createGateway, type Gateway } from "../gateway.ts";
import type { Settings } from "../settings.ts";
import { printBanner, printFirstKeys } from "./banner.ts";
import { listenOnBun } from "./bun.ts";
import { applyAtStart, declaredOption } from "./declared-file.ts";
import { listenOnDeno } from "./deno.ts";
import type { HostSettings } from "./environment.ts";
import { listenForProbes } from "./health-thread.ts";
import { hostOptions } from "./host-options.ts";
import type { Listener, ListenOptions } from "./listener.ts";
import { createMailer } from "./mailer.ts";
import { checkOpenFiles } from "./open-files.ts";
import type { ProcessLog } from "./process-log.ts";
import { marksOfProcess, memoryMark } from "./process-stats.ts";
import { runtime } from "./runtime-transport.ts";
import { createShutdown, handleProcessEvents, type Shutdown } from "./shutdown.ts";
import { followTls, readTls, type TlsContent } from "./tls.ts";

export async function listen(gateway: Gateway, options: ListenOptions): Promise<Listener> {
  if (runtime === "bun") return listenOnBun(gateway, options);
  if (runtime === "deno" && !options.tls) return listenOnDeno(gateway, options);
  return (await import("./node.ts")).listenOnNode(gateway, options);
}

/** A gateway from the environment, with its connector tested. */
export async function createGatewayFromEnvironment(settings: HostSettings, log: ProcessLog): Promise<Gateway> {
  const { file, ...declared } = await declaredOption(settings.declaredFile);
  const host = await hostOptions({ console: settings.hasConsole });
  const alerts = { ...settings.gateway.alerts, sendMail: settings.mail && createMailer(settings.mail) };
  const { database: url, gateway: options } = settings;
  const { warn, info } = log;
  checkOpenFiles(options, warn);
  const isShared = (options.workers ?? 1) > 1 || options.redis !== undefined;
  const release = await markServed({ url, isShared }, warn);
  const gateway = createGateway({
    ...options,
    ...declared,
    ...host,
    shedding: marksOfProcess({ memoryBytes: memoryMark(), ...options.shedding }, options.workers),
    alerts,
    warn,
    log: info,
  });
  const close = async () => {
    await gateway.close();
    release();
  };
  const start = async () => {
    const firstKeys = await gateway.start();
    try {
      // the owner of the database applies it for all of its workers
      if (file && !options.owner) await applyAtStart(gateway, file, log.info);
    } catch (error) {
      // they are shown once, whatever becomes of the file
      if (firstKeys) printFirstKeys(firstKeys, settings.firstKeysFile, log);
      throw error;
    }
    return firstKeys;
  };
  return { ...gateway, start, close };
}

export function urlOf({ hostname, tls }: Pick<Settings, "hostname" | "tls">, port: number): string {
  return `${tls ? "https" : "http"}://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/** The gateway as the port of MCP serves it. */
export function onMcpPort(gateway: Gateway): Gateway {
  const fetch: Gateway["fetch"] = (request, connection = {}) => {
    // its methods belong to the host's class: the object itself goes on
    return gateway.fetch(request, Object.assign(connection, { isMcpPort: true }));
  };
  return { ...gateway, fetch };
}

/** What all ports of the process have in common. */
export function listenOptionsOf({ hostname, gateway, tls }: Settings, log: ProcessLog): Omit<ListenOptions, "port"> {
  const isShared = (gateway.workers ?? 1) > 1;
  return { hostname, maxBodyBytes: largestBodyBytes(gateway), isShared, tls: tls && readTls(tls, log) };
}

/** Listens where the mode says: on the common port, on that of MCP, or on both. */
async function listenByMode(gateway: Gateway, settings: Settings, log: ProcessLog): Promise<[Listener, ...Listener[]]> {
  const { port, mcpPort } = settings;
  const { serverMode } = settings.gateway;
  const shared = listenOptionsOf(settings, log);
  const onOwn = () => listen(onMcpPort(gateway), { ...shared, port: mcpPort });
  if (serverMode === "mcp") return [await onOwn()];
  const common = await listen(gateway, { ...shared, port });
  return serverMode === "all" ? [common, await onOwn()] : [common];
}

/** The listener for probes, where the settings have one. */
export async function listenForGateway(
  ask: (path: "/ready") => Promise<Response>,
  { hostname, healthPort: port }: HostSettings,
  log: ProcessLog,
): Promise<Listener[]> {
  if (port === undefined) return [];
  const ready = async () => {
    const response = await ask("/ready");
    return { status: response.status, body: await response.text() };
  };
  const listener = await listenForProbes({ hostname, port, ready });
  log.info(`Probes are answered at http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${listener.port}`);
  return [listener];
}

/** What asks a gateway in this process. */
export function askerOf(gateway: Gateway): (path: string) => Promise<Response> {
  return (path) => gateway.fetch(new Request(`http://localhost${path}`));
}

/** A gateway that serves until its shutdown, or a signal. */
interface Serving {
  /** Undefined if it was not the first start. */
  readonly firstKeys: FirstKeys | undefined;
  /** What it listens on: the common port first, then that of MCP, as far as the mode has them. */
  readonly ports: readonly number[];
  readonly shutdown: Shutdown;
}

/** Serves according to settings. */
export async function startServing(settings: HostSettings, log: ProcessLog): Promise<Serving> {
  const gateway = await createGatewayFromEnvironment(settings, log);
  const firstKeys = await gateway.start();
  const listeners = await listenByMode(gateway, settings, log);
  const { tls } = settings;
  const useTls = (content: TlsContent) => {
    for (const listener of listeners) listener.useTls(content);
  };
  if (tls) followTls(tls, log, useTls);
  const probed = settings.gateway.owner ? [] : await listenForGateway(askerOf(gateway), settings, log);
  const shutdown = createShutdown(gateway, [...listeners, ...probed], { ...settings, log });
  handleProcessEvents(shutdown, log);
  return { firstKeys, ports: listeners.map(({ port }) => port), shutdown };
}

/** Prints where it serves. */
export function announce(
  { firstKeys, ports }: Pick<Serving, "firstKeys" | "ports">,
  settings: HostSettings,
  log: ProcessLog,
): void {
  const [first = settings.port, second] = ports;
  printBanner(urlOf(settings, first), { firstKeys, settings, log });
  if (second !== undefined) log.info(`MCP servers are at ${urlOf(settings, second)}`);
}
