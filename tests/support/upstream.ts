import {
  createServer,
  type Server as HttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as openRequest,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { type AddressInfo, createServer as createSocketServer, type Server, type Socket } from "node:net";

/** A loopback server of a test. */
export interface Upstream {
  /** Address with scheme and port, without a trailing slash. */
  url: string;
  port: number;
  /** Connections accepted so far. */
  readonly connections: number;
  /** Sockets open now. */
  readonly sockets: ReadonlySet<Socket>;
  /** Stops listening and ends what is still open. */
  close(): Promise<void>;
}

/** An HTTP server on 127.0.0.1, or on another loopback address; on any free port, or on the given one. */
export function startServer(
  handler: RequestListener,
  host = "127.0.0.1",
  port = 0,
  prepare: (server: HttpServer) => unknown = () => {},
): Promise<Upstream> {
  const server = createServer(handler);
  prepare(server);
  // a connection closed for its age just when it is used again would look like a failure
  server.keepAliveTimeout = 0;
  return open(server, host, port);
}

/** A TCP server on 127.0.0.1 that passes each socket on; socket errors are ignored. */
export function startSocketServer(onSocket: (socket: Socket) => void): Promise<Upstream> {
  return open(createSocketServer(onSocket), "127.0.0.1");
}

function open(server: Server, host: string, wantedPort = 0): Promise<Upstream> {
  const sockets = new Set<Socket>();
  let connections = 0;
  let isClosed = false;
  server.on("connection", (socket: Socket) => {
    connections += 1;
    // one that was accepted before the end and is announced after it
    if (isClosed) socket.destroy();
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  const close = () =>
    new Promise<void>((resolve) => {
      isClosed = true;
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(wantedPort, host, () => {
      // a server that listens on a port has an address object
      const { port } = server.address() as AddressInfo;
      const name = host.includes(":") ? `[${host}]` : host;
      resolve({
        url: `http://${name}:${port}`,
        port,
        sockets,
        close,
        get connections() {
          return connections;
        },
      });
    });
  });
}

/** Waits until `condition` holds, at most ten seconds: other test processes may be using the processor. */
export async function eventually(condition: () => boolean, what: string): Promise<void> {
  const until = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > until) throw new Error(`Waited a minute for this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A request as an upstream received it, or an answer as a client did. */
export interface Received {
  /** Lower-case names; repeated headers joined. */
  headers: IncomingHttpHeaders;
  /** Names and values in turn, as they were sent. */
  rawHeaders: string[];
  body: Buffer;
}

/** A request as an upstream received it, whole. */
export interface ReceivedRequest extends Received {
  method: string;
  /** Path with query. */
  path: string;
  text: string;
}

/** A loopback server that records its requests. */
export interface RecordingUpstream extends Upstream {
  readonly requests: ReceivedRequest[];
}

/** All bytes of a message. */
export async function readMessage(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** An HTTP server that reads each request whole, keeps it and has it answered. A failing script ends the connection. */
export async function startRecordingUpstream(
  answer: (request: ReceivedRequest, response: ServerResponse) => unknown,
): Promise<RecordingUpstream> {
  const requests: ReceivedRequest[] = [];
  const serve = async (message: IncomingMessage, response: ServerResponse) => {
    const { method = "", url = "", headers, rawHeaders } = message;
    const body = await readMessage(message);
    const request = { method, path: url, headers, rawHeaders, body, text: body.toString() };
    requests.push(request);
    await answer(request, response);
  };
  const upstream = await startServer((message, response) => {
    serve(message, response).catch(() => message.socket.destroy());
  });
  return Object.assign(upstream, { requests });
}

/** Sends one request without the conveniences of `fetch`: no decoding, no redirects, no additional headers. */
export function sendPlain(
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string | Uint8Array } = {},
): Promise<Received & { status: number }> {
  const { method = "GET", headers = {}, body } = options;
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const request = openRequest(url, { method, headers: { ...length, ...headers }, agent: false }, (message) => {
      readMessage(message).then(
        (bytes) =>
          resolve({
            status: message.statusCode ?? 0,
            headers: message.headers,
            rawHeaders: message.rawHeaders,
            body: bytes,
          }),
        reject,
      );
    });
    request.on("error", reject);
    request.end(body);
  });
}
