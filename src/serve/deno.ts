import type { ConnectionInfo } from "../context.ts";
import type { Gateway } from "../gateway.ts";
import { withOwnFailure } from "./broken-body.ts";
import { type Listener, type ListenOptions, portTaken } from "./listener.ts";
import { upgradeOnDeno } from "./websocket-deno.ts";

/** Adapts a body to Deno, which prints a body's error: a short message, and nothing if the client has left. */
function carryOnDeno({ signal }: Request, body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  return withOwnFailure(body, (controller) => {
    if (signal.aborted) controller.close();
    else controller.error("Cannot finish a response: the upstream broke it off");
  });
}

/** What Deno knows of the connection of a request. */
export function connectionOnDeno(request: Request, remoteAddress: string): ConnectionInfo {
  return {
    remoteAddress,
    upgrade: (acceptance) => upgradeOnDeno(request, acceptance),
    carryBody: (body) => carryOnDeno(request, body),
  };
}

/** Serves HTTP on Deno, where `deno serve` does not. */
export function listenOnDeno(gateway: Gateway, options: ListenOptions): Listener {
  const { hostname, port, isShared: reusePort } = options;
  const ended = new AbortController();
  const server = start();
  let isStopping = false;
  return {
    port: server.addr.transport === "tcp" ? server.addr.port : port,
    useTls() {}, // TLS is served by Node's server
    stop() {
      isStopping = true;
      // it rejects if connections are ended meanwhile
      server.shutdown().catch(() => {});
    },
    async close() {
      server.finished.catch(() => {});
      // a server that stops cannot be aborted too: Deno reports an uncaught error. Its connections end with the process
      if (!isStopping) ended.abort();
    },
  };

  function start() {
    try {
      return Deno.serve(
        { hostname, port, reusePort, signal: ended.signal, onListen: () => {} },
        (request, { remoteAddr }) =>
          gateway.fetch(
            request,
            connectionOnDeno(request, remoteAddr.transport === "tcp" ? remoteAddr.hostname : "unknown"),
          ),
      );
    } catch (error) {
      if (error instanceof Deno.errors.AddrInUse) throw portTaken(options, error);
      throw error;
    }
  }
}
