import type { CallerContext } from "../../context.ts";
import { crc32 } from "../../lib/hash.ts";
import type { ConfigNode } from "../../routing/config.ts";
import type { RequestConfig } from "../target/saved-config.ts";

/**
 * What the state of a circuit breaker belongs to: a position in a saved config, or provider, host and credential of an
 * inline one.
 */
export function breakerKey(
  node: ConfigNode,
  { slug, id }: Pick<RequestConfig, "slug" | "id">,
  context: CallerContext,
): string {
  const { principal } = context;
  const tenant = [principal.organisationId, principal.workspaceId];
  if (slug !== null) return JSON.stringify([...tenant, "saved", slug, id, node.path]);
  const { apiKey, virtualKey, merged, provider = context.header("provider") } = node;
  const credential = apiKey === undefined ? "" : `${crc32(apiKey)}.${apiKey.length}`;
  const host = context.header("custom-host") ?? merged.customHost;
  return JSON.stringify([...tenant, "inline", provider, virtualKey, host, credential]);
}
