import type { CallerContext } from "../../context.ts";
import type { FormBody, FormEndpoint } from "../../endpoint.ts";
import { boundaryOf } from "../../lib/multipart.ts";
import type { OperationName, Operations } from "../../providers/core/operations.ts";
import type { ConfigNode } from "../../routing/config.ts";
import { requireServed } from "../adapt/operation.ts";
import { blocksUnpriced } from "../call/unpriced-models.ts";
import { streamForm } from "../pipeline/media.ts";
import { runInference, type UnifiedBody } from "../pipeline/run.ts";
import { readRequestConfig } from "../target/config-source.ts";
import { readLeafDestination } from "../target/config-target.ts";
import { mayNameAlias } from "../target/named-config.ts";

/** Forms up to this size are always held in memory, so that their fields are known. */
const smallForm = 256 * 1024;

/** Whether a config makes one call and does not change the request. */
function isPlainLeaf({ strategy, merged }: ConfigNode): boolean {
  const { retry, overrideParams, defaultParams, dropParams } = merged;
  const changes = [...Object.keys(overrideParams), ...Object.keys(defaultParams), ...dropParams];
  return strategy === undefined && (retry?.attempts ?? 0) === 0 && changes.length === 0;
}

/** Whether the headers alone name the provider, so that the body's model need not. */
function isNamedInHeaders(context: CallerContext): boolean {
  const slug = context.header("provider");
  return slug !== null && !slug.startsWith("@") && context.header("virtual-key") === null;
}

/**
 * Whether a form can be streamed to its provider unread: one target with the caller's own credential that takes the
 * same form, and no retry.
 *
 * @throws {InvalidRequestError} If that provider does not have the operation.
 */
async function canStreamForm(name: OperationName, context: CallerContext): Promise<boolean> {
  const { headers } = context;
  const isForm = boundaryOf(headers.get("content-type")) !== undefined && headers.get("content-encoding") === undefined;
  if (!isForm || Number(headers.get("content-length") ?? Number.POSITIVE_INFINITY) <= smallForm) return false;
  const config = await readRequestConfig(context);
  if (mayNameAlias(context, config.view)) return false;
  if (config.isImplied ? !isNamedInHeaders(context) : !isPlainLeaf(config.node)) return false;
  // the model is read before the call
  if (context.principal.allowedModels || blocksUnpriced(config.view) || config.view.policies?.looksAtModels)
    return false;
  // guardrails read the fields
  if (context.services.guardrails.of(config.node.merged.hooks, config.view)) return false;
  const { node } = config;
  const destination = await readLeafDestination({ node, settings: node.merged, model: undefined }, context);
  if (destination.managed) return false;
  requireServed(destination.provider, name);
  return destination.provider.operations[name]?.takesForms === true;
}

/** The handler of a unified route whose requests are forms. */
export function runForm<Name extends OperationName>(name: Name): FormEndpoint["handleForm"] {
  return async (read, context) => {
    if (await canStreamForm(name, context)) {
      // its fields are unknown, and adapters that accept any form read none
      const unread = {} as Operations[Name]["request"];
      return runInference(name, { value: unread, form: streamForm(context) }, context);
    }
    const body: FormBody = await read();
    // the endpoint's schema is that of the operation
    return runInference(name, body as UnifiedBody<Name>, context);
  };
}
