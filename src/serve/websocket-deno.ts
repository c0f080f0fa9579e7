import type { SocketClose, SocketMessage } from "../../packages/websocket-frames/src/frames.ts";
import type { SocketAcceptance, SocketEnd, SocketListener } from "../lib/websocket.ts";

/** Seconds after which Deno pings an idle client, and disconnects one that does not respond. */
const idleSeconds = 30;
/** How often the send buffer is checked: Deno has no event for it. */
const lookEveryMs = 20;

/** One end of a Deno WebSocket, which has no backpressure for received messages. */
class DenoSocketEnd implements SocketEnd {
  readonly #socket: WebSocket;
  #listener: SocketListener | undefined;
  /** Messages to send once the handshake is done. */
  #early: SocketMessage[] = [];
  #earlyBytes = 0;
  #earlyClose: SocketClose | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => this.#opened());
    socket.addEventListener("error", () => {}); // a close event always follows
    socket.addEventListener("close", ({ code, reason }) => {
      clearInterval(this.#timer);
      const listener = this.#listener;
      this.#listener = undefined;
      // Deno reports no code for a lost connection
      listener?.close({ code: code || 1006, reason: code ? reason : "" });
    });
  }

  get bufferedBytes(): number {
    return this.#earlyBytes + this.#socket.bufferedAmount;
  }

  listen(listener: SocketListener): void {
    this.#listener = listener;
    this.#socket.addEventListener("message", ({ data }) => {
      this.#listener?.message(data instanceof ArrayBuffer ? new Uint8Array(data) : String(data));
    });
  }

  send(message: SocketMessage): void {
    if (this.#socket.readyState === WebSocket.CONNECTING) {
      this.#early.push(message);
      this.#earlyBytes += message.length;
      return;
    }
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    // the DOM types exclude shared memory, which is not used here
    this.#socket.send(message as string | Uint8Array<ArrayBuffer>);
    if (this.#socket.bufferedAmount > 0) this.#timer ??= setInterval(() => this.#look(), lookEveryMs);
  }

  close(close: SocketClose): void {
    if (this.#socket.readyState === WebSocket.CONNECTING) this.#earlyClose = close;
    else this.#socket.close(close.code, close.reason);
  }

  terminate(): void {
    this.#socket.close();
  }

  pause(): void {}

  resume(): void {}

  #opened(): void {
    for (const message of this.#early.splice(0)) this.send(message);
    this.#earlyBytes = 0;
    if (this.#earlyClose) this.close(this.#earlyClose);
    this.#listener?.drain();
  }

  #look(): void {
    if (this.#socket.bufferedAmount === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    this.#listener?.drain();
  }
}

/**
 * Accepts a handshake; returns the response to it.
 *
 * @throws If the request is not a handshake, or the client left.
 */
export function upgradeOnDeno(request: Request, { headers, protocol, open }: SocketAcceptance): Response {
  const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: idleSeconds });
  // not as an option: Deno finds no subprotocol in a list without spaces
  if (protocol !== undefined) response.headers.set("sec-websocket-protocol", protocol);
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  open(new DenoSocketEnd(socket));
  return response;
}
