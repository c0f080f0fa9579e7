import { type Asked, originOf } from "../endpoint/public-origin.ts";
import { PermissionError } from "../errors.ts";

/** Whether the browser's connection is encrypted: to the gateway, or to one of the operator's proxies. */
export function isSecure(context: Asked): boolean {
  const { services, headers, connection } = context;
  if (originOf(context).startsWith("https:")) return true;
  if (!services.isTrustedPeer(connection.remoteAddress)) return false;
  // each proxy appends what it saw
  return headers.get("x-forwarded-proto")?.split(",").at(-1)?.trim().toLowerCase() === "https";
}

/** The origin of the gateway as the browser sees it. */
export function browserOriginOf(context: Asked): string {
  const origin = originOf(context);
  return isSecure(context) ? origin.replace(/^http:/, "https:") : origin;
}

/** Whether an origin is the gateway's: its public address, or the host that was asked. */
function isOwnOrigin(origin: string, context: Asked): boolean {
  const host = (context.headers.get("host") ?? context.url.host).toLowerCase();
  return origin === browserOriginOf(context) || URL.parse(origin)?.host === host;
}

/** Behind a proxy that passes on neither host nor protocol, the console's own page looks like one of another site. */
function describeMismatch(origin: string | undefined, context: Asked): string {
  if (origin === undefined || isOwnOrigin(origin, context)) return "";
  return `; its origin is "${origin.slice(0, 200)}", and the gateway's is ${browserOriginOf(context)}. Behind a proxy, pass Host with its port and x-forwarded-proto on, and list the proxy in TRUSTED_PROXIES`;
}

/**
 * Refuses what a page of another site sent. Browsers leave out `sec-fetch-site` on plain HTTP: there the origin of the
 * page must be the gateway's.
 *
 * @throws {PermissionError}
 */
export function requireSameOrigin(context: Asked): void {
  const site = context.headers.get("sec-fetch-site");
  const origin = context.headers.get("origin");
  const isOwn = origin === undefined || isOwnOrigin(origin, context);
  if (site === undefined ? isOwn : site === "same-origin") return;
  throw new PermissionError(
    `Cannot use the console's session here: the request came from a page of another site${describeMismatch(origin, context)}`,
    { code: "foreign_request" },
  );
}
