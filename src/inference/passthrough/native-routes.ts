import type { CallerContext } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import type { Destination } from "../../providers/core/call.ts";

/**
 * Refuses a known route at a provider that does not have it.
 *
 * @throws {InvalidRequestError} 400, on which a fallback goes on to the next target.
 */
export function requireRelayed({ provider }: Destination, { relay, log }: CallerContext): void {
  if (!relay || provider.isRaw || provider.relays.includes(relay.group)) return;
  throw new InvalidRequestError(`Cannot call ${log.operation} on ${provider.slug}: this provider does not have it`, {
    code: "unsupported_endpoint",
  });
}
