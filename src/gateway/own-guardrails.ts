import type { Services } from "../context.ts";
import { createChecks } from "../guardrails/registry.ts";
import { createGuardrails, type Guardrails } from "../guardrails/state.ts";
import { type GatewayOptions, warnOf } from "./options.ts";
import { createPartnerTools } from "./partner-tools.ts";

/** The guardrails, whose checks may use what the gateway stores. */
export function createOwnGuardrails(
  options: GatewayOptions,
  { outbound, clock, services }: Pick<Services, "outbound" | "clock"> & { services(): Services },
): Guardrails {
  return createGuardrails(
    createChecks({
      outbound,
      clock,
      model: options.guardrailModel ?? {},
      isOwnCredential: (credential) => services().oauth.isOwnCredential(credential),
      ...createPartnerTools(services),
    }),
    warnOf(options),
  );
}
