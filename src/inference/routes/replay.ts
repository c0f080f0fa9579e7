import type { CallerContext, ConnectionInfo } from "../../context.ts";
import type { StoredLog } from "../../db/stores/logs.ts";
import { isJsonType } from "../../endpoint/body.ts";
import { requireLogAccess, scopeOf } from "../../endpoint/log-access.ts";
import type { Endpoint, JsonBody } from "../../endpoint.ts";
import { InvalidRequestError, NotFoundError, PermissionError, UnavailableError } from "../../errors.ts";
import { BodyError, readBytes } from "../../lib/body.ts";
import { isHeaderValue, readNameList } from "../../lib/headers.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { callerKeyHeaders } from "../../lib/secret-names.ts";
import { type DeniedFields, withoutDenied } from "../../logs/denied-fields.ts";
import type { LogRecord } from "../../logs/record.ts";
import { toRow } from "../../logs/row.ts";
import { sealDetails } from "../../logs/seal.ts";
import { masked } from "../../logs/secret-members.ts";
import { showBody } from "../../logs/shown-body.ts";
import type { LogSide } from "../../schemas/logs.ts";
import type { ReplayRequest } from "../../schemas/replay.ts";

/** Largest response that is shown. */
const maxAnswerBytes = 16 * 1024 * 1024;
/** Longest time between the end of a response and its row. */
const rowWithinMs = 10_000;

/** Our headers, without prefix, that say where a request goes: a config of the replay takes their place. */
const targetHeaders = new Set(["config", "virtual-key", "custom-host"]);
/** Our headers, without prefix, of the original request alone; `csrf` comes with each request of the console. */
const ownHeaders = new Set([
  "api-key",
  "csrf",
  "trace-id",
  "span-id",
  "parent-span-id",
  "span-name",
  "session-id",
  "workspace",
]);
/** Headers of vendors that change a response. */
const vendorHeader = /^(?:anthropic|openai)-/;

function refuseReplay(why: string, code = "log_not_replayable", param = "id"): never {
  throw new InvalidRequestError(`Cannot replay this request: ${why}`, { code, param });
}

/** A row the caller may see with its contents. */
async function requireStored(context: CallerContext): Promise<{ stored: StoredLog; denied: DeniedFields }> {
  const { content, userId, denied } = await requireLogAccess(context);
  const stored = await context.services.logStore.find(scopeOf(context), context.params.id ?? "");
  if (!stored || (userId !== null && stored.details.user_id !== userId)) {
    throw new NotFoundError("Cannot find this log row", { code: "log_not_found" });
  }
  if (!content) throw new PermissionError("Forbidden! This role may not see the contents of logs", { code: "AB03" });
  if (denied.has("request") || denied.has("response")) {
    throw new PermissionError("Forbidden! Your organisation does not show the contents of logs", { code: "AB03" });
  }
  if (stored.isAway) {
    throw new UnavailableError("Cannot replay this request: the store that has its body does not respond", {
      code: "log_store_unavailable",
      retryAfterSeconds: 30,
    });
  }
  return { stored, denied };
}

/** The stored body, if it is what was sent. */
function requireBody({ details, content }: StoredLog, rows: readonly Endpoint[]): string {
  const { operation, method } = details;
  const row = rows.find((one) => "operation" in one && one.operation === operation && one.kind !== "key");
  const type = content?.request.headers["content-type"];
  const isJson = row?.kind === "json" || (row?.kind === "form" && row.acceptsJson && type && isJsonType(type));
  if (!isJson || method !== "POST")
    refuseReplay(`only requests with a JSON body can be, not ${operation || "this one"}`);
  const body = content?.request.body ?? null;
  if (!content || body === null) return refuseReplay("its body was not stored");
  if (content.request.truncated) return refuseReplay("its stored body is cut");
  if (body.includes(masked)) return refuseReplay("a credential in its stored body is masked");
  return body;
}

const isHidden = (value: string): boolean => /^hmac:[0-9a-f]{12}$/.test(value) || value.includes(masked);

/** Whether the original request sent a credential for its provider in a header, which is never stored. */
async function sentCredential({ headers }: LogSide, context: CallerContext): Promise<boolean> {
  if (headers["x-gateway-api-key"] === undefined) return false;
  const { gatewayKey, services } = context;
  const own = await services.redactor.headers({ authorization: `Bearer ${gatewayKey}`, "x-api-key": gatewayKey }, []);
  const known = new Set([...Object.values(own), headers["x-gateway-api-key"]]);
  return callerKeyHeaders.some((name) => headers[name] !== undefined && !known.has(headers[name]));
}

/** A config as the value of a header. */
function writeConfig(config: string | object): string {
  const text = typeof config === "string" ? config : JSON.stringify(config);
  const plain = text.replace(
    /[\u007f-\uffff]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  if (isHeaderValue(plain)) return plain;
  return refuseReplay("config must be the slug of a saved config, or a config", "invalid_config", "config");
}

/** Whether a config says where requests go. */
function namesTarget(config: string | object): boolean {
  return (
    typeof config === "string" || ["provider", "virtual_key", "targets"].some((name) => Object.hasOwn(config, name))
  );
}

/** Headers of the original request that are sent again. Names of saved configs are taken from its row. */
function headersOf(
  { headers }: LogSide,
  { config, savedConfig }: { config: ReplayRequest["config"]; savedConfig: string | null | undefined },
  context: CallerContext,
): Headers {
  const { headerPrefixes } = context.services;
  const forwarded = new Set(readNameList(headers["x-gateway-forward-headers"] ?? "") ?? []);
  const sent = new Headers({ "content-type": "application/json" });
  for (const [name, value] of Object.entries(headers)) {
    const prefix = headerPrefixes.find((one) => name.startsWith(one));
    const bare = prefix === undefined ? undefined : name.slice(prefix.length);
    if (bare === undefined ? !(vendorHeader.test(name) || forwarded.has(name)) : ownHeaders.has(bare)) continue;
    const isReplaced =
      bare !== undefined && (targetHeaders.has(bare) || (bare === "provider" && config && namesTarget(config)));
    if (config !== undefined && (isReplaced || isHidden(value))) continue;
    if (bare === "virtual-key") continue;
    const shown = bare === "config" ? (savedConfig ?? value) : value;
    if (isHidden(shown))
      refuseReplay(`the value of ${name} is not stored; name a config`, "header_not_stored", "config");
    sent.set(bare === undefined ? name : `x-gateway-${bare}`, shown);
  }
  if (config !== undefined) sent.set("x-gateway-config", writeConfig(config));
  return sent;
}

/** The request to send again. */
async function toRequest(
  stored: StoredLog,
  { config, rows }: { config: ReplayRequest["config"]; rows: readonly Endpoint[] },
  context: CallerContext,
): Promise<Request> {
  const body = requireBody(stored, rows);
  const { details, content } = stored;
  const { request } = content ?? refuseReplay("its body was not stored");
  const headers = headersOf(request, { config, savedConfig: details.config }, context);
  const { virtual_key: virtualKey, provider, path } = details;
  if (config === undefined) {
    const isStored = virtualKey !== undefined;
    const needsNone = provider !== null && context.services.providers.get(provider)?.isKeyless === true;
    if (!isStored && !needsNone && (await sentCredential(request, context))) {
      refuseReplay(
        "the credential for its provider is not stored; name a config or a stored provider",
        "credential_not_stored",
        "config",
      );
    }
    const wasNamed = Object.keys(request.headers).some((name) => name.endsWith("-virtual-key"));
    if (wasNamed && virtualKey === undefined)
      refuseReplay("the name of its stored provider is not stored; name a config", "header_not_stored", "config");
    if (wasNamed) headers.set("x-gateway-virtual-key", virtualKey ?? "");
  }
  headers.set("x-gateway-trace-id", context.traceId);
  // without its query the response of a stream would be an array
  const query = path.endsWith(":streamGenerateContent") ? "?alt=sse" : "";
  const init = { method: "POST", headers, body, signal: context.request.signal };
  return new Request(`http://gateway.internal${path}${query}`, init);
}

const textType = /^(?:text\/|application\/(?:[\w.+-]+\+)?json)/i;

/** The body of a response as logs show it; null if it is not text, or too long. */
async function readAnswer(response: Response, context: CallerContext): Promise<unknown> {
  const bounds = { bytes: maxAnswerBytes, totalMs: Number.POSITIVE_INFINITY, silenceMs: Number.POSITIVE_INFINITY };
  try {
    const bytes = await readBytes(response, bounds);
    if (!textType.test(response.headers.get("content-type") ?? "")) return null;
    return await showBody(new TextDecoder().decode(bytes), context.services.redactor);
  } catch (error) {
    if (error instanceof BodyError && error.problem === "too_large") return null;
    throw error;
  }
}

/** Sends a request through the life cycle of its route, and waits for its row. */
async function send(
  request: Request,
  id: string,
  context: CallerContext,
): Promise<{ row: LogRecord; answer: unknown }> {
  const { principal, connection, services } = context;
  const { promise: logged, resolve, reject } = Promise.withResolvers<LogRecord>();
  logged.catch(() => {});
  const internal: ConnectionInfo = {
    actingFor: principal,
    replayOf: id,
    onLogged: resolve,
    ...(connection.remoteAddress !== undefined && { remoteAddress: connection.remoteAddress }),
  };
  const response = await services.handle(request, internal);
  const answer = await readAnswer(response, context);
  const stop = services.timers.start(rowWithinMs, () =>
    reject(
      new UnavailableError("Cannot show the replay: it left no row", { code: "replay_lost", retryAfterSeconds: 1 }),
    ),
  );
  return { row: await logged.finally(stop), answer };
}

/**
 * `POST /logs/{id}/replay`
 *
 * @param rows The endpoints whose requests can be replayed.
 */
export async function replayLog(
  { value }: JsonBody<ReplayRequest>,
  context: CallerContext,
  rows: readonly Endpoint[],
): Promise<Reply> {
  const { redactor } = context.services;
  const { stored, denied } = await requireStored(context);
  const request = await toRequest(stored, { config: value.config, rows }, context);
  const { row, answer } = await send(request, stored.details.id, context);
  const former = stored.content?.response;
  const body = former?.body ?? null;
  return jsonReply({
    object: "replay",
    original: withoutDenied(toRow(stored.details), denied),
    replay: withoutDenied(toRow(sealDetails(row, redactor)), denied),
    answers: {
      original: body === null || former?.truncated ? body : await showBody(body, redactor),
      replay: answer,
    },
  });
}
