import type { CallerContext } from "../../context.ts";
import { isHeaderValue } from "../../lib/headers.ts";
import type { Reply } from "../../lib/reply.ts";
import { type Destination, productName } from "../../providers/core/call.ts";
import type { BoundProvider } from "../../providers/core/types.ts";
import { type CallTerms, callUpstream, type UpstreamResponse } from "../call/call-upstream.ts";
import { toProviderError, unifiedHeaders } from "../call/provider-response.ts";
import { badAnswer, isSuccess, parseAnswer, readAnswer, toFailureText, toText } from "../call/upstream-body.ts";
import type { TargetGuard } from "../guard/target-guard.ts";

/** A provider and the time limits of its calls. */
export interface RecordTarget {
  destination: Destination;
  times: CallTerms;
  context: CallerContext;

  /** Guardrails that let the request pass. */
  guard?: TargetGuard | undefined;
}

/** One call about records. */
export interface RecordSend {
  method: string;
  path: string;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Headers that describe a forwarded body. */
  headersOfBody?: Readonly<Record<string, string>>;
  body?: string | Uint8Array | ReadableStream<Uint8Array>;
  /** The service that stores files, instead of the provider. */
  store?: BoundProvider | undefined;
}

/** A credential that is read again would be for the provider, not for the service that stores its files. */
function withoutRenewal({ renew: _, ...managed }: NonNullable<Destination["managed"]>) {
  return managed;
}

/** Makes one call and requires success. */
export async function sendRecord(target: RecordTarget, call: RecordSend): Promise<UpstreamResponse<Response>> {
  const { destination, times, context } = target;
  const { method, path, body, store } = call;
  const { provider, customHost, credential, managed } = destination;
  const headers: Record<string, string> = {
    ...managed?.headers,
    accept: "application/json",
    "accept-encoding": "identity",
    "user-agent": productName,
    ...(typeof body === "string" && { "content-type": "application/json" }),
    ...call.headersOfBody,
    ...call.headers,
  };
  for (const name of store ? [] : provider.clientHeaders) {
    const value = context.headers.get(name);
    if (value === undefined || !isHeaderValue(value) || value.includes(context.gatewayKey)) continue;
    // such headers are lists: the call's values are added to the client's
    headers[name] = call.headers?.[name] === undefined ? value : `${value},${call.headers[name]}`;
  }
  if (!store) target.guard?.addHeaders(headers);
  const prepared = {
    provider: store ?? provider,
    // a host the caller names is the provider's, never that of another service
    customHost: store ? undefined : customHost,
    credential,
    method,
    path,
    headers,
    raw: false,
    ...(managed && { managed: store ? withoutRenewal(managed) : managed }),
    ...(body !== undefined && { body }),
  };
  const { upstream, attempt } = await callUpstream(prepared, times, context);
  if (isSuccess(upstream)) return { upstream, attempt };
  try {
    const text = toFailureText(await readAnswer(upstream, { attempt, provider: provider.slug }, context));
    throw toProviderError(upstream, text, context);
  } finally {
    attempt.release();
  }
}

/** As `sendRecord`, with the response's text read. */
export async function readRecord(
  target: RecordTarget,
  call: RecordSend,
): Promise<{ upstream: Response; text: string }> {
  const { slug } = target.destination.provider;
  const { upstream, attempt } = await sendRecord(target, call);
  try {
    return {
      upstream,
      text: toText(await readAnswer(upstream, { attempt, provider: slug }, target.context), slug),
    };
  } finally {
    attempt.release();
  }
}

/** The object of a JSON response; empty where there is no body. */
export function parseRecord(text: string, { destination }: RecordTarget): Record<string, unknown> {
  return text.trim() === "" ? {} : { ...parseAnswer(text, destination.provider.slug, { isList: false }) };
}

/** Converts a response; one that cannot be parsed is the upstream's fault. */
export function convertRecord<Value>(convert: () => Value, { destination }: RecordTarget): Value {
  try {
    return convert();
  } catch (cause) {
    throw badAnswer(destination.provider.slug, "it lacks expected fields", cause);
  }
}

/** A JSON response with the headers every provider response has. */
export function recordReply(value: object, upstream: Response, target: RecordTarget): Reply {
  const { destination, context } = target;
  const { slug } = destination.provider;
  const headers = unifiedHeaders(upstream, slug, context);
  headers["content-type"] = "application/json";
  const body = JSON.stringify(value);
  context.log.responseBody = body;
  return { status: 200, headers, body };
}
