import process from "node:process";
import { Crew } from "../../lib/crew.ts";
import { type ConnectLink, SteadyLink } from "../../lib/steady-link.ts";
import { version } from "../../version.ts";
import { databasePath, type HostSettings } from "../environment.ts";
import { keepToOwner } from "../keys-file.ts";
import type { ProcessLog } from "../process-log.ts";
import { announce, createGatewayFromEnvironment, listenForGateway, startServing } from "../serving.ts";
import { createShutdown, handleProcessEvents, type Shutdown } from "../shutdown.ts";
import { connectParent } from "./child.ts";
import { becomeOwner } from "./owner-lock.ts";
import type { Role } from "./role.ts";
import { connectLink, serveLinks } from "./sockets.ts";
import { Supervisor } from "./supervisor.ts";

/** The settings with further options of the gateway. */
function withOptions(settings: HostSettings, options: Partial<HostSettings["gateway"]>): HostSettings {
  return { ...settings, gateway: { ...settings.gateway, ...options } };
}

/** Settings of a worker. */
function settingsOfWorker({ ports }: Role, settings: HostSettings): HostSettings {
  const { serverMode } = settings.gateway;
  const [first = settings.port, second = settings.mcpPort] = ports;
  const places = serverMode === "mcp" ? { mcpPort: ports[0] ?? settings.mcpPort } : { port: first, mcpPort: second };
  return { ...settings, ...places };
}

/** Connects to the owner, of the same version: both speak the protocol of their program. */
function connectOwner({ owner: path, control }: Role, warn: ProcessLog["warn"]): ConnectLink {
  let hasWarned = false;
  return async (answers) => {
    const link = await connectLink(path, () => answers);
    try {
      return { link, peer: await link.ask<string>("hello", [version, control]) };
    } catch (error) {
      if (!hasWarned && !link.isClosed) warn("Cannot work with the process that owns the database", error);
      hasWarned = true;
      link.close();
      throw error;
    }
  };
}

/** Serves requests, until the parent process or a signal ends it. */
export async function serveAsWorker(role: Role, settings: HostSettings, log: ProcessLog): Promise<void> {
  let shutdown: Shutdown | undefined;
  const parent = await connectParent(role, {
    // a start that is no longer wanted
    stop: () => (shutdown ? shutdown.begin(0) : process.exit(0)),
    hurry() {
      shutdown?.begin(0);
      shutdown?.hurry();
    },
  });
  // the terminal that closes is that of the parent process
  process.on("SIGHUP", () => {});
  const owner = new SteadyLink(connectOwner(role, log.warn));
  const own = withOptions(settingsOfWorker(role, settings), { workers: role.workers, owner });
  const serving = await startServing(own, log);
  shutdown = serving.shutdown;
  parent.ready({ ports: serving.ports, firstKeys: null });
}

/** Owns the log and its counters, until the parent process ends it. */
export async function serveAsOwner(role: Role, settings: HostSettings, log: ProcessLog): Promise<void> {
  const crew = new Crew(role.running);
  let shutdown: Shutdown | undefined;
  const parent = await connectParent(role, {
    stop: () =>
      void crew
        .left(role.control, settings.drainSeconds * 1_000)
        .then(() => (shutdown ? shutdown.begin(0) : process.exit(0))),
    hurry: () => {},
  });
  // those that are meant for all processes: it ends behind the others
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => {});
  const path = databasePath(settings.database);
  if (path !== undefined) {
    const lock = `${path}-owner-lock`;
    keepToOwner(lock);
    // the owner of another gateway on the file serves its workers too
    await becomeOwner(lock, () => parent.ready({ ports: [], firstKeys: null }));
  }
  const gateway = await createGatewayFromEnvironment(withOptions(settings, { workers: role.workers, crew }), log);
  const firstKeys = (await gateway.start()) ?? null;
  const server = await serveLinks(role.owner, await crew.answers);
  const closed = { port: 0, useTls: () => {}, stop: () => {}, close: async () => server.close() };
  shutdown = createShutdown(gateway, [closed], { ...settings, log, noticeMs: 0 });
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    process.on(event, (error) => {
      log.error("Uncaught error: the process stops", error);
      process.exit(1);
    });
  }
  parent.ready({ ports: [], firstKeys });
}

/** Starts the processes that serve, until a signal. It never resolves: `deno serve` must not listen itself. */
export async function superviseWorkers(count: number, settings: HostSettings, log: ProcessLog): Promise<void> {
  if (process.platform !== "linux") throw new TypeError("Cannot use WORKERS: only Linux lets processes share a port");
  const { database, port, mcpPort } = settings;
  if (database === ":memory:") {
    throw new TypeError("Cannot use WORKERS: a database in memory belongs to one process; set DATABASE_URL");
  }
  const path = databasePath(database);
  let isServing = false;
  const probed = await listenForGateway(
    async () => {
      const message = isServing ? "Server is ready" : "Server is starting or stopping";
      return Response.json({ status: isServing ? "success" : "failure", message }, { status: isServing ? 200 : 503 });
    },
    settings,
    log,
  );
  const supervisor = new Supervisor({
    count,
    owner: path === undefined ? undefined : `${path}-owner`,
    findsPort: port === 0 || mcpPort === 0,
    ready({ ports, firstKeys }) {
      isServing = true;
      announce({ ports, firstKeys: firstKeys ?? undefined }, settings, log);
    },
    ended(exitCode) {
      void Promise.all(probed.map((listener) => listener.close())).finally(() => process.exit(exitCode));
    },
    warn: log.warn,
  });
  const stop = (exitCode: number, mayFinish: boolean) => {
    isServing = false;
    supervisor.stop(exitCode, mayFinish);
  };
  handleProcessEvents({ begin: (exitCode) => stop(exitCode, true), hurry: () => stop(0, false) }, log);
  await supervisor.start();
  await new Promise(() => {});
}
