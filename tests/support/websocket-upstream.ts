import { type IncomingHttpHeaders, STATUS_CODES } from "node:http";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { startServer, type Upstream } from "./upstream.ts";

/** A handshake as an upstream received it. */
export interface ReceivedHandshake {
  /** Path with query. */
  path: string;
  headers: IncomingHttpHeaders;
  /** Subprotocols that were offered. */
  protocols: string[];
}

/** How an upstream refuses a handshake. */
export interface Refusal {
  status: number;
  body: string;
}

/** A loopback WebSocket server that records handshakes. */
export interface SocketUpstream extends Upstream {
  readonly handshakes: ReceivedHandshake[];
  /** WebSockets open now. */
  readonly clients: ReadonlySet<WebSocket>;
}

/** What an upstream does with handshakes and open WebSockets. */
export interface SocketScript {
  /** Called with each open WebSocket. */
  open?(socket: WebSocket, handshake: ReceivedHandshake): void;
  /** Refuses handshakes. */
  refuse?: Refusal;
  /** Leaves handshakes without an answer. */
  silent?: boolean;
  /** Chooses a subprotocol; by default the first one offered. */
  protocol?: string | false;
}

function refuseWith(socket: Duplex, { status, body }: Refusal): void {
  const length = Buffer.byteLength(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nx-request-id: req_refused\r\nconnection: close\r\n\r\n${body}`,
  );
}

/** Starts a WebSocket server on 127.0.0.1. */
export async function startSocketUpstream(script: SocketScript = {}): Promise<SocketUpstream> {
  const { protocol } = script;
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: 64 * 1024 * 1024,
    ...(protocol !== undefined && { handleProtocols: () => protocol }),
  });
  const handshakes: ReceivedHandshake[] = [];
  const upstream = await startServer(
    (_request, response) => response.writeHead(404).end(),
    "127.0.0.1",
    0,
    (server) =>
      server.on("upgrade", (request, socket: Duplex, head) => {
        socket.on("error", () => {});
        const protocols = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim());
        const handshake = { path: request.url ?? "", headers: request.headers, protocols };
        handshakes.push(handshake);
        if (script.silent) return socket.on("end", () => socket.end()).resume();
        if (script.refuse) return refuseWith(socket, script.refuse);
        sockets.handleUpgrade(request, socket, head, (opened) => {
          opened.on("error", () => {});
          script.open?.(opened, handshake);
        });
      }),
  );
  return Object.assign(upstream, { handshakes, clients: sockets.clients });
}

/** How a handshake or a WebSocket of a client ended. */
export interface ClientEnd {
  code: number;
  reason: string;
}

/** A client that records its messages. */
export interface SocketClient {
  readonly socket: WebSocket;
  readonly messages: (string | Buffer)[];
  readonly ended: Promise<ClientEnd>;
}

/** Opens a WebSocket; rejects when it is refused. `askPlainly` shows the refusal. */
export function openClient(
  url: string,
  { headers = {}, protocols = [] }: { headers?: Record<string, string>; protocols?: string[] } = {},
): Promise<SocketClient> {
  const socket = new WebSocket(url.replace(/^http/, "ws"), protocols, { headers, maxPayload: 64 * 1024 * 1024 });
  const messages: (string | Buffer)[] = [];
  socket.on("message", (data: Buffer, isBinary: boolean) => messages.push(isBinary ? data : data.toString()));
  const ended = new Promise<ClientEnd>((resolve) =>
    socket.on("close", (code: number, reason: Buffer) => resolve({ code, reason: reason.toString() })),
  );
  return new Promise((resolve, reject) => {
    socket.on("open", () => resolve({ socket, messages, ended }));
    socket.on("error", reject);
  });
}

/** The answer to a handshake, as it stands on the wire. */
export interface PlainAnswer {
  status: number;
  /** By their names in lower case. */
  headers: Record<string, string>;
  body: string;
}

/** Headers of a handshake that is in order. */
export const handshakeHeaders: Readonly<Record<string, string>> = {
  connection: "Upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
};

/** Sends a handshake over a plain socket and reads what is answered; an accepted one is then broken off. */
export function askPlainly(
  url: string,
  headers: Readonly<Record<string, string | undefined>> = {},
  signal?: AbortSignal,
): Promise<PlainAnswer> {
  const { hostname, port, host, pathname, search } = new URL(url);
  const lines = Object.entries({ host, ...handshakeHeaders, ...headers })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`);
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\n${lines.join("")}\r\n`),
    );
    const finish = () => {
      const answer = parseAnswer(received);
      if (!answer) return;
      socket.destroy();
      resolve(answer);
    };
    signal?.addEventListener("abort", () => socket.destroy());
    socket.setEncoding("utf8");
    socket.setTimeout(15_000, () => socket.destroy(new Error("Waited 15 s for the answer to a handshake")));
    socket.on("data", (text: string) => {
      received += text;
      finish();
    });
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`The connection ended before an answer was whole: ${received}`)));
  });
}

/** An answer once all of it is there. */
function parseAnswer(text: string): PlainAnswer | undefined {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  const status = Number(first.split(" ")[1]);
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const body = text.slice(end + 4);
  const length = Number(headers["content-length"] ?? 0);
  return status === 101 || Buffer.byteLength(body) >= length ? { status, headers, body } : undefined;
}
