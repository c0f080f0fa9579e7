import type { Services } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import { AddressRefusedError, requireBaseAddress } from "../../lib/address.ts";

/**
 * Checks a base address given as text; the rest is checked when the connection is made.
 *
 * @param param Where it was given.
 * @throws {InvalidRequestError}
 */
export function requireCustomHost(host: string, { addressGuard }: Pick<Services, "addressGuard">, param: string): void {
  try {
    requireBaseAddress(addressGuard, host);
  } catch (cause) {
    if (!(cause instanceof AddressRefusedError)) throw cause;
    throw new InvalidRequestError(`Invalid custom host: ${cause.reason}`, {
      param,
      code: "invalid_custom_host",
      cause,
    });
  }
}
