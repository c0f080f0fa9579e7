import { serveAdmin } from "./admin/core/serve.ts";
import { serveScim } from "./admin/scim/serve.ts";
import { requireAccess } from "./auth/access.ts";
import type { Principal } from "./auth/principal.ts";
import { isScimAuthorization } from "./auth/scim-token.ts";
import { releaseBodies } from "./context/held-bodies.ts";
import {
  type CallerContext,
  type ConnectionInfo,
  clientAddressOf,
  createRequestContext,
  type RequestContext,
  type Services,
  withCaller,
} from "./context.ts";
import { requireRole } from "./endpoint/role.ts";
import {
  type AdminEndpoint,
  type Endpoint,
  type FormEndpoint,
  isAdminEndpoint,
  type JsonEndpoint,
  type KeyEndpoint,
  type Method,
  readFormBody,
  readJsonBody,
  requireBody,
  type ScimEndpoint,
} from "./endpoint.ts";
import {
  AuthenticationError,
  type ErrorForm,
  type GatewayError,
  HeadersTooLargeError,
  InvalidRequestError,
  MethodNotAllowedError,
  NotFoundError,
  toErrorReply,
  toGatewayError,
} from "./errors.ts";
import { createMethodTable, createRouter } from "./handler/router.ts";
import { finishCall } from "./inference/call/finish.ts";
import { routingHeaders } from "./inference/call/provider-response.ts";
import { isPassedOn, runPassthrough } from "./inference/passthrough/passthrough.ts";
import { noteUser, settleMetadata } from "./inference/target/caller-metadata.ts";
import { requireRequest } from "./inference/target/incomplete-request.ts";
import { withoutManagedSecrets } from "./inference/target/managed-secrets.ts";
import { isObject } from "./lib/json.ts";
import { hasEncodedSlash } from "./lib/path.ts";
import { type Ending, type Reply, toResponse } from "./lib/reply.ts";
import { takesSlashes } from "./lib/route-path.ts";
import { withEnd } from "./lib/stream-end.ts";
import { isSocketHandshake, readProtocolKey } from "./lib/websocket.ts";

/** Most characters of one config header. */
const maxConfigLength = 48 * 1024;

const realtimePath = /^\/v1\/realtime\/?$/;

/** Answers one request. Never rejects. */
export type Handle = (request: Request, connection: ConnectionInfo) => Promise<Response>;

/** What a request carries as credentials. */
type Credentials = Pick<CallerContext, "gatewayKey" | "providerCredential" | "providerAuthorization">;

/** The key a request carries; what else `authorization` holds is for the provider. */
function readCredentials(context: RequestContext): Credentials {
  const own = context.header("api-key");
  const { headers } = context;
  const authorization = headers.get("authorization");
  // beside our own key it is for the provider, whose scheme may be another
  const isForeign = own !== null && authorization !== undefined && otherScheme.test(authorization);
  const token = authorization === undefined || isForeign ? undefined : readBearer(authorization);
  const key = token ?? headers.get("x-api-key") ?? headers.get("x-goog-api-key") ?? readRealtimeKey(context);
  if (context.url.search !== "" && formOf(context) === "gemini") refuseKeyInAddress(context.url);
  // the same key twice is the gateway's twice
  const providerAuthorization = isForeign ? authorization : undefined;
  if (own !== null) {
    return { gatewayKey: own, providerCredential: key === own ? undefined : key, providerAuthorization };
  }
  if (key !== undefined) return { gatewayKey: key, providerCredential: undefined, providerAuthorization };
  throw new AuthenticationError("Cannot authenticate: send your gateway key in x-gateway-api-key", {
    code: "missing_api_key",
  });
}

/** Addresses are kept in logs of proxies and clients: a key in one is known to too many. */
function refuseKeyInAddress({ searchParams }: URL): void {
  const found = ["key", "access_token"].find((name) => searchParams.has(name));
  if (found === undefined) return;
  throw new AuthenticationError(`Cannot authenticate by ${found} in the address: send the key in x-goog-api-key`, {
    code: "credential_in_url",
    param: found,
  });
}

/** The key among the subprotocols of a realtime handshake: browsers can set no headers there. */
function readRealtimeKey({ method, url, headers }: RequestContext): string | undefined {
  if (!realtimePath.test(url.pathname) || !isSocketHandshake(method, headers)) return undefined;
  return readProtocolKey(headers.get("sec-websocket-protocol"));
}

/** An `authorization` of a scheme that is no bearer's (RFC 9110, section 11.4). */
const otherScheme = /^(?!bearer\s)[a-z][\w!#$%&'*+.^`|~-]* +\S/i;

/** The token of an `authorization` header; one with white space or a comma is two headers joined. */
function readBearer(authorization: string): string {
  // as nearly all write it; the pattern is for the others
  const bare = authorization.startsWith("Bearer ") ? authorization.slice(7) : authorization.replace(/^bearer\s+/i, "");
  const token = bare.trim();
  if (token !== "" && !/[\s,]/.test(token)) return token;
  throw new AuthenticationError("Cannot authenticate: authorization must hold one bearer token", {
    code: "invalid_authorization",
    param: "authorization",
  });
}

/** A request of the gateway's own work: no header of it is a credential for the gateway. */
function actAs(principal: Principal, context: RequestContext): CallerContext {
  const authorization = context.headers.get("authorization");
  const providerCredential = authorization === undefined ? undefined : readBearer(authorization);
  // no key that could leak: a text nobody sends stands for it
  const gatewayKey = `acting-for-${crypto.randomUUID()}`;
  return withCaller(context, principal, { gatewayKey, providerCredential, providerAuthorization: undefined });
}

/** The caller behind a request. Nothing it sends besides the credential has a say in it. */
function authenticate(context: RequestContext): CallerContext | Promise<CallerContext> {
  const { actingFor } = context.connection;
  if (actingFor) return actAs(actingFor, context);
  const credentials = readCredentials(context);
  const address = () => clientAddressOf(context, context.services);
  const found = context.services.authenticator.authenticate(credentials.gatewayKey, address, () =>
    context.header("workspace"),
  );
  const attach = (principal: Principal) => withCaller(context, principal, credentials);
  return found instanceof Promise ? found.then(attach) : attach(found);
}

/** The identity provider behind a request; nothing but its token says who it is. */
async function authenticateScim(context: RequestContext): Promise<CallerContext> {
  const authorization = context.headers.get("authorization");
  const address = () => clientAddressOf(context, context.services);
  const principal = await context.services.scimAuthenticator.authenticate(authorization, address);
  const credentials = { gatewayKey: authorization ?? "", providerCredential: undefined };
  return withCaller(context, principal, { ...credentials, providerAuthorization: undefined });
}

/** Checks what every row with a key asks for besides the key; at once when the caller's workspace is in memory. */
function checkCaller(
  endpoint: KeyEndpoint | JsonEndpoint | FormEndpoint,
  context: CallerContext,
): void | Promise<void> {
  requireAccess(context.principal, endpoint.access);
  context.services.hops.requireOpenEnd(context.headers);
  if ((context.header("config")?.length ?? 0) > maxConfigLength) {
    throw new HeadersTooLargeError("Cannot use x-gateway-config: save configs this large and name them by their id", {
      code: "headers_too_large",
      param: "x-gateway-config",
    });
  }
  if (hasEncodedSlash(context.url.pathname) && !takesEncodedSlash(endpoint)) {
    throw new InvalidRequestError("Cannot use this path: it holds an encoded slash", { code: "invalid_path" });
  }
  return requireRole(context, endpoint.access.scopes);
}

function takesEncodedSlash(endpoint: KeyEndpoint | JsonEndpoint | FormEndpoint): boolean {
  return ("takesEncodedSlash" in endpoint && endpoint.takesEncodedSlash === true) || takesSlashes(endpoint.path);
}

/**
 * Counts a request among those that run. The gateway's own work has bounds of its own.
 *
 * @throws {UnavailableError} If as many run as may.
 */
function enter(context: CallerContext): void {
  const { concurrency } = context.services;
  if (!context.connection.actingFor) concurrency.enter(context);
}

/** Runs a row whose whole response is there when it ends. */
async function counted(context: CallerContext, run: () => Promise<Reply>): Promise<Reply> {
  enter(context);
  try {
    return await run();
  } finally {
    context.services.concurrency.leave(context);
  }
}

/** The response of a request that counts until it was sent; one that settles later counts until then. */
function untilSent(reply: Reply, context: CallerContext): Reply {
  const { concurrency } = context.services;
  if (!context.isCounted || reply.finished) return reply;
  const leave = () => concurrency.leave(context);
  if (reply.body instanceof ReadableStream) reply.body = withEnd(reply.body, leave);
  else leave();
  return reply;
}

/** Runs a row once everything it asks for is there. */
async function runKeyed(endpoint: KeyEndpoint | JsonEndpoint | FormEndpoint, context: CallerContext): Promise<Reply> {
  enter(context);
  const checked = checkCaller(endpoint, context);
  if (checked) await checked;
  const settled = endpoint.operation === undefined ? undefined : settleMetadata(context);
  if (settled) await settled;
  if (!("body" in endpoint)) return await endpoint.handle(context);
  const { operation } = endpoint;
  const isCall = operation !== undefined && operation !== "renderPrompt" && operation !== "completePrompt";
  const passed = isCall && isPassedOn(context);
  if (passed instanceof Promise ? await passed : passed) return await runPassthrough(context);
  if ("handleForm" in endpoint) {
    const read = async () => {
      const body = await readFormBody(endpoint, context, context.services);
      const checked = requireRequest(endpoint, body.value, context);
      if (checked) await checked;
      noteUser(context, body.value);
      return body;
    };
    return await endpoint.handleForm(read, context);
  }
  const body = await readJsonBody(
    context,
    endpoint.maxBodyBytes ?? context.services.limits.jsonBodyBytes,
    context.services,
  );
  if (endpoint.pathModel !== undefined && isObject(body.value)) {
    Object.assign(body, { value: { ...body.value, model: endpoint.pathModel }, text: "" });
  }
  if (isCall) {
    const checked = requireRequest(endpoint, body.value, context);
    if (checked) await checked;
    noteUser(context, body.value);
  } else requireBody(endpoint.body, body.value);
  // awaited here: a promise that is returned as it is costs the caller two more turns
  return await endpoint.handleJson(body, context);
}

/** Answers one row of the control plane, failures included. */
async function answerAdmin(endpoint: AdminEndpoint, context: RequestContext): Promise<Reply> {
  const { acceptsScim = false } = endpoint;
  const isScim =
    acceptsScim && context.header("api-key") === null && isScimAuthorization(context.headers.get("authorization"));
  try {
    const caller = await (isScim ? authenticateScim(context) : authenticate(context));
    return await counted(caller, () => serveAdmin(endpoint, caller));
  } catch (error) {
    return toErrorReply(error, "admin");
  }
}

/** Answers one row of the protocol of identity providers, failures included. */
async function answerScim(endpoint: ScimEndpoint, context: RequestContext): Promise<Reply> {
  try {
    const caller = await authenticateScim(context);
    return await counted(caller, () => serveScim(endpoint, caller));
  } catch (error) {
    return toErrorReply(error, "scim");
  }
}

/** Tells which target a refusal came from, as answers do. */
function addRoutingHeaders({ headers }: GatewayError, provider: string, log: CallerContext["log"]): void {
  for (const [name, value] of Object.entries(routingHeaders(provider, log))) headers[name] ??= value;
}

/** Answers one row, failures included, and leaves its log row. */
async function serveEndpoint(endpoint: Endpoint, context: RequestContext): Promise<Reply> {
  if (endpoint.access === "public") return endpoint.handle(context);
  if (endpoint.access === "scim") return answerScim(endpoint, context);
  if (isAdminEndpoint(endpoint)) return answerAdmin(endpoint, context);
  const found = authenticate(context);
  const caller = found instanceof Promise ? await found : found;
  if (endpoint.operation !== undefined) return serveLogged(endpoint, caller);
  try {
    return untilSent(await runKeyed(endpoint, caller), caller);
  } catch (error) {
    context.services.concurrency.leave(caller);
    throw error;
  }
}

/** Ends a request whose response went on after it was given. */
function finishLater({ note, ...ending }: Ending, responseHeaders: Reply["headers"], context: CallerContext): void {
  context.services.concurrency.leave(context);
  note?.();
  finishCall(context, { ...ending, responseHeaders });
}

/** Answers one row whose requests leave a row in the log. */
async function serveLogged(
  endpoint: KeyEndpoint | JsonEndpoint | FormEndpoint,
  context: CallerContext,
): Promise<Reply> {
  context.log.operation = endpoint.operation ?? "";
  try {
    const reply = await runKeyed(endpoint, context);
    const { finished, headers } = reply;
    if (finished) void finished.then((ending) => finishLater(ending, headers, context));
    else finishCall(context, { status: reply.status, responseHeaders: headers });
    return untilSent(reply, context);
  } catch (thrown) {
    context.services.concurrency.leave(context);
    const error = toGatewayError(thrown);
    if (context.log.provider !== null) addRoutingHeaders(error, context.log.provider, context.log);
    const reply = toErrorReply(error, formOf(context));
    reply.body = withoutManagedSecrets(String(reply.body), context);
    context.log.responseBody = reply.body;
    finishCall(context, { status: error.status, responseHeaders: reply.headers, error });
    return reply;
  }
}

/** Paths of the Gemini API. */
const geminiForm =
  /^\/v1beta\/|^\/v1\/models\/.+:(?:(?:streamG|g)enerateContent|countTokens|(?:e|batchE)mbedContents?)\/?$/;

/** Paths whose clients look for more than the common members of an error. */
function formOf(context: RequestContext | undefined): ErrorForm {
  const path = context?.url.pathname ?? "";
  if (/^(?:\/v1)?\/scim\/v2(?:\/|$)/.test(path)) return "scim";
  if (geminiForm.test(path)) return "gemini";
  return path.startsWith("/v1/messages") ? "messages" : "common";
}

/** The answer to what no row takes. */
function answerUnrouted(context: RequestContext, methods: Method[]): Reply {
  const { method } = context;
  const known = methods.length > 0;
  const allowed = [...methods, ...(methods.includes("GET") ? ["HEAD"] : []), "OPTIONS"];
  if (known && method === "HEAD") return { status: 200, headers: {}, body: null };
  if (known && method === "OPTIONS") return { status: 204, headers: { allow: allowed.join(", ") }, body: null };
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
  return reply;
}

/** Sets what every answer carries; nothing an upstream sent can stand in its place. */
function finish(
  reply: Reply,
  connection: ConnectionInfo,
  ids: { id: string; traceId: string; startedAt: number },
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
  if (!reply.upgrade) {
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

/** Told when requests begin and end. */
interface Activity {
  begin(): void;
  end(): void;
}

/** One function over all rows: the way in that no route can leave out. */
export function createHandle(endpoints: readonly Endpoint[], services: Services, activity: Activity): Handle {
  const route = createRouter(endpoints, (endpoint, context) => serveEndpoint(endpoint, context));
  const methodsOf = createMethodTable(endpoints);
  return async (request, connection) => {
    activity.begin();
    const id = services.createId();
    const startedAt = services.clock.monotonic();
    let context: RequestContext | undefined;
    let reply: Reply;
    try {
      context = createRequestContext(request, connection, { id, startedAt, services });
      reply = (await route(context)) ?? answerUnrouted(context, methodsOf(context.url.pathname));
    } catch (error) {
      reply = toErrorReply(error, formOf(context));
    }
    const ids = { id, traceId: context?.traceId ?? traceIdOf(request, id), startedAt };
    try {
      return finish(reply, connection, ids, services);
    } catch (error) {
      // a header or status no answer can carry, or a handshake whose client is gone
      reply.upgrade?.failed(error);
      // a body nobody will read ends what runs for it: the upstream call, its place among the running requests, its row
      if (reply.body instanceof ReadableStream) reply.body.cancel(error).catch(() => {});
      return finish(toErrorReply(error, formOf(context)), connection, ids, services);
    } finally {
      // a stream gives it back when it ends
      if (context && (!reply?.finished || context.log.settled)) releaseBodies(context);
      activity.end();
    }
  };
}
