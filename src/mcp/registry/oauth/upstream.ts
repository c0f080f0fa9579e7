import type { ControlPlane } from "../../../control/control-plane.ts";
import type { Database } from "../../../db/client.ts";
import type { AddressGuard } from "../../../lib/address.ts";
import type { Clock } from "../../../lib/clock.ts";
import { createMcpConnections, type McpConnections } from "./connections.ts";
import type { GuardedFetch } from "./guarded-fetch.ts";
import { createMachineTokens, type MachineTokens } from "./machine-tokens.ts";
import { createUpstreamClients, type UpstreamClients } from "./upstream-client.ts";
import { createUpstreamDiscovery, type UpstreamDiscovery } from "./upstream-discovery.ts";

/** The gateway as an OAuth client of upstream MCP servers. */
export interface UpstreamOauth {
  readonly discovery: UpstreamDiscovery;
  readonly clients: UpstreamClients;
  readonly connections: McpConnections;
  readonly machineTokens: MachineTokens;
}

/** Parts of the client role. */
interface UpstreamParts {
  readonly database: Database;
  readonly control: ControlPlane;
  readonly clock: Clock;
  readonly guard: AddressGuard;
  readonly fetch: GuardedFetch;
  /** Milliseconds before the end of a token at which another one is asked for. */
  readonly expiryBufferMs: number;
}

/** Creates the client role. */
export function createUpstreamOauth({
  database,
  control,
  clock,
  guard,
  fetch,
  expiryBufferMs,
}: UpstreamParts): UpstreamOauth {
  const { stores, vault } = control;
  const discovery = createUpstreamDiscovery({ fetch, guard, clock });
  const write = async (statements: Parameters<Database["write"]>[0]) => {
    await database.write(statements);
  };
  const clients = createUpstreamClients({ stores, vault, write, fetch, clock });
  return {
    discovery,
    clients,
    connections: createMcpConnections({ stores, vault, database, clients, clock, expiryBufferMs }),
    machineTokens: createMachineTokens({ clients, discovery, clock, expiryBufferMs }),
  };
}
