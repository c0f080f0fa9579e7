import type { RequestContext } from "../context.ts";

const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** The name in a `Host` header, without its port. */
export function nameOfHost(host: string): string {
  return host.toLowerCase().replace(/:[0-9]+$/, "");
}

/** Whether a page may call: its origin is on the list, or is the gateway's own address and that is not a foreign name. */
export function isKnownOrigin(origin: string, { headers, services, url }: RequestContext): boolean {
  const { origins, baseUrl } = services.mcp.settings;
  const known = origin.toLowerCase();
  if (origins.has(known)) return true;
  if (baseUrl !== undefined && URL.parse(baseUrl)?.origin === known) return true;
  const host = (headers.get("host") ?? url.host).toLowerCase();
  return URL.parse(known)?.host === host && loopbackNames.has(nameOfHost(host));
}

/** Headers that let a known page read an answer. */
export function pageHeaders({ headers }: RequestContext): Record<string, string> {
  const origin = headers.get("origin");
  if (origin === undefined) return {};
  const exposed = "mcp-session-id, www-authenticate, retry-after, x-gateway-trace-id, x-gateway-request-id";
  return { "access-control-allow-origin": origin, "access-control-expose-headers": exposed, vary: "origin" };
}
