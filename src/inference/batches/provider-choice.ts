import { createCallRecord } from "../../context/call-record.ts";
import { type CallerContext, createHeaderReader, type Services } from "../../context.ts";
import { GatewayError } from "../../errors.ts";
import { HeaderMap } from "../../lib/headers.ts";
import type { Destination } from "../../providers/core/call.ts";
import type { InheritedSettings } from "../../routing/config.ts";
import { blocksUnpriced } from "../call/unpriced-models.ts";
import { isForOwnStore } from "../files/gateway-store.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { listLeaves, readLeafDestination } from "../target/config-target.ts";
import { mayNameAlias } from "../target/named-config.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import { readView } from "../target/stored-provider.ts";

/** The caller as it would be with the headers of `gateway_options`, and no others. */
export function withOptions(context: CallerContext, options: Readonly<Record<string, string>>): CallerContext {
  const { headerPrefixes } = context.services;
  const headers = new HeaderMap(new Headers(options));
  const providerCredential = options.authorization?.replace(/^bearer\s+/i, "").trim();
  return {
    ...context,
    headers,
    header: createHeaderReader(headers, headerPrefixes),
    log: createCallRecord(),
    providerCredential,
    providerAuthorization: undefined,
  };
}

/** Whether the headers ask for more than a destination: such settings need each line to be called by the gateway. */
function changesCalls(
  settings: InheritedSettings,
  { view, node }: RequestConfig,
  { guardrails }: Pick<Services, "guardrails">,
): boolean {
  const { hooks, overrideParams, defaultParams, dropParams } = settings;
  if (guardrails.of(hooks, view) || node.serverTools?.webSearch) return true;
  return [overrideParams, defaultParams].some((one) => Object.keys(one).length > 0) || dropParams.length > 0;
}

/**
 * The single destination of a request without a body; undefined where a config has several targets, or does more than
 * name one.
 *
 * @throws {GatewayError} If the config or the destination cannot be used.
 */
export async function readOnlyDestination(context: CallerContext): Promise<Destination | undefined> {
  const config = await readRequestConfig(context);
  const [leaf, ...others] = listLeaves(config.node);
  if (!leaf || others.length > 0 || leaf.promptId !== undefined) return undefined;
  if (changesCalls(leaf.merged, config, context.services)) return undefined;
  return readLeafDestination({ node: leaf, settings: leaf.merged, model: undefined }, context);
}

/**
 * The provider whose own batch the lines can become; undefined where they are called one by one.
 *
 * @param options Headers of the calls.
 * @throws {GatewayError} 5xx when it cannot be determined now. Other faults of the headers are reported by the lines.
 */
export async function findBatchProvider(
  endpoint: string,
  options: Readonly<Record<string, string>>,
  context: CallerContext,
): Promise<string | undefined> {
  const asked = withOptions(context, options);
  try {
    if (await isForOwnStore(asked)) return undefined;
    const destination = await readOnlyDestination(asked);
    const view = await readView(asked);
    // where some models are not allowed each call is checked; where a line may name an alias, each goes its own way
    if (!destination || destination.managed?.restrictedTo || blocksUnpriced(view)) return undefined;
    if (asked.principal.allowedModels) return undefined;
    if (mayNameAlias(asked, view)) return undefined;
    const { slug, batches } = destination.provider;
    return batches?.endpoints.includes(endpoint) ? slug : undefined;
  } catch (error) {
    if (error instanceof GatewayError && error.status < 500) return undefined;
    throw error;
  }
}
