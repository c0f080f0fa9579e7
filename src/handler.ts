import { releaseBodies } from "./context/held-bodies.ts";
import { type ConnectionInfo, createRequestContext, type RequestContext, type Services } from "./context.ts";
import type { Endpoint, Method } from "./endpoint.ts";
import { type ErrorForm, MethodNotAllowedError, NotFoundError, toErrorReply } from "./errors.ts";
import { answerEndpoint } from "./handler/kinds.ts";
import { mcpPreflight } from "./handler/mcp.ts";
import { allowPage, isOpenToPages, pageOriginOf, preflightHeaders } from "./handler/pages.ts";
import { EndpointRouter } from "./handler/router.ts";
import { type Reply, toResponse } from "./lib/reply.ts";

/** Answers one request. Never rejects. */
export type Handle = (request: Request, connection: ConnectionInfo) => Promise<Response>;

/** The answer to what no row takes. */
function answerUnrouted(context: RequestContext, rows: readonly Endpoint[], form: ErrorForm | undefined): Reply {
  const { method } = context;
  const methods: Method[] = [...new Set(rows.map((row) => row.method))];
  const known = methods.length > 0;
  // documents of discovery stand at the root
  const isOfMcp = form === "mcp" || context.url.pathname.startsWith("/.well-known/");
  if (known && isOfMcp && method === "OPTIONS") return mcpPreflight(context, methods);
  // clients of that protocol expect POST alone
  if (known && form === "mcp" && method !== "HEAD") throw new MethodNotAllowedError(methods);
  const allowed = [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
  if (known && method === "HEAD") return { status: 200, headers: {}, body: null };
  if (known && method === "OPTIONS") {
    const opened = pageOriginOf(context) === undefined ? [] : rows.filter(isOpenToPages).map((row) => row.method);
    const preflight = opened.length > 0 && preflightHeaders(context, [...new Set(opened)]);
    return { status: 204, headers: { allow: allowed.join(", "), ...preflight }, body: null };
  }
  if (known || !["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"].includes(method)) {
    throw new MethodNotAllowedError(known ? allowed : ["GET", "POST", "PUT", "DELETE"]);
  }
  throw new NotFoundError("Not Found: there is nothing at this path", { code: "not_found" });
}

/** Headers that are repeated under each alias of our prefix. */
const aliased = [
  "trace-id",
  "request-id",
  "provider",
  "last-used-option-index",
  "retry-attempt-count",
  "cache-status",
  "dropped-params",
];

/** Sets the headers that no answer lacks. The id is the trace id too where the caller gave none. */
export function withFixedHeaders(reply: Reply, { id, traceId = id }: { id: string; traceId?: string }): Reply {
  const { headers } = reply;
  headers["x-gateway-trace-id"] = traceId;
  headers["x-gateway-request-id"] = id;
  headers["cache-control"] ??= "no-store";
  headers["x-content-type-options"] = "nosniff";
  // proxies would hold events until the stream ends
  if (/^text\/event-stream\b/i.test(headers["content-type"] ?? "")) headers["x-accel-buffering"] = "no";
  return reply;
}

/** Sets what every answer carries; nothing an upstream sent can stand in its place. */
function finish(
  reply: Reply,
  connection: ConnectionInfo,
  ids: { id: string; traceId: string; startedAt: number; page: string | undefined },
  services: Services,
): Response {
  const { headers } = withFixedHeaders(reply, ids);
  for (const prefix of services.headerPrefixes.slice(1)) {
    for (const name of aliased) {
      const value = headers[`x-gateway-${name}`];
      if (value !== undefined) headers[prefix + name] = value;
    }
  }
  if (services.serverTiming) {
    headers["server-timing"] = `total;dur=${(services.clock.monotonic() - ids.startedAt).toFixed(1)}`;
  }
  if (ids.page !== undefined && !reply.upgrade) allowPage(headers, ids.page);
  if (!reply.upgrade) {
    // a client that sends over the same connection again would be refused in the end
    if (!services.isReady()) headers.connection = "close";
    if (connection.carryBody && reply.body instanceof ReadableStream) reply.body = connection.carryBody(reply.body);
    return toResponse(reply);
  }
  if (!connection.upgrade) throw new TypeError("Cannot accept a WebSocket: the host offers none");
  return connection.upgrade({ ...reply.upgrade, headers });
}

/** The trace id of a request that never got a context. */
function traceIdOf(request: Request, id: string): string {
  return request.headers.get("x-gateway-trace-id")?.slice(0, 256) || id;
}

/** Counts the requests that run. */
interface Activity {
  begin(): void;
  end(): void;
}

/** One function over all rows: the entry point that no route can leave out. */
export function createHandle(endpoints: readonly Endpoint[], services: Services, activity: Activity): Handle {
  const router = new EndpointRouter(endpoints);
  return async (request, connection) => {
    activity.begin();
    const id = services.createId();
    const startedAt = services.clock.monotonic();
    let context: RequestContext | undefined;
    let errorForm: ErrorForm | undefined;
    let page: string | undefined;
    let reply: Reply;
    try {
      context = createRequestContext(request, connection, { id, startedAt, services });
      const { pathname } = context.url;
      const endpoint = router.find(context);
      const rows = endpoint ? [endpoint] : router.rowsOf(pathname);
      if (services.pageOrigins.size > 0 && rows.some(isOpenToPages)) page = pageOriginOf(context);
      errorForm = endpoint ? endpoint.errorForm : router.errorFormOf(pathname);
      reply = endpoint ? await answerEndpoint(endpoint, context) : answerUnrouted(context, rows, errorForm);
    } catch (error) {
      reply = toErrorReply(error, errorForm);
    }
    // only what has no log row: metrics count the others by their rows
    if (reply.status >= 400 && !context?.log.operation) services.metrics.refused.note(reply.status);
    const ids = { id, traceId: context?.traceId ?? traceIdOf(request, id), startedAt, page };
    try {
      return finish(reply, connection, ids, services);
    } catch (error) {
      // a header or status no answer can carry, or a handshake whose client is gone
      reply.upgrade?.failed(error);
      // a body nobody will read ends what runs for it: the upstream call, its place among the running requests, its row
      if (reply.body instanceof ReadableStream) reply.body.cancel(error).catch(() => {});
      return finish(toErrorReply(error, errorForm), connection, ids, services);
    } finally {
      // a stream gives it back when it ends
      if (context && (!reply?.finished || context.log.settled)) releaseBodies(context);
      activity.end();
    }
  };
}
