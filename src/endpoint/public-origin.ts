import type { RequestContext } from "../context.ts";
import { PermissionError } from "../errors.ts";

const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** What an address is made from. */
export type Asked = Pick<RequestContext, "services" | "url">;

/** Public origin of the gateway. */
export function originOf({ services, url }: Asked): string {
  const { baseUrl } = services.mcp.settings;
  return baseUrl === undefined ? url.origin : new URL(baseUrl).origin;
}

/**
 * The origin for addresses that others rely on: a `Host` header that anyone may choose must not become one.
 *
 * @throws {PermissionError}
 */
export function requireOrigin(context: Asked): string {
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
