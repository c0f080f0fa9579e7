import { hasTokenForm, readClaims } from "../auth/jwt-claims.ts";
import { addOrigin, requireNoKey } from "../context/leaving.ts";
import { InvalidRequestError } from "../errors.ts";
import { isHeaderName, isHeaderValue } from "../lib/headers.ts";
import { credentialHeaders, mayCarryCredential } from "../lib/secret-names.ts";
import { productName } from "../providers/core/call.ts";
import type { McpCall } from "./mcp-call.ts";
import { protocolHeaders, renewArgumentHeaders } from "./mirrored-headers.ts";
import { callCredentials } from "./oauth/credential.ts";
import { fillTemplate, identityHeaders } from "./oauth/identity.ts";
import type { ForwardedHeaders } from "./registry/mcp-server.ts";

/** Headers of callers that never go upstream, under either name of a pair. */
const never = new Set([
  ...credentialHeaders,
  "content-type",
  "content-encoding",
  "accept",
  "accept-encoding",
  "last-event-id",
  "origin",
  "traceparent",
  "tracestate",
]);

/** Names that belong to one connection, as the caller's `connection` header lists them. */
function connectionNames(value: string | undefined): readonly string[] {
  return (value ?? "").split(",").map((name) => name.trim().toLowerCase());
}

/** Whether a header may be forwarded under a name. */
function mayForward(name: string, { context, server }: McpCall): boolean {
  const { headerRules } = context.services;
  if (name === "authorization") {
    // only if the key has another header, and only where the integration names this one
    return context.header("api-key") !== null && server.forwardedHeaders.mode === "allowlist";
  }
  return isHeaderName(name) && !name.startsWith("mcp-") && !never.has(name) && headerRules.mayGoUpstream(name);
}

/** Pairs of names, as sent and as forwarded, that an integration asks for. */
function forwardedPairs(
  { mode, headers }: ForwardedHeaders,
  given: Readonly<Record<string, string>>,
): readonly { readonly from: string; readonly to: string }[] {
  if (mode === "allowlist") return headers;
  const excepted = new Set(headers.map(({ from }) => from));
  return Object.keys(given)
    .filter((name) => !excepted.has(name) && !mayCarryCredential(name))
    .map((name) => ({ from: name, to: name }));
}

/** The audiences that a signed token names, unverified. */
function audiencesOf(token: string): readonly unknown[] {
  const { aud } = readClaims(token);
  return Array.isArray(aud) ? aud : [aud];
}

/**
 * Refuses to forward a token that opens this gateway, in whatever header it came and under whatever name it would go on:
 * one that the organisation accepts, or that the gateway issued. A signed one may go to the server that its audience names.
 *
 * @throws {InvalidRequestError}
 */
async function requireForeignTokens({ context, server }: McpCall, forwarded: Readonly<Record<string, string>>) {
  // other modes forward no header that may hold a credential
  if (server.forwardedHeaders.mode !== "allowlist") return;
  const { authenticator, oauth } = context.services;
  for (const [name, value] of Object.entries(forwarded)) {
    const token = value.replace(/^bearer\s+/i, "").trim();
    if (token.length < shortestToken) continue;
    if ((await authenticator.standingOf(token)) !== "accepted" && !(await oauth.isOwnToken(token))) continue;
    if (hasTokenForm(token) && audiencesOf(token).includes(server.url)) continue;
    throw new InvalidRequestError(`Cannot forward ${name}: it holds a token that opens this gateway`, {
      param: name,
      code: "gateway_key_as_credential",
    });
  }
}

/** Shorter values are no tokens of the gateway or of an identity provider. */
const shortestToken = 32;

/** Headers of the caller that the integration forwards. */
function forwardedHeaders(call: McpCall): Record<string, string> {
  const given = call.context.headers.values();
  const connection = connectionNames(given.connection);
  const sent: Record<string, string> = {};
  for (const { from, to: named } of forwardedPairs(call.server.forwardedHeaders, given)) {
    const to = named.toLowerCase();
    const value = Object.hasOwn(given, from) ? given[from] : undefined;
    if (value === undefined || connection.includes(from)) continue;
    if (!mayForward(from, call) || !mayForward(to, call)) continue;
    if (!isHeaderValue(value)) {
      throw new InvalidRequestError(`Cannot forward the header ${from}: its value holds a control character`, {
        param: from,
        code: "invalid_header",
      });
    }
    sent[to] = value;
  }
  return sent;
}

/** Headers of the integration, in small letters; they are secret. */
async function integrationHeaders(call: McpCall): Promise<Record<string, string>> {
  const { server, context } = call;
  const opened = await server.openHeaders();
  const own: Record<string, string> = {};
  for (const [name, template] of Object.entries(opened)) {
    const lower = name.toLowerCase();
    const value = (await fillTemplate(template, call)) ?? "";
    if (value === "" && template !== "") continue;
    const mayGo = isHeaderName(name) && !lower.startsWith("mcp-") && context.services.headerRules.mayGoUpstream(lower);
    if (!mayGo || !isHeaderValue(value)) continue;
    own[lower] = value;
    if (value.length >= 8) context.log.secrets.push(value.replace(/^[A-Za-z]+ +/, ""));
  }
  context.log.isManaged = true;
  return own;
}

/** Headers for arguments that a client repeats: the upstream compares them with the body. */
function argumentHeaders({ message, sent, era, context, argumentHeaders: made }: McpCall): Record<string, string> {
  if (made) return made;
  if (era === "legacy" || message.method !== "tools/call") return {};
  const given = Object.entries(context.headers.values()).filter(
    ([name, value]) => name.startsWith("mcp-param-") && isHeaderValue(value),
  );
  // guardrails saw the arguments, and may have changed them: a header says nothing else
  return Object.fromEntries(
    sent ? renewArgumentHeaders(given, sent.params.arguments, message.params.arguments) : given,
  );
}

/** Headers of the caller and of guardrails, which may remove one of the caller's or add another. */
export function callerHeaders(call: McpCall): Record<string, string> {
  const headers = forwardedHeaders(call);
  for (const [name, value] of Object.entries(call.hookHeaders ?? {})) {
    if (value === null) delete headers[name];
    else if (name !== "authorization" && mayForward(name, call) && isHeaderValue(value)) headers[name] = value;
  }
  return headers;
}

/**
 * The headers of a call, made from nothing: those the integration forwards, then its own, then those of the protocol.
 *
 * @throws {GatewayError} 400 for a value that cannot be sent, or that holds a key of this gateway.
 */
export async function upstreamHeaders(call: McpCall): Promise<Record<string, string>> {
  const { context, server, message, sessionId } = call;
  const forwarded = callerHeaders(call);
  await requireForeignTokens(call, forwarded);
  const headers: Record<string, string> = {
    "user-agent": productName,
    ...forwarded,
    ...(await integrationHeaders(call)),
    ...(await callCredentials(call)),
    ...(await identityHeaders(call)),
    ...protocolHeaders(message, call),
    ...argumentHeaders(call),
    ...(sessionId !== undefined && { "mcp-session-id": sessionId }),
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  await addOrigin({ headers }, context, true);
  await requireNoKey({ url: server.url, headers }, context);
  return headers;
}
