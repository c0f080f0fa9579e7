import { type Listener, type ListenOptions, portTaken } from "./listener.ts";
import { Thread } from "./thread.ts";

/** Settings of the thread. */
export interface HealthSettings extends Pick<ListenOptions, "hostname" | "port"> {
  /** How long nothing may be heard of the process, in milliseconds, until it counts as hanging. */
  readonly stalledMs: number;
}

/** What `/ready` answers. */
export interface ReadyAnswer {
  readonly status: number;
  readonly body: string;
}

/** A message to the thread. The reply to `listen` is the port, or 0 if another process listens on it. */
export type HealthRequest = { id: number; kind: "listen" } | { id: number; kind: "ready"; answer: ReadyAnswer };

/** How often the process reports to the thread. */
const reportEveryMs = 250;
/** Longest time without a report: probes of orchestrators then restart the process. */
const defaultStalledMs = 30_000;

/** What the listener asks. */
interface HealthOptions extends Pick<ListenOptions, "hostname" | "port"> {
  /** The answer of `/ready`, as of now. */
  ready(): Promise<ReadyAnswer>;
  /** Default: 30 seconds. */
  stalledMs?: number | undefined;
}

/**
 * Answers `/health` and `/ready` on a separate port and thread: at once, however busy the event loop of the process is.
 *
 * @throws {Error} If another process listens on the port.
 */
export async function listenForProbes({ ready, hostname, port, ...options }: HealthOptions): Promise<Listener> {
  const settings: HealthSettings = { hostname, port, stalledMs: options.stalledMs ?? defaultStalledMs };
  const thread = new Thread<HealthRequest>("health-worker", settings);
  const opened = await thread.ask({ kind: "listen" });
  if (opened === 0) {
    await thread.end();
    throw portTaken({ hostname, port, variable: "HEALTH_PORT" }, undefined);
  }
  let isAsking = false;
  const report = async () => {
    // what takes longer than the pause is asked again when it is done
    if (isAsking) return;
    isAsking = true;
    try {
      await thread.ask({ kind: "ready", answer: await ready() });
    } catch {
      // without reports the process counts as hanging
    } finally {
      isAsking = false;
    }
  };
  await report();
  const timer = setInterval(() => void report(), reportEveryMs);
  timer.unref();
  return {
    port: opened,
    useTls: () => {},
    // as long as the process runs, it is asked
    stop: () => {},
    async close() {
      clearInterval(timer);
      await thread.end();
    },
  };
}
