import type { CallerContext, Services } from "../../context.ts";
import { InvalidRequestError } from "../../errors.ts";
import { AddressRefusedError, requireBaseAddress } from "../../lib/address.ts";
import { memoizeText } from "../../lib/bounded-map.ts";
import { secretSegments } from "../../lib/secret-values.ts";

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

/** Addresses whose parts are remembered. */
const rememberedHosts = 1_000;
const segmentsOf = memoizeText(rememberedHosts, secretSegments);

/**
 * Checks the base address of a request's target, and notes what of its path may be a credential, so that errors and log rows
 * do not show it.
 *
 * @throws {InvalidRequestError}
 */
export function noteCustomHost(host: string, { services, log }: CallerContext): void {
  requireCustomHost(host, services, "x-gateway-custom-host");
  const segments = segmentsOf(host);
  if (segments.length > 0) log.secrets.push(...segments);
}
