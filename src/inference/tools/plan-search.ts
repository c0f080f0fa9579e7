import type { CallerContext } from "../../context.ts";
import { GatewayError } from "../../errors.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import type { ConfigNode } from "../../routing/config.ts";
import { applyParamOverrides } from "../../routing/param-overrides.ts";
import type { WebSearchSettings } from "../../routing/server-tools.ts";
import { modelOf } from "../facts/operation-facts.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { listLeaves, readLeafDestination } from "../target/config-target.ts";
import { withTargetModel } from "../target/named-config.ts";
import type { RequestConfig } from "../target/saved-config.ts";
import type { SearchingOperation } from "./asks-for-search.ts";

/** Whether the model of a target searches the web itself. Of custom hosts nothing is assumed. */
async function searchesItself(
  leaf: ConfigNode,
  request: object,
  { operation, context }: { operation: OperationName; context: CallerContext },
): Promise<boolean> {
  const model = modelOf(applyParamOverrides(request, leaf.merged));
  try {
    const destination = await readLeafDestination({ node: leaf, settings: leaf.merged, model }, context);
    const { provider, customHost, managed } = destination;
    if (customHost !== undefined || !provider.operations[operation]) return false;
    return provider.searches(operation, managed?.model ?? model ?? "");
  } catch (error) {
    // the call itself reports what is wrong with the target
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

/** Whether every target of a config searches the web itself: a fallback must not lose the tool. */
async function everyTargetSearches(
  config: RequestConfig,
  request: object,
  parts: { operation: SearchingOperation; context: CallerContext },
): Promise<boolean> {
  const asked = withTargetModel(request, config);
  for (const leaf of listLeaves(config.node)) if (!(await searchesItself(leaf, asked, parts))) return false;
  return true;
}

/** How the gateway searches the web for a request with this config; undefined where its targets do, or it has no search. */
export async function findWebSearch(
  config: RequestConfig,
  request: object,
  parts: { operation: SearchingOperation; context: CallerContext },
): Promise<WebSearchSettings | undefined> {
  const settings = config.node.serverTools?.webSearch;
  if (!settings || settings.isAlways) return settings;
  return (await everyTargetSearches(config, request, parts)) ? undefined : settings;
}

/**
 * How the gateway searches the web for a request that asks for it; undefined where its targets do, or its config has no
 * search.
 *
 * @throws {GatewayError} If its config cannot be used.
 */
export async function planWebSearch(
  operation: SearchingOperation,
  request: object,
  context: CallerContext,
): Promise<WebSearchSettings | undefined> {
  const config = await readRequestConfig(context, modelOf(request));
  return findWebSearch(config, request, { operation, context });
}
