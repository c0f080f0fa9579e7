import { isObject } from "../../src/lib/json.ts";

/** One call of a method of a client. Statuses are 200 where nothing else is said. */
export interface ClientCall {
  /** Path of the method below the client, such as `configs.create`. */
  readonly method: string;
  readonly args: readonly unknown[];
  /** Status with an admin key. */
  readonly admin?: number;
  /** Status with a workspace key. Routes of the organisation, those with `admin` 200, answer 403 or hide the record with 404. */
  readonly workspace?: number;
  /** Values that later calls use, by name: paths in the response. */
  readonly made?: Readonly<Record<string, string>>;
  /** The call may come too late, which is 400 or 409. */
  readonly isLate?: boolean;
  /** The route is about the person of a key, and the keys of the test have none: 400 or 404 is right too. */
  readonly needsUser?: boolean;
  /** The client refuses the documented response: its own types contradict each other. */
  readonly isUnreadable?: boolean;
}

/** Values by their names. */
export type Made = Map<string, unknown>;

/** Arguments with the values of earlier calls in place of their names. */
export function fillIn(value: unknown, made: Made): unknown {
  if (typeof value === "string") {
    if (made.has(value.slice(1)) && value.startsWith("$")) return made.get(value.slice(1));
    return value.replace(/\$(\w+)/g, (whole, name) => (made.has(name) ? String(made.get(name)) : whole));
  }
  if (Array.isArray(value)) return value.map((one) => fillIn(one, made));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fillIn(one, made)]));
}

/** What stands at a path of a response. */
export function readPath(answer: unknown, path: string): unknown {
  let value: unknown = answer;
  for (const name of path.split("."))
    value = isObject(value) || Array.isArray(value) ? Reflect.get(value, name) : undefined;
  return value;
}

/** Whether a status is one that a call may have with a key. */
export function isExpected(call: ClientCall, kind: "admin" | "workspace", status: number): boolean {
  const wanted = call[kind];
  if (wanted === undefined && kind === "workspace" && call.admin === 200) return status === 403 || status === 404;
  if (status === (wanted ?? 200)) return true;
  if (call.isUnreadable) return status === 0;
  if (call.isLate) return status === 400 || status === 409;
  return call.needsUser === true && (status === 400 || status === 404);
}
