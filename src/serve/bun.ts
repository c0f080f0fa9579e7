import type { ConnectionInfo } from "../context.ts";
import type { Gateway } from "../gateway.ts";
import type { Listener, ListenOptions } from "./listener.ts";

/** Seconds without a byte after which Bun closes a connection. Streams send a comment every 15. */
export const bunIdleTimeout = 255;

/** A connection whose address is asked for only when somebody wants to know. */
class BunConnection implements ConnectionInfo {
  readonly #request: Request;
  readonly #peer: BunServer;

  constructor(request: Request, peer: BunServer) {
    this.#request = request;
    this.#peer = peer;
  }

  get remoteAddress(): string {
    return this.#peer.requestIP(this.#request)?.address ?? "unknown";
  }
}

/** Serves on Bun. */
export function listenOnBun(gateway: Gateway, options: ListenOptions): Listener {
  const server = Bun.serve({
    port: options.port,
    hostname: options.hostname,
    idleTimeout: bunIdleTimeout,
    // counted again, by route, while bodies are read
    maxRequestBodySize: options.maxBodyBytes,
    development: false,
    fetch: (request, peer) => gateway.fetch(request, new BunConnection(request, peer)),
  });
  return {
    port: server.port,
    stop: () => void server.stop(),
    close: () => server.stop(true),
  };
}
