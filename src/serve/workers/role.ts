import { isObject, parseJson } from "../../lib/json.ts";

/** Variable by which a child process of the gateway knows what it is. */
export const roleVariable = "GATEWAY_ROLE";

/** What a child process is: a worker serves requests, the owner has the log and its counters. */
export interface Role {
  readonly kind: "owner" | "worker";
  /** Which child of its kind it is. Another one that takes its place has the same number. */
  readonly number: number;
  /** The socket of the parent process. */
  readonly control: string;
  /** Ports on which others of its kind listen, in the order of `Report`. Empty: those that are set. */
  readonly ports: readonly number[];
  /** The socket on which the owner answers the workers. */
  readonly owner: string;
  /** Number of workers, and of those that ran when this process was started. */
  readonly workers: number;
  readonly running: number;
}

/** What this process is; undefined where no gateway started it. */
export function readRole(environment: Readonly<Record<string, string | undefined>>): Role | undefined {
  const role = parseJson(environment[roleVariable] ?? "null");
  return isObject(role) ? (role as unknown as Role) : undefined; // written by the parent process
}
