import { version } from "../version.ts";
import { type Family, toFamily, toLabels, toSample, toSingle } from "./exposition.ts";
import type { ProcessStats } from "./settings.ts";

/** Counts refused requests that leave no log row, by status. */
export class RefusedRequests {
  readonly #counts = new Map<number, number>();

  note(status: number): void {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
  }

  /** By status. */
  counts(): ReadonlyMap<number, number> {
    return this.#counts;
  }
}

/** The state of the parts that are not derived from log rows. */
interface ProcessFacts {
  queue: { rows: number; bytes: number; lostRows: number; lostBodies: number; refused: number };
  /** Results of guardrails that ran after a response, and could not be stored. */
  lostHookResults: number;
  /** Rows that wait in a file because the database is away. */
  spill: { rows: number; bytes: number; lostRows: number };
  refused: RefusedRequests;
  /** Calls to models without a price, by provider. */
  unpriced: ReadonlyMap<string, number>;
  /** Those who follow the log, and how many of them are behind. */
  followers: { followers: number; behind: number };
  /** Circuit breakers that are not closed. */
  openBreakers: number;
  /** Requests that run, those that were refused before they began, by reason, and how late the event loop is. */
  load: { running: number; shed: ReadonlyMap<string, number>; lagSeconds: number };
  /** Whether what the gateway needs is there. */
  dependencies: { database: string; redis?: string; limits: string; admittedByShares: number };
  /** Copies of requests for comparison, by what became of them. */
  copies: ReadonlyMap<string, number>;
  /** Requests that wait for room in limits. */
  waits: {
    readonly classes: readonly {
      readonly priority: string;
      readonly waiting: number;
      readonly ended: Readonly<Record<string, number>>;
      readonly seconds: number;
    }[];
  };
  /** Targets whose hosts are checked. */
  health: { healthy: number; unhealthy: number };
  /** Absent where the host does not report it. */
  stats?: ProcessStats | undefined;
}

function counter(name: string, help: string): Family {
  return { name, type: "counter", help };
}

function gauge(name: string, help: string): Family {
  return { name, type: "gauge", help };
}

/** A family with one sample for each entry of a map. */
function toMapped(family: Family, label: string, counts: ReadonlyMap<string | number, number>): string {
  const samples = [...counts].map(([key, count]) => toSample(family.name, toLabels({ [label]: String(key) }), count));
  return toFamily(family, samples.join(""));
}

function toProcessText({ startedAt, ...stats }: ProcessStats): string {
  return [
    toSingle(gauge("node_process_resident_memory_bytes", "Resident memory of the process."), stats.residentBytes),
    toSingle(gauge("node_process_start_time_seconds", "Start of the process, in Unix time."), startedAt / 1_000),
    toSingle(counter("node_process_cpu_user_seconds_total", "User CPU time of the process."), stats.cpuUserSeconds),
    toSingle(
      counter("node_process_cpu_system_seconds_total", "System CPU time of the process."),
      stats.cpuSystemSeconds,
    ),
    toSingle(
      counter("node_process_cpu_seconds_total", "CPU time of the process."),
      stats.cpuUserSeconds + stats.cpuSystemSeconds,
    ),
    toSingle(gauge("node_nodejs_heap_size_used_bytes", "Used heap of the JavaScript engine."), stats.heapUsedBytes),
    toSingle(gauge("node_nodejs_heap_size_total_bytes", "Heap of the JavaScript engine."), stats.heapTotalBytes),
  ].join("");
}

/** Requests that run or are refused, and what the gateway needs. */
function toLoadText({ load, dependencies, queue }: Pick<ProcessFacts, "load" | "dependencies" | "queue">): string {
  const { database, redis, limits, admittedByShares } = dependencies;
  const away = new Map(
    Object.entries({ database, redis }).flatMap(([name, state]) => {
      return state === undefined ? [] : [[name, Number(state === "away")] as const];
    }),
  );
  // all reasons from the start on, so that a rate sees the first refusal
  const shed = new Map(["requests", "memory", "lag"].map((by) => [by, load.shed.get(by) ?? 0] as const)).set(
    "log",
    queue.refused,
  );
  return [
    toMapped(gauge("gateway_dependency_away", "1 while what the gateway needs does not respond."), "dependency", away),
    toSingle(
      gauge(
        "gateway_limits_by_shares",
        "1 while each process admits its share of limits: the shared counters are away.",
      ),
      Number(limits === "shares"),
    ),
    toSingle(
      counter(
        "gateway_requests_by_shares_total",
        "Requests admitted by the share of a process, without shared counters.",
      ),
      admittedByShares,
    ),
    toMapped(counter("gateway_shed_requests_total", "Requests refused with 503 before they began."), "by", shed),
    toSingle(gauge("gateway_running_requests", "Requests that run."), load.running),
    toSingle(gauge("gateway_event_loop_lag_seconds", "Time by which the event loop is late."), load.lagSeconds),
  ].join("");
}

/** Requests that wait for room in limits, by their class. */
function toWaitText({ classes }: ProcessFacts["waits"]): string {
  const ended = counter("gateway_waits_total", "Requests that a limit let wait, or had no place for, by how it ended.");
  const samples = classes.flatMap(({ priority, ended: counts }) =>
    Object.entries(counts).map(([outcome, count]) => toSample(ended.name, toLabels({ priority, outcome }), count)),
  );
  const of = (read: (one: (typeof classes)[number]) => number) =>
    new Map(classes.map((one) => [one.priority, read(one)] as const));
  return [
    toMapped(
      gauge("gateway_waiting_requests", "Requests that wait for room in a limit."),
      "priority",
      of(({ waiting }) => waiting),
    ),
    toFamily(ended, samples.join("")),
    toMapped(
      counter("gateway_wait_seconds_total", "Time that requests waited for room in a limit."),
      "priority",
      of(({ seconds }) => seconds),
    ),
  ].join("");
}

/** Metrics of the process in the text format. */
export function toProcessMetrics(facts: ProcessFacts): string {
  const { queue, lostHookResults, spill, refused, unpriced, followers, openBreakers, health, stats } = facts;
  return [
    toLoadText(facts),
    toWaitText(facts.waits),
    toSingle(gauge("gateway_build_info", "Version of the gateway."), 1, toLabels({ version })),
    toMapped(
      counter("gateway_refused_requests_total", "Refused requests that leave no log row, such as those without a key."),
      "code",
      refused.counts(),
    ),
    toSingle(
      counter("gateway_log_rows_dropped_total", "Log rows that could not be stored."),
      queue.lostRows + spill.lostRows,
    ),
    toSingle(
      counter("gateway_log_requests_refused_total", "Requests refused with 503, because too many log rows waited."),
      queue.refused,
    ),
    toSingle(
      counter("gateway_log_bodies_dropped_total", "Log rows stored without bodies, because too many waited."),
      queue.lostBodies,
    ),
    toSingle(
      counter(
        "gateway_log_hook_results_dropped_total",
        "Requests whose results of guardrails that ran after the response could not be stored.",
      ),
      lostHookResults,
    ),
    toSingle(gauge("gateway_log_queue_rows", "Log rows that wait to be stored."), queue.rows),
    toSingle(gauge("gateway_log_queue_bytes", "Approximate size of the log rows that wait."), queue.bytes),
    toSingle(gauge("gateway_log_followers", "Clients that follow the log."), followers.followers),
    toSingle(
      gauge("gateway_log_followers_behind", "Clients that follow the log and get rows later, as they read slowly."),
      followers.behind,
    ),
    toSingle(gauge("gateway_log_spill_rows", "Log rows that wait in a file for the database."), spill.rows),
    toSingle(gauge("gateway_log_spill_bytes", "Size of the file in which log rows wait."), spill.bytes),
    toMapped(counter("gateway_unpriced_calls_total", "Calls to models without a price."), "provider", unpriced),
    toMapped(
      counter("gateway_shadow_requests_total", "Copies of requests to a shadow target: sent, or why they were not."),
      "outcome",
      facts.copies,
    ),
    toSingle(gauge("gateway_open_circuits", "Targets whose circuit is open."), openBreakers),
    toMapped(
      gauge("gateway_checked_targets", "Targets of load balancers whose hosts are checked, by their health."),
      "health",
      new Map(Object.entries(health)),
    ),
    stats ? toProcessText(stats) : "",
  ].join("");
}
