import { InvalidRequestError } from "../../errors.ts";
import type { AuthTools } from "../core/types.ts";

/** Whether a boolean environment variable is on. */
export function isSwitchedOn(value: string | undefined): boolean {
  return value !== undefined && ["true", "on", "1"].includes(value.trim().toLowerCase());
}

/** Whether the calling organisation may use the operator's cloud identity. */
export function mayUseIdentity({ tenant, identityOrganisations }: AuthTools): boolean {
  const [organisation] = tenant;
  return organisation !== undefined && identityOrganisations?.has(organisation) === true;
}

/**
 * Allows the operator's cloud identity only to organisations the operator has listed.
 *
 * @param param The setting that requests it.
 * @throws {InvalidRequestError} 400 for all other organisations.
 */
export function requireIdentity(tools: AuthTools, param: string): void {
  if (mayUseIdentity(tools)) return;
  throw new InvalidRequestError(
    "Cannot use the gateway's own identity: the operator has not allowed it for this organisation",
    {
      param,
      code: "identity_not_lent",
    },
  );
}
