import process from "node:process";
import { markServed } from "../db/serving-lock.ts";
import { largestBodyBytes } from "../gateway/services.ts";
import { createGateway, type Gateway } from "../gateway.ts";
import type { Settings } from "../settings.ts";
import { printBanner } from "./banner.ts";
import { withOwnFailure } from "./broken-body.ts";
import { bunIdleTimeout, listenOnBun } from "./bun.ts";
import { describeFailure, runCommand } from "./cli.ts";
import { loadSettings } from "./environment.ts";
import { hostOptions } from "./host-options.ts";
import type { Listener, ListenOptions } from "./listener.ts";
import { createMailer } from "./mailer.ts";
import { checkOpenFiles } from "./open-files.ts";
import { createProcessLog, type ProcessLog } from "./process-log.ts";
import { runtime } from "./runtime-transport.ts";
import { createShutdown, handleProcessEvents } from "./shutdown.ts";
import { upgradeOnDeno } from "./websocket-deno.ts";

async function listen(gateway: Gateway, options: ListenOptions): Promise<Listener> {
  if (runtime === "bun") return listenOnBun(gateway, options);
  return (await import("./node.ts")).listenOnNode(gateway, options);
}

/** A gateway from the environment, with its connector tested. */
async function createGatewayFromEnvironment(settings: Settings, log: ProcessLog): Promise<Gateway> {
  const host = await hostOptions({ console: settings.hasConsole });
  const alerts = { ...settings.gateway.alerts, sendMail: settings.mail && createMailer(settings.mail) };
  const { database: url, gateway: options } = settings;
  const { warn, info } = log;
  checkOpenFiles(options, warn);
  const isShared = (options.workers ?? 1) > 1 || options.redis !== undefined;
  const release = await markServed({ url, isShared }, warn);
  const gateway = createGateway({ ...options, ...host, alerts, warn, log: info });
  const close = async () => {
    await gateway.close();
    release();
  };
  return { ...gateway, close };
}

function urlOf(hostname: string, port: number): string {
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}

/** The gateway as the port of MCP serves it. */
function onMcpPort(gateway: Gateway): Gateway {
  const fetch: Gateway["fetch"] = (request, connection = {}) => {
    // its methods belong to the host's class: the object itself goes on
    return gateway.fetch(request, Object.assign(connection, { isMcpPort: true }));
  };
  return { ...gateway, fetch };
}

/** What all ports of the process have in common. */
function listenOptionsOf({ hostname, gateway }: Settings): Omit<ListenOptions, "port"> {
  return { hostname, maxBodyBytes: largestBodyBytes(gateway), isShared: (gateway.workers ?? 1) > 1 };
}

/** Listens where the mode says: on the common port, on that of MCP, or on both. */
async function listenByMode(gateway: Gateway, settings: Settings): Promise<[Listener, ...Listener[]]> {
  const { port, mcpPort } = settings;
  const { serverMode } = settings.gateway;
  const shared = listenOptionsOf(settings);
  const onOwn = () => listen(onMcpPort(gateway), { ...shared, port: mcpPort });
  if (serverMode === "mcp") return [await onOwn()];
  const common = await listen(gateway, { ...shared, port });
  return serverMode === "all" ? [common, await onOwn()] : [common];
}

/** Serves according to the environment, until a signal. */
async function serve(): Promise<void> {
  const settings = loadSettings();
  const log = createProcessLog(settings.processLog);
  const gateway = await createGatewayFromEnvironment(settings, log);
  const firstKeys = await gateway.start();
  const listeners = await listenByMode(gateway, settings);
  handleProcessEvents(createShutdown(gateway, listeners, { ...settings, log }), log);
  const [first, second] = listeners;
  printBanner(urlOf(settings.hostname, first.port), { firstKeys, settings, log });
  if (second) log.info(`MCP servers are at ${urlOf(settings.hostname, second.port)}`);
}

/**
 * Runs the process when the file is its main module: a command, or the server without one. With `deno serve` Deno
 * listens, and `host` handles requests.
 */
export async function main(args: readonly string[] = process.argv.slice(2)): Promise<void> {
  try {
    if (args.length > 0) process.exit(await runCommand(args));
    if (runtime === "deno") await prepare();
    else await serve();
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

/** The gateway behind `host`, created on first use. */
function prepare(): Promise<Gateway> {
  prepared ??= (async () => {
    const settings = loadSettings();
    const log = createProcessLog(settings.processLog);
    const gateway = await createGatewayFromEnvironment(settings, log);
    const firstKeys = await gateway.start();
    const { serverMode } = settings.gateway;
    const port = { ...listenOptionsOf(settings), port: settings.mcpPort };
    const listeners = serverMode === "all" ? [await listen(onMcpPort(gateway), port)] : [];
    handleProcessEvents(createShutdown(gateway, listeners, { ...settings, log }), log);
    hostBanner = (address) => printBanner(address, { firstKeys, settings, log });
    return gateway;
  })();
  return prepared;
}

let hostBanner: ((address: string) => void) | undefined;

/** Port and host name, read when a host needs them. */
function place(): { hostname: string; port: number } {
  const { HOST = "127.0.0.1", PORT = 8787, MCP_PORT = 8788, SERVER_MODE } = process.env;
  return { hostname: HOST, port: Number(SERVER_MODE?.trim().toLowerCase() === "mcp" ? MCP_PORT : PORT) };
}

/** Adapts a body to Deno, which prints a body's error: a short message, and nothing if the client has left. */
function carryOnDeno({ signal }: Request, body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  return withOwnFailure(body, (controller) => {
    if (signal.aborted) controller.close();
    else controller.error("Cannot finish a response: the upstream broke it off");
  });
}

/** The default export for hosts. */
export const host = {
  async fetch(request: Request, info?: unknown): Promise<Response> {
    const gateway = await prepare();
    return gateway.fetch(request, {
      remoteAddress: peerAddress(info),
      ...(runtime === "deno" && {
        upgrade: (acceptance) => upgradeOnDeno(request, acceptance),
        carryBody: (body) => carryOnDeno(request, body),
      }),
    });
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
    hostBanner?.(urlOf(hostname, port));
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
