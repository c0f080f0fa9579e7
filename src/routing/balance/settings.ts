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

/** How a load balancer uses what is measured of its targets. */
export interface BalanceSettings {
  choose: BalanceKind;
  /** Time in which a target that is back gets its share again. */
  slowStartMs: number;
  /** Undefined: targets are not ejected. */
  ejection: EjectionSettings | undefined;
}

type Members = Readonly<Record<string, unknown>>;

const defaults = { slowStartMs: 20_000, consecutiveFailures: 5, ejectionMs: 10_000, maxEjectedPercent: 50 };
const measuredFields = ["choose", "slow_start", "outlier_ejection"];

const numberOr = (value: unknown, fallback: number): number => (typeof value === "number" ? value : fallback);

function toKind(value: unknown): BalanceKind {
  return value === "least_busy" || value === "lowest_latency" || value === "lowest_cost" ? value : "weight";
}

/**
 * Reads how a load balancer chooses; undefined where nothing is measured.
 *
 * @param strategy Its valid fields.
 * @param ejection Those of `outlier_ejection`; undefined where it is absent.
 */
export function readBalance(strategy: Members, ejection: Members | undefined): BalanceSettings | undefined {
  const choose = toKind(strategy.choose);
  if (choose === "weight" && !ejection) return undefined;
  return {
    choose,
    slowStartMs: numberOr(strategy.slow_start, defaults.slowStartMs),
    ejection: ejection && {
      consecutiveFailures: numberOr(ejection.consecutive_failures, defaults.consecutiveFailures),
      ejectionMs: numberOr(ejection.ejection_time, defaults.ejectionMs),
      maxEjectedPercent: numberOr(ejection.max_ejected_percent, defaults.maxEjectedPercent),
    },
  };
}

/** Fields of a strategy that would have no effect. */
export function findUnusedBalance(strategy: Members): ConfigProblem[] {
  const written = measuredFields.filter((name) => strategy[name] !== undefined);
  if (strategy.mode !== "loadbalance") {
    return written.map((path) => ({ path, message: "has an effect only with the mode loadbalance" }));
  }
  const isMeasured = readBalance(strategy, strategy.outlier_ejection === undefined ? undefined : {}) !== undefined;
  const problems: ConfigProblem[] = [];
  if (strategy.affinity === true && toKind(strategy.choose) !== "weight") {
    problems.push({ path: "choose", message: "cannot be combined with affinity, which chooses by conversation" });
  }
  if (strategy.slow_start !== undefined && !isMeasured) {
    problems.push({ path: "slow_start", message: "has no effect without outlier_ejection or choose" });
  }
  return problems;
}
