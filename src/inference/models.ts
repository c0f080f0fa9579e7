import type { CallerContext, Services } from "../context.ts";
import { runInference } from "./run.ts";
import { namesProvider } from "./target.ts";

/** `GET /models`: the list of the provider the request names; without one, the models this workspace was given. */
export function listModels(context: CallerContext, services: Services): Promise<object> | object {
  const integrated = context.header("fetch-integrated-models") === "true";
  if (integrated || !namesProvider(context)) return { object: "list", data: [] };
  return runInference("models", { value: {}, text: "" }, context, services);
}
