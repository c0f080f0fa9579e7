import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from "node:net";

/** A loopback server of a test. */
export interface Upstream {
  /** Address with scheme and port, without a trailing slash. */
  url: string;
  port: number;
  /** Connections accepted so far. */
  readonly connections: number;
  /** Sockets open now. */
  readonly sockets: ReadonlySet<Socket>;
  /** Stops listening and ends what is still open. */
  close(): Promise<void>;
}

/** An HTTP server on 127.0.0.1, or on another loopback address. */
export function startServer(handler: RequestListener, host = "127.0.0.1"): Promise<Upstream> {
  return open(createServer(handler), host);
}

/** A TCP server on 127.0.0.1 that is handed each socket; socket errors are swallowed. */
export function startSocketServer(onSocket: (socket: Socket) => void): Promise<Upstream> {
  return open(createSocketServer(onSocket), "127.0.0.1");
}

function open(server: Server, host: string): Promise<Upstream> {
  const sockets = new Set<Socket>();
  let connections = 0;
  server.on("connection", (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, host, () => {
      // a server that listens on a port has an address object
      const { port } = server.address() as AddressInfo;
      const name = host.includes(":") ? `[${host}]` : host;
      resolve({
        url: `http://${name}:${port}`,
        port,
        sockets,
        close,
        get connections() {
          return connections;
        },
      });
    });
  });
}

/** Waits until `condition` holds, at most a second. */
export async function eventually(condition: () => boolean, what: string): Promise<void> {
  const until = performance.now() + 1_000;
  while (!condition()) {
    if (performance.now() > until) throw new Error(`Waited a second for this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
