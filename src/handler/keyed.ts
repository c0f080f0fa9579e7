import { requireAccess } from "../auth/access.ts";
import type { CallerContext } from "../context.ts";
import { findIssue, readFormBody, readJsonBody, requireBody } from "../endpoint/body.ts";
import { requireRole } from "../endpoint/role.ts";
import type { FormEndpoint, JsonBody, JsonEndpoint, KeyEndpoint, KeyedEndpoint } from "../endpoint.ts";
import {
  type GatewayError,
  HeadersTooLargeError,
  InvalidRequestError,
  toErrorReply,
  toGatewayError,
} from "../errors.ts";
import { finishCounted } from "../inference/call/finish.ts";
import { requireLogRoom } from "../inference/call/log-sink.ts";
import { routingHeaders } from "../inference/call/provider-response.ts";
import { addRateHeaders } from "../inference/call/rate-headers.ts";
import { runPassthrough } from "../inference/passthrough/passthrough.ts";
import { noteUser, settleMetadata } from "../inference/target/caller-metadata.ts";
import { isPassedOn } from "../inference/target/config-target.ts";
import { requireConfigured } from "../inference/target/incomplete-request.ts";
import { withoutManagedSecrets } from "../inference/target/managed-secrets.ts";
import { hopHeader } from "../lib/headers.ts";
import { isObject } from "../lib/json.ts";
import { hasEncodedSlash } from "../lib/path.ts";
import type { Ending, Reply } from "../lib/reply.ts";
import { takesSlashes } from "../lib/route-path.ts";
import { withEnd } from "../lib/stream-end.ts";

/** Most characters of one config header. */
const maxConfigLength = 48 * 1024;

/** What answers a caller whose request was checked. */
export type Run<Row extends KeyedEndpoint> = (endpoint: Row, context: CallerContext) => Reply | Promise<Reply>;

function takesEncodedSlash(endpoint: KeyedEndpoint): boolean {
  return ("takesEncodedSlash" in endpoint && endpoint.takesEncodedSlash === true) || takesSlashes(endpoint.path);
}

/** Checks what every row with a key asks for besides the key; at once when the caller's workspace is in memory. */
function checkCaller(endpoint: KeyedEndpoint, context: CallerContext): void | Promise<void> {
  requireAccess(context.principal, endpoint.access);
  if (context.headers.get(hopHeader) !== undefined) context.services.hops.requireOpenEnd(context.headers);
  if ((context.header("config")?.length ?? 0) > maxConfigLength) {
    throw new HeadersTooLargeError("Cannot use x-gateway-config: save configs this large and name them by their id", {
      code: "headers_too_large",
      param: "x-gateway-config",
    });
  }
  if (hasEncodedSlash(context.url.pathname) && !takesEncodedSlash(endpoint)) {
    throw new InvalidRequestError("Cannot use this path: it holds an encoded slash", { code: "invalid_path" });
  }
  // services have no role
  if (context.principal.userId === null) return undefined;
  return requireRole(context, endpoint.access.scopes);
}

/**
 * Counts a request until its response is complete in memory. The gateway's own work has separate limits.
 *
 * @throws {UnavailableError} If as many run as may.
 */
export async function counted(context: CallerContext, run: () => Promise<Reply>): Promise<Reply> {
  const { concurrency } = context.services;
  if (!context.connection.actingFor) concurrency.enter(context);
  try {
    return await run();
  } finally {
    concurrency.leave(context);
  }
}

/** The response of a request that counts until it was sent; one that settles later counts until then. */
function untilSent(reply: Reply, context: CallerContext): Reply {
  const { concurrency } = context.services;
  if (!context.isCounted || reply.finished) return reply;
  if (reply.body instanceof ReadableStream) reply.body = withEnd(reply.body, () => concurrency.leave(context));
  else concurrency.leave(context);
  return reply;
}

/** Runs a row once everything it asks for is there. */
async function runChecked<Row extends KeyedEndpoint>(
  endpoint: Row,
  context: CallerContext,
  run: Run<Row>,
): Promise<Reply> {
  if (endpoint.operation !== undefined) requireLogRoom(context, false);
  // the gateway's own work has separate limits
  if (!context.connection.actingFor) context.services.concurrency.enter(context);
  const checked = checkCaller(endpoint, context);
  if (checked) await checked;
  const settled = endpoint.operation === undefined ? undefined : settleMetadata(context);
  if (settled) await settled;
  // awaited here: a promise that is returned as it is costs the caller two more turns
  return await run(endpoint, context);
}

/** Adds the target a refusal came from, as responses name it. */
function addRoutingHeaders({ headers }: GatewayError, provider: string, log: CallerContext["log"]): void {
  for (const [name, value] of Object.entries(routingHeaders(provider, log))) headers[name] ??= value;
}

/** Ends a request whose response went on after it was given. */
function finishLater(ending: Ending, responseHeaders: Reply["headers"], context: CallerContext): void {
  context.services.concurrency.leave(context);
  void finishCounted(context, { ...ending, responseHeaders });
}

/** Answers a request that leaves a row in the log, its failures included. */
export async function serveLogged<Row extends KeyedEndpoint>(
  endpoint: Row,
  context: CallerContext,
  run: Run<Row>,
): Promise<Reply> {
  context.log.operation = endpoint.operation ?? "";
  try {
    const reply = await runChecked(endpoint, context, run);
    const { finished, headers } = reply;
    if (context.log.rates) addRateHeaders(headers, context.log.rates, context.services);
    if (finished) void finished.then((ending) => finishLater(ending, headers, context));
    else {
      const waiting = finishCounted(context, { status: reply.status, responseHeaders: headers });
      if (waiting) await waiting;
    }
    return untilSent(reply, context);
  } catch (thrown) {
    context.services.concurrency.leave(context);
    const error = toGatewayError(thrown);
    if (context.log.provider !== null) addRoutingHeaders(error, context.log.provider, context.log);
    const reply = toErrorReply(error, endpoint.errorForm);
    reply.body = withoutManagedSecrets(String(reply.body), context);
    context.log.responseBody = reply.body;
    if (context.log.rates) addRateHeaders(reply.headers, context.log.rates, context.services);
    await finishCounted(context, { status: error.status, responseHeaders: reply.headers, error });
    return reply;
  }
}

/** Answers a request that leaves no row in the log. */
export async function serveUnlogged<Row extends KeyedEndpoint>(
  endpoint: Row,
  context: CallerContext,
  run: Run<Row>,
): Promise<Reply> {
  try {
    return untilSent(await runChecked(endpoint, context, run), context);
  } catch (error) {
    context.services.concurrency.leave(context);
    throw error;
  }
}

/** Runs a row whose handler reads the body, if there is one. */
export const runPlain: Run<KeyEndpoint> = (endpoint, context) => endpoint.handle(context);

/** Whether a row is an operation of providers: not one the gateway does with saved prompts. */
function isProviderOperation({ operation }: JsonEndpoint | FormEndpoint): boolean {
  return operation !== undefined && operation !== "renderPrompt" && operation !== "completePrompt";
}

/** Checks the body of an operation of providers, and takes the user it names. */
async function acceptRequest(
  endpoint: JsonEndpoint | FormEndpoint,
  body: Pick<JsonBody<unknown>, "value" | "schema">,
  context: CallerContext,
): Promise<void> {
  const { value } = body;
  const { issue } = findIssue(endpoint.body, value);
  if (issue) {
    await requireConfigured(endpoint, { value, issue }, context);
    body.schema = endpoint.body;
  }
  noteUser(context, value);
}

/** Runs a row with a JSON body. */
export const runJson: Run<JsonEndpoint> = async (endpoint, context) => {
  const isCall = isProviderOperation(endpoint);
  const passing = isCall && isPassedOn(context);
  if (passing && (await passing)) return await runPassthrough(context);
  const { limits } = context.services;
  const body = await readJsonBody(context, endpoint.maxBodyBytes ?? limits.jsonBodyBytes, context.services);
  if (endpoint.pathModel !== undefined && isObject(body.value)) {
    Object.assign(body, { value: { ...body.value, model: endpoint.pathModel }, text: "" });
  }
  if (isCall) await acceptRequest(endpoint, body, context);
  else requireBody(endpoint.body, body.value);
  return await endpoint.handleJson(body, context);
};

/** Runs a row whose body is a form, which its handler asks for. */
export const runForm: Run<FormEndpoint> = async (endpoint, context) => {
  if (isProviderOperation(endpoint) && (await isPassedOn(context))) return await runPassthrough(context);
  return await endpoint.handleForm(async () => {
    const body = await readFormBody(endpoint, context, context.services);
    await acceptRequest(endpoint, body, context);
    return body;
  }, context);
};
