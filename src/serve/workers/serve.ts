import process from "node:process";
import type { HostSettings } from "../environment.ts";
import type { ProcessLog } from "../process-log.ts";
import { announce, startServing } from "../serving.ts";
import { handleProcessEvents, type Shutdown } from "../shutdown.ts";
import { connectParent } from "./child.ts";
import type { Role } from "./role.ts";
import { Supervisor } from "./supervisor.ts";

/** Settings of one of several processes. */
function settingsOfWorker({ ports }: Role, settings: HostSettings): HostSettings {
  const { serverMode } = settings.gateway;
  const [first = settings.port, second = settings.mcpPort] = ports;
  const places = serverMode === "mcp" ? { mcpPort: ports[0] ?? settings.mcpPort } : { port: first, mcpPort: second };
  return { ...settings, ...places, gateway: { ...settings.gateway, workers: 2 } };
}

/** Serves as one of several processes, until the parent process or a signal ends it. */
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
  const serving = await startServing(settingsOfWorker(role, settings), log);
  shutdown = serving.shutdown;
  parent.ready({ ports: serving.ports, firstKeys: serving.firstKeys ?? null });
}

/** Starts the processes that serve, until a signal. It never resolves: `deno serve` must not listen itself. */
export async function superviseWorkers(count: number, settings: HostSettings, log: ProcessLog): Promise<void> {
  if (process.platform !== "linux") throw new TypeError("Cannot use WORKERS: only Linux lets processes share a port");
  if (settings.database === ":memory:") {
    throw new TypeError("Cannot use WORKERS: a database in memory belongs to one process; set DATABASE_URL");
  }
  const supervisor = new Supervisor({
    count,
    ready: ({ ports, firstKeys }) => announce({ ports, firstKeys: firstKeys ?? undefined }, settings, log),
    ended: (exitCode) => process.exit(exitCode),
    warn: log.warn,
  });
  handleProcessEvents({ begin: (exitCode) => supervisor.stop(exitCode), hurry: () => supervisor.stop(0, false) }, log);
  await supervisor.start();
  await new Promise(() => {});
}
