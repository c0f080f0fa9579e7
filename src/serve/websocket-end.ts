import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { SocketClose, SocketMessage } from "../../packages/websocket-frames/src/frames.ts";
import {
  encodeClose,
  encodeFrame,
  encodeMessage,
  FrameReader,
  opcodes,
  type SocketEvent,
  SocketProtocolError,
} from "../../packages/websocket-frames/src/frames.ts";
import type { SocketEnd, SocketListener } from "../lib/websocket.ts";

/** Time for a peer to respond to a close and to disconnect. */
const goodbyeMs = 1_000;

const lost: SocketClose = { code: 1006, reason: "" };

/** Options of a WebSocket over a socket. */
interface SocketEndOptions {
  /** Which side this is: clients mask their frames. */
  role: "client" | "server";
  maxMessageBytes: number;
  /** Bytes that arrived with the handshake. */
  head: Uint8Array;
}

/** A WebSocket over a socket, after its handshake. */
export class RawSocketEnd implements SocketEnd {
  readonly #socket: Socket;
  readonly #isClient: boolean;
  readonly #reader: FrameReader;
  readonly #head: Uint8Array;
  #listener: SocketListener | undefined;
  #closeSent = false;
  #closed = false;
  #alive = true;

  constructor(socket: Socket, { role, maxMessageBytes, head }: SocketEndOptions) {
    this.#socket = socket;
    this.#isClient = role === "client";
    this.#reader = new FrameReader({ expectsMask: !this.#isClient, maxMessageBytes });
    this.#head = head;
    socket.setNoDelay(true);
    socket.setTimeout(0);
    socket.pause();
    socket.on("error", () => {}); // a close event always follows
    socket.on("close", () => this.#finish(lost));
    socket.on("end", () => socket.destroy());
    socket.on("drain", () => this.#listener?.drain());
  }

  get bufferedBytes(): number {
    return this.#socket.writableLength;
  }

  listen(listener: SocketListener): void {
    this.#listener = listener;
    if (this.#socket.destroyed) {
      // the peer left before anything listened
      queueMicrotask(() => this.#reportClose(lost));
      return;
    }
    this.#socket.on("data", (bytes: Uint8Array) => this.#read(bytes));
    if (this.#head.length > 0) this.#read(this.#head);
    this.#socket.resume();
  }

  send(message: SocketMessage): void {
    if (!this.#closeSent && !this.#closed) this.#write(encodeMessage(message, this.#mask()));
  }

  close(close: SocketClose): void {
    if (this.#closeSent || this.#closed) return;
    this.#closeSent = true;
    this.#write(encodeClose(close, this.#mask()));
    // the peer's close frame must be read
    this.#socket.resume();
    this.#destroyLater();
  }

  terminate(): void {
    this.#socket.destroy();
  }

  pause(): void {
    if (!this.#closeSent) this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  probe(): void {
    const isSilent = !this.#alive;
    this.#alive = false;
    if (isSilent) this.terminate();
    else if (!this.#closeSent) this.#write(encodeFrame(opcodes.ping, new Uint8Array(0), this.#mask()));
  }

  #mask(): Uint8Array | undefined {
    return this.#isClient ? randomBytes(4) : undefined;
  }

  #write(frame: Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(frame);
  }

  #destroyLater(): void {
    const timer = setTimeout(() => this.#socket.destroy(), goodbyeMs);
    this.#socket.once("close", () => clearTimeout(timer));
  }

  #read(bytes: Uint8Array): void {
    this.#alive = true;
    if (this.#closed) return;
    try {
      for (const event of this.#reader.push(bytes)) this.#hear(event);
    } catch (error) {
      if (!(error instanceof SocketProtocolError)) throw error;
      this.close(error.close);
      this.#finish(error.close);
    }
  }

  #hear(event: SocketEvent): void {
    switch (event.kind) {
      case "message":
        if (!this.#closeSent) this.#listener?.message(event.message);
        return;
      case "ping":
        if (!this.#closeSent) this.#write(encodeFrame(opcodes.pong, event.payload, this.#mask()));
        return;
      case "pong":
        return;
      case "close":
        this.#answerClose(event.close);
    }
  }

  /** Responds to a close; then the server disconnects (RFC 6455, section 7.1.1). */
  #answerClose(close: SocketClose): void {
    if (!this.#closeSent) {
      this.#closeSent = true;
      this.#write(encodeClose({ code: close.code, reason: "" }, this.#mask()));
      this.#destroyLater();
    }
    if (!this.#isClient) this.#socket.end();
    this.#finish(close);
  }

  #finish(close: SocketClose): void {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#listener) this.#reportClose(close);
  }

  #reportClose(close: SocketClose): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.close(close);
  }
}
