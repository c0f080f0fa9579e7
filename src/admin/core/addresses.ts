import { type AddressGuard, AddressRefusedError } from "../../lib/address.ts";
import { refuseField } from "./request.ts";

/**
 * Checks an address that the gateway will call: plain http only for hosts that the operator trusts.
 *
 * @param check Checks it with the guard.
 * @throws {InvalidRequestError} AB01, naming the field.
 */
export function requireSecureUrl(
  param: string,
  guard: AddressGuard,
  check: () => ReturnType<AddressGuard["checkTarget"]>,
): void {
  try {
    const target = check();
    if (target.protocol !== "https:" && !guard.isTrusted(target)) refuseField(param, "must begin with https://");
  } catch (error) {
    throw error instanceof AddressRefusedError ? refuseField(param, error.reason) : error;
  }
}

/** An address as it is shown: what follows the host may be a secret. */
export function maskAddress(text: string): string {
  const { origin, pathname, search } = new URL(text);
  return pathname === "/" && search === "" ? text : `${origin}/*****`;
}
