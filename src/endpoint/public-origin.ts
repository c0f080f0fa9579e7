import type { RequestContext } from "../context.ts";
import { InvalidRequestError, PermissionError } from "../errors.ts";
import { readBasePath } from "../lib/base-path.ts";

const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** What an address is made from. */
export type Asked = Pick<RequestContext, "services" | "url" | "headers" | "connection">;

/** Public origin of the gateway. */
export function originOf({ services, url }: Pick<Asked, "services" | "url">): string {
  const { baseUrl } = services.mcp.settings;
  return baseUrl === undefined ? url.origin : new URL(baseUrl).origin;
}

/**
 * Path of a proxy below which clients reach the gateway, such as `/gateway`: the operator's, or the one that a trusted
 * proxy took off. Empty without one.
 *
 * @throws {InvalidRequestError} If a trusted proxy passes on what is no path.
 */
export function basePathOf({ services, headers, connection }: Asked): string {
  if (services.basePath !== "") return services.basePath;
  const named = headers.get("x-forwarded-prefix");
  if (named === undefined || !services.isTrustedPeer(connection.remoteAddress)) return "";
  const path = readBasePath(named);
  if (path !== undefined) return path;
  throw new InvalidRequestError("Cannot use x-forwarded-prefix: the proxy must send one path, such as /gateway", {
    code: "invalid_header",
    param: "x-forwarded-prefix",
  });
}

/** Public address of the gateway, which its paths follow. */
export function baseOf(context: Asked): string {
  return originOf(context) + basePathOf(context);
}

/**
 * Name of a cookie of the gateway. Cookies are for all paths of a host, so that gateways below several paths of one host
 * need separate names.
 */
export function cookieNameOf(name: string, context: Asked): string {
  return name + basePathOf(context).replaceAll("/", "+");
}

/**
 * The origin for addresses that others rely on: a `Host` header that anyone may choose must not become one.
 *
 * @throws {PermissionError}
 */
export function requireOrigin(context: Pick<Asked, "services" | "url">): string {
  const { baseUrl, hosts } = context.services.mcp.settings;
  const { hostname } = context.url;
  if (baseUrl !== undefined || hosts?.has(hostname) || loopbackNames.has(hostname)) return originOf(context);
  throw new PermissionError(
    "Cannot make addresses with this host name: set MCP_GATEWAY_BASE_URL or list it in MCP_HOSTS",
    {
      code: "host_not_allowed",
      param: "host",
    },
  );
}
