import * as v from "valibot";
import { ModelList } from "../../schemas/models.ts";
import { defineProvider } from "../core/define.ts";
import { bearer, keyHeader } from "../core/headers.ts";
import type { OperationAdapter } from "../core/types.ts";
import { plainChat } from "../shared/plain.ts";
import { conversation, conversationPath, needsConversation } from "./conversation.ts";

const apiKey = keyHeader("x-api-key");
const plain = plainChat("reka-ai", () => "/chat/completions");

/** Chat in OpenAI's form, or through the legacy API when the request needs it. */
const chat: OperationAdapter<"chat"> = {
  path: (request) => (needsConversation(request) ? conversation : plain).path(request),
  toUpstream: (request, options) => (needsConversation(request) ? conversation : plain).toUpstream?.(request, options),
  fromUpstream: (body, request, options) =>
    (needsConversation(request) ? conversation : plain).fromUpstream?.(body, request, options),
  streamMapper: (request, options) => plain.streamMapper?.(request, options),
};

/**
 * Reka (https://docs.reka.ai/chat): OpenAI's form or the legacy API. Reka's own clients send the key in a different
 * header.
 */
export const reka = defineProvider({
  slug: "reka-ai",
  settings: {
    prefix: "reka",
    open: true,
    schema: v.object({
      format: v.optional(v.picklist(["openai", "conversation"], "must be openai or conversation"), "openai"),
    }),
  },
  baseUrl: (_, { path }) => (path === conversationPath ? "https://api.reka.ai" : "https://api.reka.ai/v1"),
  authenticate: (credential) => ({ ...bearer(credential), ...apiKey(credential) }),
  operations: ({ format }) => ({
    chat: format === "conversation" ? conversation : chat,
    models: { method: "GET", path: () => "/models", fromUpstream: (body) => v.parse(ModelList, body) },
  }),
});
