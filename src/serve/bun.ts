import type { Gateway } from "../gateway.ts";
import type { Listener, ListenOptions } from "./listener.ts";

/** Seconds without a byte after which Bun closes a connection. Streams send a comment every 15. */
export const bunIdleTimeout = 255;

/** Serves on Bun. */
export function listenOnBun(gateway: Gateway, options: ListenOptions): Listener {
  const server = Bun.serve({
    port: options.port,
    hostname: options.hostname,
    idleTimeout: bunIdleTimeout,
    // counted again, by route, while bodies are read
    maxRequestBodySize: options.maxBodyBytes,
    development: false,
    fetch: (request, peer) =>
      gateway.fetch(request, {
        get remoteAddress() {
          return peer.requestIP(request)?.address ?? "unknown";
        },
      }),
  });
  return {
    port: server.port,
    stop: () => void server.stop(),
    close: () => server.stop(true),
  };
}
