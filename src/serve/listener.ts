import type { TlsContent } from "./tls.ts";

/** Where to serve. */
export interface ListenOptions {
  hostname: string;
  /** Zero selects any free port. */
  port: number;
  maxBodyBytes: number;
  /** Whether processes share the port, as far as the runtime can: the system spreads connections over them. */
  isShared: boolean;
  /** Undefined: HTTP. */
  tls?: TlsContent | undefined;
}

/** The error of a port on which another process listens. */
export function portTaken(
  { hostname, port, variable }: Pick<ListenOptions, "hostname" | "port"> & { variable?: string },
  cause: unknown,
): Error {
  const shared = "set PORT (or MCP_PORT), or set WORKERS of each to the number of processes that share it";
  const remedy = variable === undefined ? `Stop it, ${shared}` : `Stop it, or set ${variable}`;
  return new Error(`Cannot listen on ${hostname}:${port}: another process does. ${remedy}`, { cause });
}

/** A server that is listening. */
export interface Listener {
  readonly port: number;
  /** New connections get another certificate; those that are open go on. Only of listeners with TLS. */
  useTls(content: TlsContent): void;
  /** Accepts no new connections. */
  stop(): void;
  /** Ends every connection. */
  close(): Promise<void>;
}
