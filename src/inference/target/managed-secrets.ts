import { maskSecret } from "../../auth/api-key.ts";
import type { CallerContext } from "../../context.ts";
import { createValueMask } from "../../lib/secret-values.ts";

/** A masked secret as it appears in JSON. */
const show = (secret: string): string => JSON.stringify(maskSecret(secret)).slice(1, -1);

/**
 * The text of an error as its caller may see it. An upstream that repeats a credential would reveal one the caller does
 * not own: the integration's key, another secret of it, or a token fetched with them.
 */
export function withoutManagedSecrets(text: string, { log }: Pick<CallerContext, "log">): string {
  if (!log.isManaged) return text;
  const values = createValueMask(log.secrets, show);
  return values.mayStandIn(text) ? values.mask(text) : text;
}
