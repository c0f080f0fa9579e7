/** Names of failures by their HTTP status (https://cloud.google.com/apis/design/errors#handling_errors). */
const names: Readonly<Record<number, string>> = {
  ...{ 400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND" },
  ...{ 408: "DEADLINE_EXCEEDED", 409: "ABORTED", 412: "FAILED_PRECONDITION", 429: "RESOURCE_EXHAUSTED" },
  ...{ 446: "PERMISSION_DENIED", 499: "CANCELLED", 500: "INTERNAL", 501: "UNIMPLEMENTED", 502: "UNAVAILABLE" },
  ...{ 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED", 529: "UNAVAILABLE" },
};

/** Every name there is. */
const known = new Set([...Object.values(names), ...["OUT_OF_RANGE", "ALREADY_EXISTS", "UNKNOWN", "DATA_LOSS"]]);

/** Whether a text is the name of a failure. */
export function isRpcStatus(name: string): boolean {
  return known.has(name);
}

/** The name of a failure by its HTTP status. */
export function rpcStatusOf(status: number): string {
  return names[status] ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT");
}
