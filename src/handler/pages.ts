import type { RequestContext } from "../context.ts";
import { type Endpoint, operationNameOf } from "../endpoint.ts";

/** The web origin whose page may read the response: that of the request, where the operator lists it. */
export function pageOriginOf({ headers, services }: RequestContext): string | undefined {
  if (services.pageOrigins.size === 0) return undefined;
  const origin = headers.get("origin");
  return origin !== undefined && services.pageOrigins.has(origin.toLowerCase()) ? origin : undefined;
}

/** Whether pages may call a row: those of the inference API. MCP servers have a separate list. */
export function isOpenToPages(endpoint: Endpoint): boolean {
  return endpoint.kind !== "mcp" && operationNameOf(endpoint) !== undefined;
}

/** Headers that pages may read of every response (Fetch Standard, section 2.2.2), and one they never read. */
const known = new Set([
  "cache-control",
  "content-language",
  "content-length",
  "content-type",
  "expires",
  "last-modified",
  "pragma",
  "set-cookie",
]);

/** Lets a page read a response and its headers. Cookies are not allowed: a page sends its key. */
export function allowPage(headers: Record<string, string>, origin: string): void {
  const exposed = Object.keys(headers).filter((name) => !known.has(name) && !name.startsWith("access-control-"));
  headers["access-control-allow-origin"] = origin;
  headers["access-control-expose-headers"] = exposed.join(", ");
  headers.vary = headers.vary === undefined ? "origin" : `${headers.vary}, origin`;
}

/** Headers of the response to a preflight request, beside those of `allowPage` (Fetch Standard, section 4.9). */
export function preflightHeaders({ headers }: RequestContext, methods: readonly string[]): Record<string, string> {
  return {
    "access-control-allow-methods": methods.join(", "),
    "access-control-allow-headers": headers.get("access-control-request-headers") ?? "authorization, content-type",
    "access-control-max-age": "600",
  };
}
