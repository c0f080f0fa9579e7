import type { SocketAcceptance, SocketClose, SocketEnd, SocketListener, SocketMessage } from "../lib/websocket.ts";

/** Seconds after which Deno asks a silent client for a sign of life, and cuts it off without one. */
const idleSeconds = 30;
/** How often it is looked whether what waits was sent: Deno does not tell. */
const lookEveryMs = 20;

/** A WebSocket of Deno's server. Its peer cannot be held back. */
class DenoSocketEnd implements SocketEnd {
  readonly #socket: WebSocket;
  #listener: SocketListener | undefined;
  /** What is to be sent once the handshake is done. */
  #early: SocketMessage[] = [];
  #earlyBytes = 0;
  #earlyClose: SocketClose | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => this.#opened());
    socket.addEventListener("error", () => {}); // a close always follows
    socket.addEventListener("close", ({ code, reason }) => {
      clearInterval(this.#timer);
      const listener = this.#listener;
      this.#listener = undefined;
      // Deno gives no code for a connection that broke off
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
    // the DOM types want bytes that no other thread shares; nothing here shares
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
 * Accepts a handshake; the result is the answer to it.
 *
 * @throws If the request is no handshake, or the client left.
 */
export function upgradeOnDeno(request: Request, { headers, protocol, open }: SocketAcceptance): Response {
  const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: idleSeconds });
  // not as its option: Deno finds no subprotocol in a list that is written without spaces
  if (protocol !== undefined) response.headers.set("sec-websocket-protocol", protocol);
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  open(new DenoSocketEnd(socket));
  return response;
}
