import { createServer, type RequestListener } from "node:http";
import { workerData } from "node:worker_threads";
import { version } from "../version.ts";
import type { HealthRequest, HealthSettings, ReadyAnswer } from "./health-thread.ts";
import { hasCode } from "./keys-file.ts";
import { serveThread } from "./thread.ts";

/** A process reports more often; older states are not shown as those of now. */
const oldMs = 5_000;

const { hostname, port, stalledMs }: HealthSettings = workerData;

/** The last report of the process. */
let reported: { answer: ReadyAnswer; at: number } | undefined;

const healthy: ReadyAnswer = {
  status: 200,
  body: JSON.stringify({ status: "success", message: "Server is healthy", version }),
};

function refusal(message: string, code: string): ReadyAnswer {
  return { status: 503, body: JSON.stringify({ error: { message, type: "server_error", param: null, code } }) };
}

function answerOf(path: string): ReadyAnswer | undefined {
  const silentMs = performance.now() - (reported?.at ?? performance.now());
  if (path === "/health") {
    return silentMs < stalledMs ? healthy : refusal("Server does not respond: its event loop is held", "stalled");
  }
  if (path !== "/ready") return undefined;
  if (!reported) return refusal("Server is starting or stopping", "not_ready");
  return silentMs < oldMs ? reported.answer : refusal("Server is busy: its event loop is held", "not_ready");
}

const respond: RequestListener = (request, response) => {
  const [path = ""] = (request.url ?? "").split("?");
  const isRead = request.method === "GET" || request.method === "HEAD";
  const { status, body } = (isRead && answerOf(path)) || { status: 404, body: "{}" };
  response.writeHead(status, {
    "content-type": "application/json",
    ...(status === 503 && { "retry-after": "1" }),
    connection: "close",
  });
  response.end(request.method === "HEAD" ? undefined : body);
};

/** Listens; the result is the port, or 0 if another process listens on it. */
function listen(): Promise<number> {
  const server = createServer({ headersTimeout: 5_000, requestTimeout: 5_000, maxHeaderSize: 16 * 1024 }, respond);
  return new Promise((resolve, reject) => {
    server.once("error", (error) => (hasCode(error, "EADDRINUSE") ? resolve(0) : reject(error)));
    server.listen({ port, host: hostname }, () => {
      const address = server.address();
      resolve(typeof address === "object" && address !== null ? address.port : port);
    });
  });
}

serveThread(async (request: HealthRequest) => {
  if (request.kind === "listen") return listen();
  reported = { answer: request.answer, at: performance.now() };
  return 0;
});
