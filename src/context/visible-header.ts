import type { CallerContext } from "../context.ts";

/** Gateway headers that only say where a request belongs in a trace. */
const traceNames = ["trace-id", "span-id"];

/** A signed token (JWT), with which users may authenticate instead of a key. */
const tokenForm = /^[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * A client header as checks may see it. Left out: headers that hold the gateway key, unless it is a signed token, and
 * gateway headers under either prefix, except those of the trace.
 */
export function readVisibleHeader(
  name: string,
  { headers, gatewayKey, services: { headerPrefixes } }: CallerContext,
): string | undefined {
  const lower = name.toLowerCase();
  const prefix = headerPrefixes.find((one) => lower.startsWith(one));
  if (prefix !== undefined && !traceNames.includes(lower.slice(prefix.length))) return undefined;
  const value = headers.get(lower);
  const isToken = lower === "authorization" && tokenForm.test(gatewayKey);
  return value?.includes(gatewayKey) && !isToken ? undefined : value;
}
