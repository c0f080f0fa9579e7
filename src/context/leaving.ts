import { keyLength, readLookupId } from "../auth/api-key.ts";
import type { CallerContext, Services } from "../context.ts";
import { InvalidRequestError } from "../errors.ts";
import { hopHeader } from "../lib/headers.ts";
import { readTraceparent } from "../lib/metadata.ts";
import { spanIdsOf } from "../observability/otlp/ids.ts";

/** Longest `tracestate` that is forwarded, in characters: what every vendor must accept. */
const maxTraceState = 512;

/** The trace context that a call continues: the span of the gateway's request is its parent. */
async function toChild(parent: string, { id, traceId, spanId, parentSpanId }: TracedContext): Promise<string> {
  const row = { id, trace_id: traceId, span_id: spanId, parent_span_id: parentSpanId };
  const ids = await spanIdsOf(row);
  const flags = parent.slice(flagsAt, flagsAt + 2);
  return `00-${ids.traceId}-${ids.root}-${flags}`;
}

type TracedContext = Pick<CallerContext, "id" | "traceId" | "spanId" | "parentSpanId">;

/** Where the flags stand in a `traceparent`: behind its version, trace id and parent id. */
const flagsAt = 53;

/**
 * Says where a call comes from: lists the gateways it came through, if its address may lead back to this one, and continues
 * the trace of the caller, if there is one (https://www.w3.org/TR/trace-context/): with the gateway's own span as parent, or
 * as it came where the operator wants that.
 *
 * @param isInfluenced Whether its address came from a request or stored data.
 * @returns A promise only where there is one.
 */
export function addOrigin(
  { headers: sent }: { readonly headers: Record<string, string> },
  context: Pick<CallerContext, "headers" | "services"> & TracedContext,
  isInfluenced: boolean,
): Promise<void> | undefined {
  const { headers, services } = context;
  if (isInfluenced) sent[hopHeader] = services.hops.next(headers);
  const parent = headers.get("traceparent");
  if (parent === undefined || !readTraceparent(parent)) return undefined;
  const state = headers.get("tracestate");
  if (state !== undefined && state !== "" && state.length <= maxTraceState) sent.tracestate = state;
  sent.traceparent = parent;
  if (services.forwardsTraceparent) return undefined;
  return toChild(parent, context).then((child) => {
    sent.traceparent = child;
  });
}

/** An address with its percent-encoded letters decoded, as its server may read it. */
function withoutEscapes(url: string): string {
  if (!url.includes("%")) return url;
  return url.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Maximum number of strings in one call that look like a key of this gateway: each is looked up. */
const maxKeys = 8;

/** Strings in a text that look like a key of this gateway. */
function findKeys(text: string, prefix: string): string[] {
  const start = `${prefix}_`;
  const keys: string[] = [];
  for (let at = text.indexOf(start); at >= 0; at = text.indexOf(start, at + 1)) {
    const key = text.slice(at, at + start.length + keyLength);
    if (readLookupId(key, prefix) !== undefined) keys.push(key);
  }
  return keys;
}

/** @throws {InvalidRequestError} Always. */
function refuseKey(): never {
  throw new InvalidRequestError(
    "Cannot make this call: its address or one of its headers contains a key of this gateway",
    {
      code: "gateway_key_as_credential",
    },
  );
}

/** Refuses keys of this installation. Keys of other gateways may be sent. @throws {InvalidRequestError} */
async function requireForeign(keys: readonly string[], { authenticator }: Pick<Services, "authenticator">) {
  for (const key of keys) if (await authenticator.isOwnKey(key)) refuseKey();
}

/**
 * Refuses to send a key of this gateway to a provider, in the address or in a header: the key would leak, or lead a request
 * back to the gateway.
 *
 * @returns A promise only where a key must be looked up.
 * @throws {InvalidRequestError}
 */
export function requireNoKey(
  { url, headers }: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
  { gatewayKey, services }: Pick<CallerContext, "gatewayKey" | "services">,
): Promise<void> | undefined {
  const { keyPrefix } = services;
  // most headers are too short for any key
  const shortest = Math.min(gatewayKey.length, keyPrefix.length + 1 + keyLength);
  let found: string[] | undefined;
  const look = (text: string) => {
    if (text.length < shortest) return;
    if (text.includes(gatewayKey)) refuseKey();
    const keys = findKeys(text, keyPrefix);
    if (keys.length > 0) found = found ? [...found, ...keys] : keys;
  };
  look(withoutEscapes(url));
  for (const name in headers) look(headers[name] ?? "");
  if (!found) return undefined;
  if (found.length > maxKeys) refuseKey();
  return requireForeign(found, services);
}
