import type { RequestContext } from "../context.ts";
import { isHeaderValue } from "../lib/headers.ts";

/** Headers by which requests of the gateway join the trace and the session of the request they are made for. */
export function headersOfTrace({
  traceId,
  header,
}: Pick<RequestContext, "traceId" | "header">): Record<string, string> {
  const session = header("session-id");
  return {
    "x-gateway-trace-id": traceId,
    ...(session !== null && isHeaderValue(session) && { "x-gateway-session-id": session }),
  };
}

/** What an internal request holds. */
export interface OwnRequestInit {
  method?: string;
  headers: Readonly<Record<string, string>>;
  body?: string | ReadableStream<Uint8Array>;
  signal: AbortSignal;
}

/** A request the gateway makes of itself, for `Services.handle`. */
export function createOwnRequest(path: string, { method = "GET", ...init }: OwnRequestInit): Request {
  // `duplex` is required for streamed bodies and missing in the DOM types
  const streamed = init.body instanceof ReadableStream ? { duplex: "half" as const } : {};
  return new Request(`http://gateway.internal${path}`, { method, ...init, ...streamed });
}
