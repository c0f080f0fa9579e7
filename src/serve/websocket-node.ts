import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { Gateway } from "../gateway.ts";
import { isValidHost } from "../lib/path.ts";
import type { SocketAcceptance } from "../lib/websocket.ts";
import { headersOf } from "./transport-streams.ts";
import { acceptKeyOf } from "./websocket-connect.ts";
import { RawSocketEnd } from "./websocket-end.ts";

/** Bytes that a client may send before the response to its handshake. */
const maxEarlyBytes = 64 * 1024;

/** Whether Node passes a request to the `upgrade` event: only WebSocket requests, without a body. */
export function isUpgrade({ method, headers }: IncomingMessage): boolean {
  return method === "GET" && headers.upgrade?.toLowerCase() === "websocket";
}

/** Converts the message to a request. The gateway rejects hosts that do not form a valid address. */
function toRequest(message: IncomingMessage, signal: AbortSignal): Request {
  const host = message.headers.host ?? "";
  const path = message.url?.startsWith("/") ? message.url : "/";
  const scheme = message.socket instanceof TLSSocket ? "https" : "http";
  const url = `${scheme}://${isValidHost(host) ? host : "invalid.invalid"}${path}`;
  return new Request(url, { method: message.method ?? "GET", headers: headersOf(message), signal });
}

function headText(status: number, headers: Iterable<readonly [string, string]>): string {
  const lines = Array.from(headers, ([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...lines, "", ""].join("\r\n");
}

/** Writes a response to a connection that Node no longer handles, and ends it. */
async function writeAnswer(socket: Socket, response: Response): Promise<void> {
  const body = new Uint8Array(await response.arrayBuffer());
  const headers = new Headers(response.headers);
  for (const name of ["transfer-encoding", "connection"]) headers.delete(name);
  headers.set("content-length", String(body.length));
  headers.set("connection", "close");
  socket.write(headText(response.status, headers), "latin1");
  socket.end(body);
}

function acceptOn(
  socket: Socket,
  message: IncomingMessage,
  { acceptance, head }: { acceptance: SocketAcceptance; head: Uint8Array },
): Response {
  const { headers, protocol, maxMessageBytes, open } = acceptance;
  if (socket.destroyed || !socket.writable) throw new Error("Cannot accept the WebSocket: the client left");
  const lines = {
    ...headers,
    upgrade: "websocket",
    connection: "Upgrade",
    "sec-websocket-accept": acceptKeyOf(message.headers["sec-websocket-key"] ?? ""),
    ...(protocol !== undefined && { "sec-websocket-protocol": protocol }),
  };
  socket.write(headText(101, Object.entries(lines)), "latin1");
  open(new RawSocketEnd(socket, { role: "server", maxMessageBytes, head }));
  return new Response(null);
}

/**
 * Reads a socket before the response to its handshake, which is the only way to notice that the client left. The result
 * stops reading and returns what arrived: clients should wait for the response, but need not.
 */
function watchSocket(socket: Socket, head: Uint8Array): () => Uint8Array {
  let early: Buffer = Buffer.from(head);
  const onData = (bytes: Buffer) => {
    early = Buffer.concat([early, bytes]);
    if (early.length > maxEarlyBytes) socket.destroy();
  };
  const onEnd = () => socket.destroy();
  socket.on("data", onData);
  socket.on("end", onEnd);
  return () => {
    socket.pause();
    socket.off("data", onData);
    socket.off("end", onEnd);
    return early;
  };
}

/** Handles the upgrade requests of a server. The result ends the connections that became WebSockets. */
export function serveUpgrades(server: Server, gateway: Gateway): () => void {
  const sockets = new Set<Socket>();
  server.on("upgrade", (message: IncomingMessage, socket: Socket, head: Uint8Array) => {
    const left = new AbortController();
    let isAccepted = false;
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      sockets.delete(socket);
      left.abort();
    });
    const takeEarly = watchSocket(socket, head);
    const answer = async () => {
      // Node before 24.9 passes on every upgrade request, such as HTTP/2, with its body
      if (message.method !== "GET") throw new Error("Cannot read the body of this request");
      const response = await gateway.fetch(toRequest(message, left.signal), {
        remoteAddress: socket.remoteAddress ?? "unknown",
        upgrade(acceptance) {
          const accepted = acceptOn(socket, message, { acceptance, head: takeEarly() });
          isAccepted = true;
          return accepted;
        },
      });
      if (!isAccepted) await writeAnswer(socket, response);
    };
    // an invalid path or header, or a response that failed
    answer().catch(() => socket.end(headText(400, [["connection", "close"]])));
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}
