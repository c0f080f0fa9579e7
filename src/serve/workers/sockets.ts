import { chmodSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { AnswersOf } from "../../lib/crew.ts";
import { Link } from "../../lib/link.ts";

/** Longest path of a socket in the file system: systems take about 104 bytes. */
const mostPathBytes = 100;

/** A link over a connected socket. */
function linkOver(socket: Socket, answersOf: AnswersOf): Link {
  const carrier = {
    write: (bytes: Uint8Array) => void socket.write(bytes),
    end: () => void socket.end(),
    // each write is a call of the system: requests of one turn share it
    soon: (flush: () => void) => void setImmediate(flush),
  };
  const link: Link = new Link(
    carrier,
    answersOf(() => link),
  );
  socket.on("data", (piece: Uint8Array) => link.receive(piece));
  socket.on("error", () => {}); // a close event follows
  socket.on("close", () => link.close());
  return link;
}

/**
 * Connects to a socket of this machine.
 *
 * @throws If nobody listens there.
 */
export function connectLink(path: string, answersOf: AnswersOf): Promise<Link> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(linkOver(socket, answersOf));
    });
  });
}

/** A socket of this machine on which other processes of the gateway connect. */
export interface LinkServer {
  close(): void;
}

/** @throws {TypeError} If the path is too long for a socket. */
export function checkSocketPath(path: string, remedy: string): void {
  if (new TextEncoder().encode(path).length <= mostPathBytes) return;
  throw new TypeError(`Cannot use ${path} as a socket: its path is longer than ${mostPathBytes} bytes; ${remedy}`);
}

/** Listens on a socket of this machine that only its owner can reach. Whoever listened there before must have ended. */
export async function serveLinks(
  path: string,
  answersOf: AnswersOf,
  connected: (link: Link) => void = () => {},
): Promise<LinkServer> {
  const links = new Set<Link>();
  rmSync(path, { force: true });
  const server = createServer((socket) => {
    const link = linkOver(socket, answersOf);
    links.add(link);
    link.onClose(() => links.delete(link));
    connected(link);
  });
  await listenAt(server, path);
  chmodSync(path, 0o600);
  return {
    close() {
      server.close();
      for (const link of [...links]) link.close();
      rmSync(path, { force: true });
    },
  };
}

function listenAt(server: Server, path: string): Promise<AddressInfo | string | null> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path, () => resolve(server.address()));
  });
}
