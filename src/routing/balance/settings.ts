import type { balanceKinds } from "../../schemas/balance.ts";
import type { ConfigProblem } from "../problem.ts";

/** How a load balancer chooses among its targets. */
export type BalanceKind = (typeof balanceKinds)[number];

/** When a target that fails gets no requests for a while. */
export interface EjectionSettings {
  /** Failures in a row. */
  consecutiveFailures: number;
  /** Of the first ejection; the second takes twice, and further ones three times as long. */
  ejectionMs: number;
  /** Of the targets of the group. */
  maxEjectedPercent: number;
}

/** How the hosts of targets are checked. */
export interface HealthSettings {
  /** A path on the host of the target, or a model that is called with one output token. */
  ask: { path: string } | { model: string };
  intervalMs: number;
  timeoutMs: number;
  /** Failed checks in a row that make a target unhealthy, and successful ones that make it healthy again. */
  unhealthyThreshold: number;
  healthyThreshold: number;
  /** Undefined: 200 to 399. */
  statusCodes: readonly number[] | undefined;
}

/** How a load balancer uses what is measured of its targets. */
export interface BalanceSettings {
  choose: BalanceKind;
  /** Time in which a target that is back gets its share again. */
  slowStartMs: number;
  /** Undefined: targets are not ejected. */
  ejection: EjectionSettings | undefined;
  /** Undefined: hosts are not checked. */
  health: HealthSettings | undefined;
}

type Members = Readonly<Record<string, unknown>>;

const defaults = { slowStartMs: 20_000, consecutiveFailures: 5, ejectionMs: 10_000, maxEjectedPercent: 50 };
const healthDefaults = {
  intervalMs: 30_000,
  callIntervalMs: 60_000,
  timeoutMs: 5_000,
  unhealthyThreshold: 3,
  healthyThreshold: 2,
};
const measuredFields = ["choose", "slow_start", "outlier_ejection", "health_check"];

const numberOr = (value: unknown, fallback: number): number => (typeof value === "number" ? value : fallback);

function toKind(value: unknown): BalanceKind {
  return value === "least_busy" || value === "lowest_latency" || value === "lowest_cost" ? value : "weight";
}

function readHealth(members: Members): HealthSettings | undefined {
  const { path, model, status_codes: codes } = members;
  const ask = typeof path === "string" ? { path } : typeof model === "string" ? { model } : undefined;
  if (!ask) return undefined;
  const { intervalMs, callIntervalMs } = healthDefaults;
  return {
    ask,
    intervalMs: numberOr(members.interval, "model" in ask ? callIntervalMs : intervalMs),
    timeoutMs: numberOr(members.timeout, healthDefaults.timeoutMs),
    unhealthyThreshold: numberOr(members.unhealthy_threshold, healthDefaults.unhealthyThreshold),
    healthyThreshold: numberOr(members.healthy_threshold, healthDefaults.healthyThreshold),
    statusCodes: Array.isArray(codes) ? codes.map(Number) : undefined,
  };
}

/** Fields of the objects inside a strategy; undefined where one is absent. */
interface InnerMembers {
  ejection: Members | undefined;
  health: Members | undefined;
}

/**
 * Reads how a load balancer chooses; undefined where nothing is measured.
 *
 * @param strategy Its valid fields.
 * @param inner Those of `outlier_ejection` and `health_check`.
 */
export function readBalance(strategy: Members, { ejection, health }: InnerMembers): BalanceSettings | undefined {
  const choose = toKind(strategy.choose);
  if (choose === "weight" && !ejection && !health) return undefined;
  return {
    choose,
    slowStartMs: numberOr(strategy.slow_start, defaults.slowStartMs),
    ejection: ejection && {
      consecutiveFailures: numberOr(ejection.consecutive_failures, defaults.consecutiveFailures),
      ejectionMs: numberOr(ejection.ejection_time, defaults.ejectionMs),
      maxEjectedPercent: numberOr(ejection.max_ejected_percent, defaults.maxEjectedPercent),
    },
    health: health && readHealth(health),
  };
}

/** Fields of a strategy that would have no effect. */
export function findUnusedBalance(strategy: Members): ConfigProblem[] {
  const written = measuredFields.filter((name) => strategy[name] !== undefined);
  if (strategy.mode !== "loadbalance") {
    return written.map((path) => ({ path, message: "has an effect only with the mode loadbalance" }));
  }
  const { outlier_ejection: ejection, health_check: health } = strategy;
  const isMeasured = toKind(strategy.choose) !== "weight" || ejection !== undefined || health !== undefined;
  const problems: ConfigProblem[] = [];
  if (strategy.affinity === true && toKind(strategy.choose) !== "weight") {
    problems.push({ path: "choose", message: "cannot be combined with affinity, which chooses by conversation" });
  }
  if (strategy.slow_start !== undefined && !isMeasured) {
    problems.push({ path: "slow_start", message: "has no effect without choose, outlier_ejection or health_check" });
  }
  return problems;
}
