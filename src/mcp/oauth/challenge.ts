import type { Asked } from "../../endpoint/public-origin.ts";
import { metadataAddressOf } from "./addresses.ts";

/** What a client needs to get a credential (RFC 9728, section 5.1; RFC 6750, section 3). */
export function challengeOf(context: Asked, error?: string, scope: readonly string[] = ["mcp"]): string {
  const metadata = metadataAddressOf(context);
  const named = error === undefined ? "" : `error="${error}", `;
  return `Bearer ${named}resource_metadata="${metadata.replace(/["\\]/g, "")}", scope="${scope.join(" ")}"`;
}
