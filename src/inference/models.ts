import type { CallerContext, Services } from "../context.ts";
import { jsonReply, type Reply } from "../lib/reply.ts";
import { runInference } from "./run.ts";
import { namesProvider } from "./target.ts";

/** `GET /models`: the list of the provider the request names; without one, the models this workspace was given. */
export function listModels(context: CallerContext, services: Services): Promise<Reply> | Reply {
  const integrated = context.header("fetch-integrated-models") === "true";
  if (integrated || !namesProvider(context)) return jsonReply({ object: "list", data: [] });
  return runInference("models", { value: {}, text: "" }, context, services);
}
