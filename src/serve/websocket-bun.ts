import type { Server, ServerWebSocket, WebSocketHandler } from "bun";
import type { SocketAcceptance, SocketClose, SocketEnd, SocketListener, SocketMessage } from "../lib/websocket.ts";

/** Seconds of silence after which Bun closes a WebSocket; it sends pings before. */
const idleSeconds = 60;

/** What a WebSocket of Bun's carries: who takes it over, then its end. */
export interface BunSocketData {
  acceptance: SocketAcceptance;
  end?: BunSocketEnd;
}

/** A WebSocket of Bun's server. Its peer cannot be held back. */
class BunSocketEnd implements SocketEnd {
  readonly #socket: ServerWebSocket<BunSocketData>;
  #listener: SocketListener | undefined;

  constructor(socket: ServerWebSocket<BunSocketData>) {
    this.#socket = socket;
  }

  get bufferedBytes(): number {
    return this.#socket.getBufferedAmount();
  }

  listen(listener: SocketListener): void {
    this.#listener = listener;
  }

  send(message: SocketMessage): void {
    this.#socket.send(message);
  }

  close({ code, reason }: SocketClose): void {
    this.#socket.close(code, reason);
  }

  terminate(): void {
    this.#socket.terminate();
  }

  pause(): void {}

  resume(): void {}

  hear(message: SocketMessage): void {
    this.#listener?.message(message);
  }

  drained(): void {
    this.#listener?.drain();
  }

  closed(close: SocketClose): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.close(close);
  }
}

/** Handlers of every WebSocket of a server on Bun. */
export const bunSocketHandlers: WebSocketHandler<BunSocketData> = {
  // beyond it Bun breaks off; messages above the gateway's own, smaller bound are told that they are too large
  maxPayloadLength: 8 * 1024 * 1024,
  idleTimeout: idleSeconds,
  sendPings: true,
  perMessageDeflate: false,
  open(socket) {
    const end = new BunSocketEnd(socket);
    socket.data.end = end;
    socket.data.acceptance.open(end);
  },
  message: (socket, message) => socket.data.end?.hear(message),
  drain: (socket) => socket.data.end?.drained(),
  close: (socket, code, reason) => socket.data.end?.closed({ code, reason }),
};

/**
 * Accepts a handshake.
 *
 * @throws {Error} If the client left.
 */
export function upgradeOnBun(request: Request, server: Server<BunSocketData>, acceptance: SocketAcceptance): void {
  // without this header Bun would take the first subprotocol that is offered
  const headers = { ...acceptance.headers, "sec-websocket-protocol": acceptance.protocol ?? "" };
  if (!server.upgrade(request, { headers, data: { acceptance } })) {
    throw new Error("Cannot accept the WebSocket: the client left");
  }
}
