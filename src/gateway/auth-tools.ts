import type { Services } from "../context.ts";
import { createTokenCache } from "../providers/core/token-cache.ts";
import type { GatewayOptions } from "./options.ts";

/** Id of the operator's organisation; undefined without organisations. */
export async function readFirstOrganisation({ known }: Services["control"]): Promise<string | undefined> {
  return (await known.organisations.first())?.id;
}

/** Who may act as the operator in clouds. */
async function readIdentityOrganisations(
  { identityOrganisations }: GatewayOptions,
  control: Services["control"],
): Promise<ReadonlySet<string>> {
  if (identityOrganisations) return new Set(identityOrganisations);
  const first = await readFirstOrganisation(control);
  return new Set(first === undefined ? [] : [first]);
}

/** What authentication towards providers may use. */
export async function createAuthTools(
  options: GatewayOptions,
  control: Services["control"],
  { outbound, clock }: Pick<Services, "outbound" | "clock">,
): Promise<Services["authTools"]> {
  return {
    outbound,
    clock,
    tokens: createTokenCache(clock),
    environment: options.cloudEnvironment ?? {},
    identityOrganisations: await readIdentityOrganisations(options, control),
    ...(options.readFile && { readFile: options.readFile }),
  };
}
