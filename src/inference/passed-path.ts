import type { CallerContext, Services } from "../context.ts";
import { InvalidRequestError } from "../errors.ts";
import type { Destination } from "../providers/call.ts";
import { withoutKey } from "./caller-setting.ts";
import { requireCustomHost } from "./custom-host.ts";
import { requireModelOfBody } from "./stored-provider.ts";

/** Where a request that is passed on goes. */
export interface PassedDestination {
  destination: Destination;
  /** Path below the base address, with its query. */
  path: string;
}

/**
 * Where a path that is passed on as it is leads at the provider of a request.
 *
 * @throws {GatewayError} 400 if the path names a host that is refused, or that a credential of ours must not be sent to, or
 * if the query holds the gateway key; 412 if it names a model that is not allowed.
 */
export function readPassedDestination(
  destination: Destination,
  context: CallerContext,
  services: Services,
): PassedDestination {
  const { url, log } = context;
  const query = withoutKey(url.search, "query", context);
  const written = url.pathname.replace(/^\/v1(?=\/|$)/, "");
  const isProxied = written.startsWith("/proxy/");
  const path = isProxied ? written.slice("/proxy".length) : written;
  const target = destination.provider.passPath({ path, query, isProxied, model: log.model ?? undefined });
  if (target.model !== undefined) requireModelOfBody(destination, { model: target.model, isRead: true });
  if (target.baseUrl === undefined) return { destination, path: target.path };
  if (destination.managed !== undefined || destination.customHost !== undefined) {
    throw new InvalidRequestError("Cannot pass this path on: it names another host than the provider's", {
      ...{ param: "path", code: "invalid_custom_host" },
    });
  }
  requireCustomHost(target.baseUrl, services, "path");
  return { destination: { ...destination, customHost: target.baseUrl }, path: target.path };
}
