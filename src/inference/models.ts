import { requireAccess } from "../auth/access.ts";
import type { CallerContext, Services } from "../context.ts";
import { jsonReply, type Reply } from "../lib/reply.ts";
import { listCatalogue, selectModels } from "./catalogue.ts";
import { runInference } from "./run.ts";
import { readView } from "./stored-provider.ts";
import { namesProvider } from "./target.ts";

/** `GET /models`: the list of the provider the request names; without one, the models this workspace may call. */
export async function listModels(context: CallerContext, services: Services): Promise<Reply> {
  const integrated = context.header("fetch-integrated-models") === "true";
  if (integrated || !namesProvider(context)) {
    const view = await readView(context, services);
    const data = selectModels(listCatalogue(view, services.clock.now()), context);
    return jsonReply({ object: "list", data });
  }
  // a call to a provider is inference, which listing what the workspace has is not
  requireAccess(context.principal, { keys: "workspace", scopes: ["completions.write"] });
  return runInference("models", { value: {}, text: "" }, context, services);
}
