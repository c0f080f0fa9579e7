import type { Principal } from "../auth/principal.ts";
import { type CallerContext, clientAddressOf } from "../context.ts";

/**
 * The caller of a request as its credential says now.
 *
 * @throws {GatewayError} If the credential is no longer valid.
 */
export async function findCallerNow(context: CallerContext): Promise<Principal> {
  const { authenticateAgain, gatewayKey, services } = context;
  if (authenticateAgain) return authenticateAgain();
  const address = () => clientAddressOf(context, services);
  return services.authenticator.authenticate(gatewayKey, address, () => context.header("workspace"));
}
