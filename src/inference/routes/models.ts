import * as v from "valibot";
import { type KeyAccess, requireAccess } from "../../auth/access.ts";
import type { CallerContext } from "../../context.ts";
import { defineKeyEndpoint, type Endpoint } from "../../endpoint.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import { Deleted } from "../../schemas/assistants.ts";
import { MessagesModel, Model } from "../../schemas/models.ts";
import { runPassthrough } from "../passthrough/passthrough.ts";
import { readView } from "../target/stored-provider.ts";
import { namesProvider } from "../target/target.ts";
import { describeEntry } from "./alias-model.ts";
import { findModel, listCatalogue } from "./catalogue.ts";
import { toListedFields } from "./listed-model.ts";
import { isMessagesClient, toMessagesModel } from "./messages-models.ts";

const readAccess: KeyAccess = { keys: "workspace", scopes: ["completions.write", "virtual_keys.list", "models.list"] };
/** Calling a provider is inference; reading the workspace's models is not. */
const inferenceAccess: KeyAccess = { keys: "workspace", scopes: ["completions.write"] };

/** `GET /models/{model}`: the provider's response where the request names one; else the workspace's entry. */
async function readModel(context: CallerContext): Promise<Reply> {
  if (namesProvider(context)) {
    requireAccess(context.principal, inferenceAccess);
    return runPassthrough(context);
  }
  const view = await readView(context);
  const found = findModel(listCatalogue(view, context), context.params.model ?? "");
  const listed = found && describeEntry(found, view, context.services);
  if (listed && isMessagesClient(context)) return jsonReply(toMessagesModel(listed, context));
  if (listed) return jsonReply({ ...found, ...toListedFields(listed) });
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
    response: v.union([Model, MessagesModel]),
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
