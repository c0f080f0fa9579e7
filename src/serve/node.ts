import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { getRequestListener } from "@hono/node-server";
import type { Gateway } from "../gateway.ts";
import { withOwnFailure } from "./broken-body.ts";
import { hasCode } from "./keys-file.ts";
import { type Listener, type ListenOptions, portTaken } from "./listener.ts";
import { serverTls } from "./tls.ts";
import { toWebStream } from "./transport-streams.ts";
import { isUpgrade, serveUpgrades } from "./websocket-node.ts";

/** Node's request and response. */
interface Exchange {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
}

/** The body of a message, untouched until it is read. */
function openBody(message: IncomingMessage): ReadableStream<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        reader ??= toWebStream(message, { isComplete: () => message.complete, onCancel: () => {} }).getReader();
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      // the adapter drains what the client still sends, so that it can read the response
      cancel: (reason) => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/**
 * The adapter's request with a different body. Its own body copies every chunk, which doubles the memory of an upload,
 * and creates a second request for each small one whose body is read.
 */
function withOwnBody(request: Request, message: IncomingMessage): Request {
  const { method } = request;
  if (method === "GET" || method === "HEAD") return request;
  let body: ReadableStream<Uint8Array> | undefined;
  return Object.defineProperty(request, "body", {
    get() {
      body ??= openBody(message);
      return body;
    },
  });
}

/** What HTTP and HTTPS have in common. */
const serverSettings = {
  headersTimeout: 10_000,
  // bodies have separate, finer limits
  requestTimeout: 0,
  keepAliveTimeout: 75_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 64 * 1024,
  shouldUpgradeCallback: isUpgrade,
};

/** Serves on Node, and TLS on Deno, whose own server cannot change its certificate. */
export async function listenOnNode(gateway: Gateway, options: ListenOptions): Promise<Listener> {
  const listener = getRequestListener((request, env) => {
    const { incoming: message, outgoing } = env as Exchange; // the adapter passes both in an untyped record
    return gateway.fetch(withOwnBody(request, message), {
      // after the connection has closed, the adapter waits forever and then cancels
      carryBody: (body) => withOwnFailure(body, () => outgoing.destroy()),
      get remoteAddress() {
        return message.socket.remoteAddress ?? "unknown";
      },
    });
  });
  const secure = options.tls && createSecureServer({ ...serverTls(options.tls), ...serverSettings }, listener);
  const server = secure ?? createServer(serverSettings, listener);
  const closeSockets = serveUpgrades(server, gateway);
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(hasCode(error, "EADDRINUSE") ? portTaken(options, error) : error));
    const { port, hostname: host, isShared: reusePort } = options;
    server.listen({ port, host, ...(reusePort && { reusePort }) }, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : options.port,
    useTls: (content) => secure?.setSecureContext(content),
    stop: () => void server.close(),
    async close() {
      server.close();
      server.closeAllConnections();
      closeSockets();
    },
  };
}
