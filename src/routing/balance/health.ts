import { BoundedMap } from "../../lib/bounded-map.ts";
import type { HealthSettings } from "./settings.ts";

/** Sends a request to a host and gives the status of its response. Rejects with an error whose message may be shown. */
type Probe = (url: string, timeoutMs: number) => Promise<number>;

/** What is checked of a target. */
export interface CheckedTarget {
  /** Its base address. */
  findHost(): Promise<string>;
  /** Calls a model of it with one output token, and gives the status of the response. */
  call(model: string, timeoutMs: number): Promise<number>;
}

/** How many targets are checked, by their health. */
interface HealthCounts {
  healthy: number;
  unhealthy: number;
}

/** The health of the hosts of targets. */
export interface HealthChecks {
  /**
   * Why a target is unhealthy; undefined for a healthy one. Its host is checked as long as somebody asks.
   *
   * @param target Called once, before the first check.
   */
  problemOf(key: string, settings: HealthSettings, target: () => CheckedTarget): string | undefined;
  /** Starts the checks that are due. */
  run(probe: Probe): void;
  counts(): HealthCounts;
  /** Hosts that are checked, by the keys of their targets. */
  list(): readonly { readonly key: string; readonly isHealthy: boolean; readonly problem: string }[];
}

/** A host that is checked. Times are monotonic milliseconds. */
interface Checked {
  readonly settings: HealthSettings;
  readonly target: CheckedTarget;
  address: string | undefined;
  askedAt: number;
  /** When the next check is due; infinite while one runs. */
  nextAt: number;
  failures: number;
  successes: number;
  isHealthy: boolean;
  /** Why the last check failed. */
  problem: string;
}

/** A host is checked for this long after the last request that could have gone there. */
const watchedForMs = 10 * 60_000;
/** Most hosts that are checked, and most checks that run at a time. */
const maxTargets = 2_000;
const maxRunning = 50;

function note(checked: Checked, problem: string | undefined): void {
  const { unhealthyThreshold, healthyThreshold } = checked.settings;
  if (problem === undefined) {
    checked.successes++;
    checked.failures = 0;
    if (checked.successes >= healthyThreshold) checked.isHealthy = true;
    return;
  }
  checked.problem = problem;
  checked.failures++;
  checked.successes = 0;
  if (checked.failures >= unhealthyThreshold) checked.isHealthy = false;
}

async function askTarget(checked: Checked, probe: Probe): Promise<number> {
  const { ask, timeoutMs } = checked.settings;
  if ("model" in ask) return checked.target.call(ask.model, timeoutMs);
  checked.address ??= await checked.target.findHost();
  return probe(new URL(ask.path, checked.address).href, timeoutMs);
}

async function check(checked: Checked, probe: Probe): Promise<string | undefined> {
  const { statusCodes } = checked.settings;
  try {
    const status = await askTarget(checked, probe);
    const isExpected = statusCodes ? statusCodes.includes(status) : status >= 200 && status <= 399;
    return isExpected ? undefined : `status ${status}`;
  } catch (error) {
    return error instanceof Error ? error.message : "it could not be sent";
  }
}

/**
 * Creates the health checks of a gateway.
 *
 * @param now Milliseconds of a monotonic clock.
 */
export function createHealthChecks(now: () => number): HealthChecks {
  const all = new BoundedMap<string, Checked>(maxTargets);
  let running = 0;
  const start = async (checked: Checked, probe: Probe): Promise<void> => {
    running++;
    checked.nextAt = Number.POSITIVE_INFINITY;
    note(checked, await check(checked, probe));
    checked.nextAt = now() + checked.settings.intervalMs;
    running--;
  };
  return {
    problemOf(key, settings, target) {
      const known = all.get(key);
      if (known?.settings === settings) {
        known.askedAt = now();
        return known.isHealthy ? undefined : known.problem;
      }
      const state = { failures: 0, successes: 0, isHealthy: true, problem: "" };
      all.set(key, { settings, target: target(), address: undefined, askedAt: now(), nextAt: now(), ...state });
      return undefined;
    },
    run(probe) {
      for (const [key, checked] of [...all.entries()]) {
        if (now() - checked.askedAt > watchedForMs) all.delete(key);
        else if (checked.nextAt <= now() && running < maxRunning) start(checked, probe);
      }
    },
    list: () => [...all.entries()].map(([key, { isHealthy, problem }]) => ({ key, isHealthy, problem })),
    counts() {
      const counts = { healthy: 0, unhealthy: 0 };
      for (const [, { isHealthy }] of all.entries()) counts[isHealthy ? "healthy" : "unhealthy"]++;
      return counts;
    },
  };
}
