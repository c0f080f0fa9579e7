/** Whether what the gateway needs besides itself is there. */
interface DependencyStates {
  database: "ok" | "away";
  /** The time of the snapshot from which the process began; present until it has reached the database. */
  snapshot?: string;
  /** Absent without Redis. */
  redis?: "ok" | "away";
  /** `shares`: each process admits its share of a limit, while the shared counters are away. */
  limits: "exact" | "shares";
  /** `waiting`: many rows wait to be stored; `refusing`: so many that requests are refused. */
  log: "ok" | "waiting" | "refusing";
}

export interface Dependencies {
  state(): DependencyStates;
  /** Requests that were admitted by the share of this process, since its start. */
  admittedByShares(): number;
}

/** What an operator may require for a node to be ready. */
export const requirable = ["database", "redis", "limits", "log"] as const;

export type Requirable = (typeof requirable)[number];

/** What is required and not there: the log only once requests are refused for it. */
export function missingOf(states: DependencyStates, required: readonly Requirable[]): Requirable[] {
  const isMissing = { database: "away", redis: "away", limits: "shares", log: "refusing" };
  return required.filter((name) => states[name] === isMissing[name]);
}
