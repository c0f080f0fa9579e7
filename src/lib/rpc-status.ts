/** Error names by HTTP status, the most common one first (https://cloud.google.com/apis/design/errors#handling_errors). */
const namesOf: Readonly<Record<number, readonly string[]>> = {
  400: ["INVALID_ARGUMENT", "FAILED_PRECONDITION", "OUT_OF_RANGE"],
  401: ["UNAUTHENTICATED"],
  403: ["PERMISSION_DENIED"],
  404: ["NOT_FOUND"],
  409: ["ABORTED", "ALREADY_EXISTS"],
  429: ["RESOURCE_EXHAUSTED"],
  499: ["CANCELLED"],
  500: ["INTERNAL", "UNKNOWN", "DATA_LOSS"],
  501: ["UNIMPLEMENTED"],
  503: ["UNAVAILABLE"],
  504: ["DEADLINE_EXCEEDED"],
};

/** Names for further statuses of the gateway. */
const nearest: Readonly<Record<number, string>> = {
  408: "DEADLINE_EXCEEDED",
  412: "FAILED_PRECONDITION",
  446: "PERMISSION_DENIED",
  502: "UNAVAILABLE",
  529: "UNAVAILABLE",
};

/** HTTP status of each name. */
export const rpcStatuses: ReadonlyMap<string, number> = new Map(
  Object.entries(namesOf).flatMap(([status, names]) => names.map((name) => [name, Number(status)] as const)),
);

/** Whether a string is an error name. */
export function isRpcStatus(name: string): boolean {
  return rpcStatuses.has(name);
}

/** The error name for an HTTP status. */
export function rpcStatusOf(status: number): string {
  return namesOf[status]?.[0] ?? nearest[status] ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT");
}
