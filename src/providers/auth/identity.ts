import { InvalidRequestError } from "../../errors.ts";
import type { AuthTools } from "../core/types.ts";

/** Whether a variable that is a switch is on. */
export function isSwitchedOn(value: string | undefined): boolean {
  return value !== undefined && ["true", "on", "1"].includes(value.trim().toLowerCase());
}

/** Whether the organisation that asks may act as the operator in clouds. */
export function mayUseIdentity({ tenant, identityOrganisations }: AuthTools): boolean {
  const [organisation] = tenant;
  return organisation !== undefined && identityOrganisations?.has(organisation) === true;
}

/**
 * Lets only those act as the operator in a cloud whom the operator lets.
 *
 * @param param The setting that asks for it.
 * @throws {InvalidRequestError} 400 for all others.
 */
export function requireIdentity(tools: AuthTools, param: string): void {
  if (mayUseIdentity(tools)) return;
  throw new InvalidRequestError("Cannot use the gateway's own identity: the operator lends it to other organisations", {
    param,
    code: "identity_not_lent",
  });
}
