import type { Server, ServerWebSocket, WebSocketHandler } from "bun";
import type { SocketClose, SocketMessage } from "../../packages/websocket-frames/src/frames.ts";
import type { SocketAcceptance, SocketEnd, SocketListener } from "../lib/websocket.ts";

/** Idle seconds after which Bun closes a WebSocket; it sends pings before that. */
const idleSeconds = 60;

/** Data of a Bun WebSocket: its future listener, then its end. */
export interface BunSocketData {
  acceptance: SocketAcceptance;
  end?: BunSocketEnd;
}

/** One end of a Bun WebSocket, which has no backpressure for received messages. */
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

/** Handlers for all WebSockets of a Bun server. */
export const bunSocketHandlers: WebSocketHandler<BunSocketData> = {
  // above this size Bun disconnects; messages above the gateway's own, lower limit get an error
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
  // without this header Bun would choose the first subprotocol offered
  const headers = { ...acceptance.headers, "sec-websocket-protocol": acceptance.protocol ?? "" };
  if (!server.upgrade(request, { headers, data: { acceptance } })) {
    throw new Error("Cannot accept the WebSocket: the client left");
  }
}
