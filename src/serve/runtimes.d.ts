/**
 * The runtimes' globals as far as `src/serve` uses them. Each runtime's complete types would contradict the
 * others' and Node's. Globals of other runtimes are undefined: check `typeof Bun` first.
 */

/** Options of `fetch` that the DOM types lack; all but the last are Bun's. */
interface RequestInit {
  /** False: the body is returned as received, with its `content-encoding`. */
  decompress?: boolean;
  /** False: without Bun's default limit of five minutes. */
  timeout?: boolean;
  /** False: ignores the proxy variables of the environment. */
  proxy?: boolean;
  /** Required for a streamed body (a standard field the DOM types lack). */
  duplex?: "half";
}

interface BunServer {
  readonly port: number;
  /** Address of the peer, null once it has left. */
  requestIP(request: Request): { address: string; port: number; family: string } | null;
  /** Accepts a WebSocket handshake; false if that fails. */
  upgrade(request: Request, options: { headers?: Record<string, string>; data: unknown }): boolean;
  /** Accepts no more connections; with `true` also closes open ones. */
  stop(closeActiveConnections?: boolean): Promise<void>;
}

/** A WebSocket of Bun's server. */
interface BunServerSocket<Data> {
  readonly data: Data;
  /** Bytes sent; -1: they are buffered; 0: they were dropped. */
  send(message: string | Uint8Array): number;
  close(code?: number, reason?: string): void;
  terminate(): void;
  /** Bytes in the send buffer. */
  getBufferedAmount(): number;
}

interface BunSocketHandlers<Data> {
  /** Largest message, in bytes. */
  maxPayloadLength?: number;
  /** Idle seconds after which a WebSocket is closed. */
  idleTimeout?: number;
  sendPings?: boolean;
  perMessageDeflate?: boolean;
  open?(socket: BunServerSocket<Data>): void;
  message(socket: BunServerSocket<Data>, message: string | Uint8Array): void;
  drain?(socket: BunServerSocket<Data>): void;
  close?(socket: BunServerSocket<Data>, code: number, reason: string): void;
}

interface BunServeOptions {
  port?: number;
  hostname?: string;
  /** Idle seconds after which a connection is closed, at most 255; 0: never. */
  idleTimeout?: number;
  maxRequestBodySize?: number;
  development?: boolean;
  /** Undefined: the request was upgraded. */
  fetch(request: Request, server: BunServer): Response | Promise<Response | undefined>;
  /** Handlers of upgraded requests. Their data is the argument of `upgrade`. */
  websocket?: BunSocketHandlers<unknown>;
}

declare const Bun: {
  serve(options: BunServeOptions): BunServer;
};

declare const Deno: {
  upgradeWebSocket(request: Request, options?: { idleTimeout?: number }): { socket: WebSocket; response: Response };
};
