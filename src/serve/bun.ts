import type { Server } from "bun";
import type { ConnectionInfo } from "../context.ts";
import type { Gateway } from "../gateway.ts";
import type { SocketAcceptance } from "../lib/websocket.ts";
import { type Listener, type ListenOptions, portTaken } from "./listener.ts";
import { type BunSocketData, bunSocketHandlers, upgradeOnBun } from "./websocket-bun.ts";

/** Idle seconds after which Bun closes a connection. Streams send a comment every 15. */
export const bunIdleTimeout = 255;

/** A connection whose address is looked up on demand. */
class BunConnection implements ConnectionInfo {
  readonly #request: Request;
  readonly #peer: Server<BunSocketData>;
  /** Whether the request became a WebSocket: Bun then expects no response. */
  isUpgraded = false;

  constructor(request: Request, peer: Server<BunSocketData>) {
    this.#request = request;
    this.#peer = peer;
  }

  get remoteAddress(): string {
    return this.#peer.requestIP(this.#request)?.address ?? "unknown";
  }

  upgrade(acceptance: SocketAcceptance): Response {
    upgradeOnBun(this.#request, this.#peer, acceptance);
    this.isUpgraded = true;
    return new Response(null);
  }
}

/** Serves on Bun. */
export function listenOnBun(gateway: Gateway, options: ListenOptions): Listener {
  const server = serve(gateway, options);
  return {
    // absent on a socket of the file system alone
    port: server.port ?? options.port,
    stop: () => void server.stop(),
    close: () => server.stop(true),
  };
}

function serve(gateway: Gateway, options: ListenOptions): Server<BunSocketData> {
  try {
    return start(gateway, options);
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, "code") === "EADDRINUSE") throw portTaken(options, error);
    throw error;
  }
}

function start(gateway: Gateway, options: ListenOptions): Server<BunSocketData> {
  return Bun.serve({
    port: options.port,
    hostname: options.hostname,
    // by default it would share the port with any other process
    reusePort: options.isShared,
    idleTimeout: bunIdleTimeout,
    // checked again, per route, while bodies are read
    maxRequestBodySize: options.maxBodyBytes,
    development: false,
    fetch: (request: Request, peer: Server<BunSocketData>) => {
      const connection = new BunConnection(request, peer);
      const answer = gateway.fetch(request, connection);
      if (!request.headers.has("upgrade")) return answer;
      return answer.then((response) => (connection.isUpgraded ? undefined : response));
    },
    websocket: bunSocketHandlers,
  });
}
