import { availableParallelism } from "node:os";
import process from "node:process";
import type { Gateway } from "../gateway.ts";
import { printBanner } from "./banner.ts";
import { bunIdleTimeout } from "./bun.ts";
import { describeFailure, runCommand } from "./cli.ts";
import { connectionOnDeno } from "./deno.ts";
import { type HostSettings, loadSettings } from "./environment.ts";
import { place } from "./place.ts";
import { createProcessLog } from "./process-log.ts";
import { runtime } from "./runtime-transport.ts";
import {
  announce,
  askerOf,
  createGatewayFromEnvironment,
  listen,
  listenForGateway,
  listenOptionsOf,
  onMcpPort,
  startServing,
  urlOf,
} from "./serving.ts";
import { createShutdown, handleProcessEvents } from "./shutdown.ts";
import { readRole } from "./workers/role.ts";
import { serveAsOwner, serveAsWorker, superviseWorkers } from "./workers/serve.ts";

/** Number of processes that serve. */
const countWorkers = ({ workers }: HostSettings): number => (workers === "auto" ? availableParallelism() : workers);

/** Serves according to the environment, until a signal. */
async function serve(isHosted: boolean): Promise<void> {
  const settings = loadSettings();
  const log = createProcessLog(settings.processLog);
  const role = readRole(process.env);
  const workers = countWorkers(settings);
  if (role?.kind === "owner") await serveAsOwner(role, settings, log);
  else if (role) await serveAsWorker(role, settings, log);
  else if (workers > 1) await superviseWorkers(workers, settings, log);
  else if (isHosted && !settings.tls) await prepare(settings);
  else announce(await startServing(settings, log), settings, log);
  // Deno would listen too once the module is loaded
  if (isHosted && settings.tls) await new Promise(() => {});
}

/**
 * Runs the process when the file is its main module: a command, or the server without one.
 *
 * @param isHosted Whether the runtime listens and `host` handles requests, as with `deno serve`.
 */
export async function main(
  args: readonly string[] = process.argv.slice(2),
  isHosted: boolean = runtime === "deno",
): Promise<void> {
  try {
    if (args.length > 0) process.exit(await runCommand(args));
    await serve(isHosted);
  } catch (error) {
    sayFailure(error);
    process.exit(1);
  }
}

/** Says why the process ends. The settings of the log may themselves be what is wrong. */
function sayFailure(error: unknown): void {
  if (process.env.LOG_FORMAT?.trim().toLowerCase() !== "json") console.error(describeFailure(error));
  else createProcessLog({ level: "error", format: "json" }).error("The process ends", error);
}

let prepared: Promise<Gateway> | undefined;

/**
 * The gateway behind `host`, created on first use.
 *
 * @param settings Settings that are read already: reading them again would find the master keys that the first start made.
 */
function prepare(settings?: HostSettings): Promise<Gateway> {
  prepared ??= createHosted(settings ?? loadSettings());
  return prepared;
}

async function createHosted(settings: HostSettings): Promise<Gateway> {
  const log = createProcessLog(settings.processLog);
  const gateway = await createGatewayFromEnvironment(settings, log);
  const firstKeys = await gateway.start();
  const { serverMode } = settings.gateway;
  const port = { ...listenOptionsOf(settings, log), port: settings.mcpPort };
  const listeners = serverMode === "all" ? [await listen(onMcpPort(gateway), port)] : [];
  listeners.push(...(await listenForGateway(askerOf(gateway), settings, log)));
  handleProcessEvents(createShutdown(gateway, listeners, { ...settings, log }), log);
  hostBanner = (address) => printBanner(address, { firstKeys, settings, log });
  return gateway;
}

let hostBanner: ((address: string) => void) | undefined;

/** The default export for hosts. */
export const host = {
  async fetch(request: Request, info?: unknown): Promise<Response> {
    const gateway = await prepare();
    const remoteAddress = peerAddress(info);
    return gateway.fetch(request, runtime === "deno" ? connectionOnDeno(request, remoteAddress) : { remoteAddress });
  },
  get port(): number {
    return place().port;
  },
  get hostname(): string {
    return place().hostname;
  },
  idleTimeout: bunIdleTimeout,
  /** Deno calls this with its address. */
  onListen({ hostname, port }: { hostname: string; port: number }): void {
    hostBanner?.(urlOf({ hostname, tls: undefined }, port));
  },
  /** Its presence keeps Bun from serving the file a second time when it is the main module. */
  async stop(): Promise<void> {
    const gateway = await prepared;
    await gateway?.close();
  },
};

/** Peer address in the host's second argument. */
function peerAddress(info: unknown): string {
  if (typeof info !== "object" || info === null || !("remoteAddr" in info)) return "unknown";
  const address = info.remoteAddr;
  return typeof address === "object" && address !== null && "hostname" in address
    ? String(address.hostname)
    : "unknown";
}
