import { type KeyAccess, requireAccess } from "../../auth/access.ts";
import type { CallerContext } from "../../context.ts";
import { defineKeyEndpoint, type Endpoint } from "../../endpoint.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { Deleted } from "../../schemas/assistants.ts";
import { Model } from "../../schemas/models.ts";
import { runPassthrough } from "../passthrough/passthrough.ts";
import { runInference } from "../pipeline/run.ts";
import { type RequestConfig, readRequestConfig } from "../target/config-source.ts";
import { isFromRequest, listLeaves, storedNameOf } from "../target/config-target.ts";
import { readView } from "../target/stored-provider.ts";
import { namesProvider } from "../target/target.ts";
import { findModel, listCatalogue, selectModels } from "./catalogue.ts";

const readAccess: KeyAccess = { keys: "workspace", scopes: ["completions.write", "virtual_keys.list", "models.list"] };
/** Calling a provider is inference; reading the workspace's models is not. */
const inferenceAccess: KeyAccess = { keys: "workspace", scopes: ["completions.write"] };

/** Stored providers a config names; all where it takes one from the request. */
function createFilter({ node, view }: RequestConfig): (slug: string) => boolean {
  const leaves = listLeaves(node);
  if (leaves.some(isFromRequest)) return () => true;
  const named = leaves.map((leaf) => view.providers.get(storedNameOf(leaf)?.slug ?? "")?.row.slug);
  const slugs = new Set(named);
  return (slug) => slugs.has(slug);
}

/** `GET /models`: the list of the provider the request names; without one, the models this workspace may call. */
export async function listModels(context: CallerContext): Promise<Reply> {
  const config = await readRequestConfig(context);
  const integrated = context.header("fetch-integrated-models") === "true" || config.node.fetchIntegratedModels;
  if (integrated || !namesProvider(context)) {
    const view = await readView(context);
    const isListed = integrated ? createFilter(config) : () => true;
    const models = listCatalogue(view, context.services.clock.now()).filter(({ provider }) => isListed(provider));
    return jsonReply({ object: "list", data: selectModels(models, context) });
  }
  requireAccess(context.principal, inferenceAccess);
  return runInference("models", { value: {}, text: "" }, context);
}

/** `GET /models/{model}`: the provider's response where the request names one; else the workspace's entry. */
async function readModel(context: CallerContext): Promise<Reply> {
  if (namesProvider(context)) {
    requireAccess(context.principal, inferenceAccess);
    return runPassthrough(context);
  }
  const view = await readView(context);
  const found = findModel(listCatalogue(view, context.services.clock.now()), context.params.model ?? "");
  if (found) return jsonReply(found);
  throw new NotFoundError("Cannot find this model: the workspace has no access to a model of this name", {
    code: "model_not_found",
    param: "model",
  });
}

/** `DELETE /models/{model}`: models live at providers. */
function deleteModel(context: CallerContext): Promise<Reply> {
  if (namesProvider(context)) return runPassthrough(context);
  throw new InvalidRequestError("Cannot remove a model here: name the provider that has it", {
    code: "provider_required",
    param: "x-gateway-provider",
  });
}

/** Endpoints of single models. Names may contain slashes, encoded or not. */
export const modelEndpoints: readonly Endpoint[] = [
  defineKeyEndpoint({
    method: "GET",
    path: "/v1/models/:model+",
    operation: "get_model",
    tag: "Models",
    summary: "Read a model",
    access: readAccess,
    response: Model,
    handle: readModel,
  }),
  defineKeyEndpoint({
    method: "DELETE",
    path: "/v1/models/:model+",
    operation: "delete_model",
    tag: "Models",
    summary: "Delete a fine-tuned model",
    access: inferenceAccess,
    response: Deleted,
    handle: deleteModel,
  }),
];
