import type { CallerContext } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import type { Destination } from "../../providers/core/call.ts";
import { withoutKey } from "../target/caller-setting.ts";
import { requireCustomHost } from "../target/custom-host.ts";

/** Where a passthrough request goes. */
export interface PassthroughDestination {
  destination: Destination;
  /** Path below the base address, with its query. */
  path: string;
}

/**
 * Where a passthrough path leads at the provider of a request.
 *
 * @param asked.model The model its body names.
 * @throws {GatewayError} 400 if the path names a host that is refused, or that must not receive the gateway's
 * credential, or if the query holds the gateway key.
 */
export function readPassthroughDestination(
  destination: Destination,
  context: CallerContext,
  model: string | undefined,
): PassthroughDestination {
  const { url } = context;
  const query = withoutKey(url.search, "query", context);
  const written = url.pathname.replace(/^\/v1(?=\/|$)/, "");
  const isProxied = written.startsWith("/proxy/");
  const path = isProxied ? written.slice("/proxy".length) : written;
  const target = destination.provider.passPath({ path, query, isProxied, model });
  if (target.baseUrl === undefined) return { destination, path: target.path };
  if (destination.managed !== undefined || destination.customHost !== undefined) {
    throw new InvalidRequestError("Cannot forward this path: its host is not the provider's", {
      param: "path",
      code: "invalid_custom_host",
    });
  }
  requireCustomHost(target.baseUrl, context.services, "path");
  return { destination: { ...destination, customHost: target.baseUrl }, path: target.path };
}

/**
 * Refuses a native route at a provider that does not have it.
 *
 * @throws {InvalidRequestError} 400, on which a fallback continues with the next target.
 */
export function requireNativeRoute({ provider }: Destination, { nativeRoute, log }: CallerContext): void {
  if (!nativeRoute || provider.isRaw || provider.nativeGroups.includes(nativeRoute.group)) return;
  throw new InvalidRequestError(`Cannot call ${log.operation} on ${provider.slug}: this provider does not have it`, {
    code: "unsupported_endpoint",
  });
}
