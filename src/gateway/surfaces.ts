import type { ConnectionInfo, Services } from "../context.ts";
import type { Endpoint } from "../endpoint.ts";
import { createHandle, type Handle } from "../handler.ts";
import { createOpenapiEndpoint } from "../openapi.ts";
import type { ServerMode } from "./options.ts";

/** Rows of a gateway: those of its API, and those that take what no other has. */
export interface EndpointList {
  readonly own: readonly Endpoint[];
  readonly forwarding: readonly Endpoint[];
}

/** What counts the requests that run. */
type Activity = Parameters<typeof createHandle>[2];

/** Rows that every port has. */
const everywhere: ReadonlySet<string> = new Set(["/", "/health", "/ready", "/metrics"]);

/** Whether a row belongs to MCP: its address, or a document by which clients of MCP find their way. */
function isOfMcp({ path }: Endpoint): boolean {
  return /^\/(?:m|\.well-known)(?:\/|$)/.test(path);
}

/** A path of MCP where MCP has its own port: documents stand at the root, with the path of the address behind them. */
function withoutMount(path: string): string {
  return path.replace(/^(\/\.well-known\/[^/]+)?\/m(?=\/|$)/, "$1") || "/";
}

/** A row of MCP for its own port. */
function unmounted(endpoint: Endpoint): Endpoint {
  const path = withoutMount(endpoint.path);
  return { ...endpoint, path, ...(endpoint.errorsBelow !== undefined && { errorsBelow: "" }) };
}

/** Rows without those whose method and path an earlier one has. */
function firstOfEach(endpoints: readonly Endpoint[]): Endpoint[] {
  return [...new Map(endpoints.toReversed().map((row) => [`${row.method} ${row.path}`, row])).values()].toReversed();
}

function mcpRows({ own }: EndpointList): Endpoint[] {
  const rows = firstOfEach([...own.filter(({ path }) => everywhere.has(path)), ...own.filter(isOfMcp).map(unmounted)]);
  return [...rows, createOpenapiEndpoint(rows)];
}

function gatewayRows({ own, forwarding }: EndpointList): Endpoint[] {
  const rows = own.filter((endpoint) => !isOfMcp(endpoint));
  return [...rows, createOpenapiEndpoint([...rows, ...forwarding]), ...forwarding];
}

function allRows({ own, forwarding }: EndpointList): Endpoint[] {
  return [...own, createOpenapiEndpoint([...own, ...forwarding]), ...forwarding];
}

/** @throws {TypeError} If paths of the gateway itself begin with the path below which it is. */
export function requireFreePath(basePath: string, list: EndpointList): void {
  const first = basePath.split("/")[1] ?? "";
  if (first === "" || !allRows(list).some(({ path }) => path.split("/")[1] === first)) return;
  throw new TypeError(`Cannot use BASE_PATH: /${first} is a path of the gateway itself`);
}

/**
 * Handles requests by the port they came to. The gateway's own requests reach every row, whatever the mode: they name their
 * caller themselves, and MCP is below `/m` for them.
 */
export function createSurfaces(
  list: EndpointList,
  mode: ServerMode,
  { services, activity }: { services: Services; activity: Activity },
): Handle {
  const all = createHandle(allRows(list), services, activity);
  if (mode === "unified") return all;
  const mcp = mode === "gateway" ? undefined : createHandle(mcpRows(list), services, activity);
  const gateway = mode === "mcp" ? undefined : createHandle(gatewayRows(list), services, activity);
  const handleOf = ({ actingFor, isMcpPort }: ConnectionInfo): Handle => {
    if (actingFor) return all;
    return (isMcpPort ? mcp : gateway) ?? gateway ?? mcp ?? all;
  };
  return (request, connection) => handleOf(connection)(request, connection);
}
