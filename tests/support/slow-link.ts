import { createConnection, createServer, type Socket } from "node:net";

/** A network between a client and a server on loopback that takes its time. */
export interface SlowLink {
  /** The address of the server, through the link. */
  readonly url: string;
  /** Milliseconds each way of what is sent from now on. */
  delayMs: number;
  /** While true, nothing arrives and nothing is refused. */
  isSilent: boolean;
  close(): Promise<void>;
}

/** Sends on what comes, in order and late; what comes after a delay ended does not overtake what came in it. */
function relay(from: Socket, to: Socket, link: SlowLink): void {
  const waiting: (() => unknown)[] = [];
  let lastDueAt = 0;
  const later = (act: () => unknown) => {
    const now = performance.now();
    lastDueAt = Math.max(lastDueAt, now + link.delayMs);
    waiting.push(act);
    setTimeout(() => waiting.shift()?.(), lastDueAt - now);
  };
  from.on("data", (bytes) => {
    if (!link.isSilent) later(() => to.destroyed || to.write(bytes));
  });
  from.on("close", () => later(() => to.destroy()));
  from.on("error", () => to.destroy());
}

/** Opens a link to a server. */
export async function openSlowLink(target: string, delayMs: number): Promise<SlowLink> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection({ host: hostname, port: Number(port) });
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
    }
    relay(client, upstream, link);
    relay(upstream, client, link);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const own = address !== null && typeof address === "object" ? address.port : 0;
  const link: SlowLink = {
    url: `http://127.0.0.1:${own}`,
    delayMs,
    isSilent: false,
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return link;
}
