import type { CallerContext } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import type { Destination } from "../../providers/core/call.ts";

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
