import { createServer, type IncomingMessage } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Gateway } from "../gateway.ts";
import type { Listener, ListenOptions } from "./listener.ts";

function addressOf(env: unknown): string {
  // the adapter hands the message over in an untyped record
  const { incoming } = env as { incoming?: IncomingMessage };
  return incoming?.socket.remoteAddress ?? "unknown";
}

/** Serves on Node. */
export async function listenOnNode(gateway: Gateway, options: ListenOptions): Promise<Listener> {
  const listener = getRequestListener((request, env) =>
    gateway.fetch(request, {
      get remoteAddress() {
        return addressOf(env);
      },
    }),
  );
  const server = createServer(
    {
      headersTimeout: 10_000,
      // bodies have their own, finer bounds
      requestTimeout: 0,
      keepAliveTimeout: 75_000,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 64 * 1024,
    },
    listener,
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.hostname, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    stop: () => void server.close(),
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
