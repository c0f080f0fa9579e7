/**
 * The members of the runtimes' own globals that `src/serve` uses. Each runtime's full types would contradict the
 * others' and Node's. Globals of a runtime other than the running one are undefined: ask `typeof Bun` first.
 */

/** Options of `fetch` the DOM types do not know; all but the last are Bun's. */
interface RequestInit {
  /** False: the body is handed on as received, `content-encoding` included. */
  decompress?: boolean;
  /** False: without Bun's own five minutes. */
  timeout?: boolean;
  /** False: the proxy variables of the environment are ignored. */
  proxy?: boolean;
  /** Needed for a streamed body (a standard member the DOM types lack). */
  duplex?: "half";
}

interface BunServer {
  readonly port: number;
  /** Address of the peer, null once it is gone. */
  requestIP(request: Request): { address: string; port: number; family: string } | null;
  /** Accepts a WebSocket handshake; false when it cannot. */
  upgrade(request: Request, options: { headers?: Record<string, string>; data: unknown }): boolean;
  /** Takes no more connections; with `true` also ends those there are. */
  stop(closeActiveConnections?: boolean): Promise<void>;
}

/** A WebSocket of Bun's server. */
interface BunServerSocket<Data> {
  readonly data: Data;
  /** Bytes that were sent; -1: they wait; 0: they were dropped. */
  send(message: string | Uint8Array): number;
  close(code?: number, reason?: string): void;
  terminate(): void;
  /** Bytes that wait to be sent. */
  getBufferedAmount(): number;
}

interface BunSocketHandlers<Data> {
  /** Largest message, in bytes. */
  maxPayloadLength?: number;
  /** Seconds of silence after which a WebSocket is closed. */
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
  /** Seconds without a byte after which a connection is closed, at most 255; 0: never. */
  idleTimeout?: number;
  maxRequestBodySize?: number;
  development?: boolean;
  /** Undefined: the request was upgraded. */
  fetch(request: Request, server: BunServer): Response | Promise<Response | undefined>;
  /** Handlers of upgraded requests. Their data is whatever `upgrade` was given. */
  websocket?: BunSocketHandlers<unknown>;
}

declare const Bun: {
  serve(options: BunServeOptions): BunServer;
};

declare const Deno: {
  upgradeWebSocket(request: Request, options?: { idleTimeout?: number }): { socket: WebSocket; response: Response };
};
