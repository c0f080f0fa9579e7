/**
 * The members of the runtimes' own globals that `src/serve` uses. Each runtime's full types would contradict the
 * others' and Node's. Globals of a runtime other than the running one are undefined: ask `typeof Bun` first.
 */

/** Options of `fetch` the DOM types do not know; the first two are Bun's. */
interface RequestInit {
  /** False: the body is handed on as received, `content-encoding` included. */
  decompress?: boolean;
  /** False: without Bun's own five minutes. */
  timeout?: boolean;
  /** Needed for a streamed body (a standard member the DOM types lack). */
  duplex?: "half";
}

interface BunServer {
  readonly port: number;
  readonly hostname: string;
  readonly url: URL;
  readonly pendingRequests: number;
  /** Address of the peer, null once it is gone. */
  requestIP(request: Request): { address: string; port: number; family: string } | null;
  /** Idle seconds allowed to this request; 0: no limit. */
  timeout(request: Request, seconds: number): void;
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
  reusePort?: boolean;
  development?: boolean;
  /** Undefined: the request was upgraded. */
  fetch(request: Request, server: BunServer): Response | Promise<Response | undefined>;
  /** Handlers of upgraded requests. Their data is whatever `upgrade` was given. */
  websocket?: BunSocketHandlers<unknown>;
  error?(error: Error): Response | Promise<Response>;
}

declare const Bun: {
  readonly version: string;
  readonly main: string;
  serve(options: BunServeOptions): BunServer;
  gc(force: boolean): void;
};

interface DenoAddress {
  readonly transport: "tcp" | "udp" | "unix";
  readonly hostname: string;
  readonly port: number;
}

interface DenoServer {
  readonly addr: DenoAddress;
  readonly finished: Promise<void>;
  shutdown(): Promise<void>;
}

interface DenoServeOptions {
  port?: number;
  hostname?: string;
  reusePort?: boolean;
  signal?: AbortSignal;
  onListen?(address: DenoAddress): void;
  onError?(error: unknown): Response | Promise<Response>;
}

type DenoSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

declare const Deno: {
  readonly version: { readonly deno: string };
  readonly args: readonly string[];
  readonly mainModule: string;
  readonly build: { readonly os: string; readonly arch: string };
  readonly env: {
    get(name: string): string | undefined;
    set(name: string, value: string): void;
    toObject(): Record<string, string>;
  };
  readonly stdin: { isTerminal(): boolean };
  readonly stdout: { isTerminal(): boolean };
  serve(
    options: DenoServeOptions,
    handler: (request: Request, info: { readonly remoteAddr: DenoAddress }) => Response | Promise<Response>,
  ): DenoServer;
  upgradeWebSocket(request: Request, options?: { idleTimeout?: number }): { socket: WebSocket; response: Response };
  addSignalListener(signal: DenoSignal, listener: () => void): void;
  removeSignalListener(signal: DenoSignal, listener: () => void): void;
  exit(code?: number): never;
};
