import type { Server } from "bun";
import type { ConnectionInfo } from "../context.ts";
import type { Gateway } from "../gateway.ts";
import type { SocketAcceptance } from "../lib/websocket.ts";
import { type Listener, type ListenOptions, portTaken } from "./listener.ts";
import { serverTls } from "./tls.ts";
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
  let server = serve(gateway, options);
  const former = new Set<Server<BunSocketData>>();
  let isStopped = false;
  // absent on a socket of the file system alone
  const port = server.port ?? options.port;
  return {
    port,
    useTls(tls) {
      if (isStopped) return;
      // Bun cannot change the certificate of a server: another one takes the port in the same turn
      const left = server;
      former.add(left);
      left.stop().then(() => former.delete(left));
      server = serve(gateway, { ...options, port, tls });
    },
    stop() {
      isStopped = true;
      void server.stop();
    },
    async close() {
      await Promise.all([server, ...former].map((one) => one.stop(true)));
    },
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
    ...(options.tls && { tls: serverTls(options.tls) }),
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
