import type { ShadowCopy } from "../../context/shadow.ts";
import type { CallerContext, FinishedCall } from "../../context.ts";
import { encodeHeader } from "../../lib/header-text.ts";
import { hopHeader, isHeaderValue } from "../../lib/headers.ts";
import { isObject } from "../../lib/json.ts";
import { credentialHeaders } from "../../lib/secret-names.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { withTargetModel } from "../target/named-config.ts";
import type { RequestConfig } from "../target/saved-config.ts";

/** Where copies of requests are sent, by operation; all others are not copied. */
const paths: ReadonlyMap<OperationName, string> = new Map([
  ["chat", "/v1/chat/completions"],
  ["complete", "/v1/completions"],
  ["messages", "/v1/messages"],
  ["responses", "/v1/responses"],
  ["embed", "/v1/embeddings"],
  ["rerank", "/v1/rerank"],
]);

type Members = Readonly<Record<string, unknown>>;

/** Whether a request may act outside of its response, or is answered later: it is not sent twice. */
function actsOutside({ background, mcp_servers: servers, tools }: Members): boolean {
  if (background === true || servers !== undefined) return true;
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && tool.type === "mcp");
}

/** Whether requests like this one are copied. */
export function isCopied(operation: OperationName, value: Members): boolean {
  return (paths.has(operation) || operation === "generateContent") && !actsOutside(value);
}

/** Where the copy of a request goes. */
function copyPath(operation: OperationName, value: Members, { url }: CallerContext): string {
  const path = paths.get(operation) ?? url.pathname;
  return operation === "generateContent" && value.stream === true ? `${path}?alt=sse` : path;
}

/** The body of a copy: responses are not stored, and Gemini's requests name model and stream in their path. */
function copyBody(operation: OperationName, value: Members): object {
  if (operation === "responses") return { ...value, store: false };
  if (operation !== "generateContent") return value;
  const { model: _, stream: __, ...others } = value;
  return others;
}

/** Notes that a request is copied once it is answered, if it is one of the share that its config asks for. */
export function noteShadow(
  config: RequestConfig,
  { operation, value }: { operation: OperationName; value: Members },
  context: CallerContext,
): void {
  const { shadow } = config.node;
  // work of the gateway itself, such as the lines of a batch and the rounds of a request with tools, is not copied
  if (!shadow || context.connection.actingFor || !isCopied(operation, value)) return;
  if (context.services.routing.random() >= shadow.share) return;
  const { id, slug, saved } = config;
  context.log.shadow = {
    config: { node: shadow.target, id, slug, ...(saved && { saved }) },
    path: copyPath(operation, value, context),
    request: copyBody(operation, withTargetModel(value, config)),
  };
}

/** Our headers, without prefix, that copies have too: what their rows hold, and the form of the response. */
const ownNames = ["debug", "ignore-service-log", "strict-open-ai-compliance", "request-timeout", "session-id"];
/** Headers by which vendors choose features. */
const vendorHeader = /^(?:anthropic|openai)-(?:beta|version)$/;

/** Headers of a copy. No credential of the caller is among them. */
function copyHeaders(context: CallerContext, forwarded: readonly string[]): Record<string, string> {
  const { headers, gatewayKey, traceId, spanId, metadata, services } = context;
  const given = Object.entries(headers.values()).filter(
    ([name, value]) =>
      (vendorHeader.test(name) || forwarded.includes(name)) &&
      !credentialHeaders.has(name) &&
      !value.includes(gatewayKey) &&
      isHeaderValue(value),
  );
  const own = ownNames.flatMap((name): [string, string][] => {
    const value = context.header(name);
    return value === null || !isHeaderValue(value) ? [] : [[`x-gateway-${name}`, value]];
  });
  return {
    ...Object.fromEntries([...given, ...own]),
    "content-type": "application/json",
    "x-gateway-trace-id": traceId,
    ...(spanId !== null && { "x-gateway-parent-span-id": spanId }),
    "x-gateway-span-name": "shadow",
    "x-gateway-metadata": encodeHeader(metadata),
    [hopHeader]: services.hops.next(headers),
  };
}

/** The sink that hands on the copy of a request that a provider answered. It runs before the log, whose row says so. */
export function copyToShadow({ context, status }: FinishedCall): void {
  const { log, connection, services } = context;
  const { shadow } = log;
  if (!shadow) return;
  const isAnswered = status >= 200 && status <= 299 && log.calls.length > 0;
  if (!isAnswered || log.isDenied || log.isCut || log.cacheHit) return;
  const copy: ShadowCopy = {
    ...shadow,
    of: context.id,
    principal: context.principal,
    headers: copyHeaders(context, shadow.config.node.merged.forwardHeaders ?? []),
    numbers: context.numbers,
    remoteAddress: connection.remoteAddress,
    bytes: log.requestBody?.length ?? 0,
  };
  const sending = services.copies.add(copy);
  if (!sending) return;
  log.isCopied = true;
  connection.waitUntil?.(sending);
}
