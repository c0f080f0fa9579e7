import * as v from "valibot";
import type { ChatRequest } from "../../schemas/chat.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { pathSegment } from "../shared/hosts.ts";
import { refuseMember, requireOneChoice } from "../shared/messages.ts";
import { plainChat, toPlainRequest } from "../shared/plain.ts";

/** The deployment and the adapter in a model written as `deployment:adapter`. */
function partsOf(model: string): { deployment: string; adapter: string } {
  const colon = model.indexOf(":");
  return colon < 0
    ? { deployment: model, adapter: "" }
    : { deployment: model.slice(0, colon), adapter: model.slice(colon + 1) };
}

function chatPath({ model, user }: ChatRequest): string {
  if (!user) return refuseMember("predibase", "user", "set user to the tenant");
  const tenant = pathSegment("user", user);
  return `/${tenant}/deployments/v2/llms/${pathSegment("model", partsOf(model).deployment)}/v1/chat/completions`;
}

/**
 * Predibase (https://docs.predibase.com/user-guide/inference/migrate-openai): tenant and deployment are in the path.
 */
export const predibase = defineProvider({
  slug: "predibase",
  settings: { prefix: "predibase", schema: v.object({}) },
  baseUrl: "https://serving.app.predibase.com",
  authenticate: bearer,
  models: {
    // an adapter is a variant of its deployment
    variantOf: (model) => (model.includes(":") ? partsOf(model).deployment : undefined),
    inPath: (path) => /(?:^|\/)llms\/([^/]+)/i.exec(path)?.[1],
  },
  operations: {
    chat: {
      ...plainChat("predibase", chatPath),
      toUpstream(request, options) {
        requireOneChoice("predibase", request);
        const { user: _tenant, ...rest } = toPlainRequest(request, options);
        return { ...rest, model: partsOf(request.model).adapter };
      },
    },
  },
});
