import { isObject, parseJson } from "../../lib/json.ts";

/** Variable by which a child process of the gateway knows what it is. */
export const roleVariable = "GATEWAY_ROLE";

/** What a child process is. */
export interface Role {
  readonly kind: "worker";
  /** Which child of its kind it is. Another one that takes its place has the same number. */
  readonly number: number;
  /** The socket of the parent process. */
  readonly control: string;
  /** Ports on which others of its kind listen, in the order of `Report`. Empty: those that are set. */
  readonly ports: readonly number[];
}

/** What this process is; undefined where no gateway started it. */
export function readRole(environment: Readonly<Record<string, string | undefined>>): Role | undefined {
  const role = parseJson(environment[roleVariable] ?? "null");
  return isObject(role) ? (role as unknown as Role) : undefined; // written by the parent process
}
