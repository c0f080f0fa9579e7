import * as v from "valibot";
import { bearer } from "../core/headers.ts";
import { mediaOperations } from "../openai-compatible/media.ts";
import { openaiCompatible, textOperations } from "../openai-compatible/mod.ts";
import { openaiFacts } from "./facts.ts";
import { fitOwnChat } from "./own-chat.ts";

const Identifier = v.pipe(v.string(), v.maxLength(255, "must have at most 255 characters"));

/** OpenAI (https://platform.openai.com/docs/api-reference/authentication). */
export const openai = openaiCompatible({
  slug: "openai",
  aliases: ["open-ai"],
  baseUrl: "https://api.openai.com/v1",
  chat: { developer: true, replay: "none", adapt: fitOwnChat },
  facts: openaiFacts,
  isNativeChat: true,
  // https://platform.openai.com/docs/guides/tools-web-search
  searches: (operation, model) =>
    operation === "responses" || (operation === "chat" && /-search-(?:preview|api)(?:-|$)/.test(model)),
  hasLogprobs: true,
  answers: "own",
  moderates: true,
  realtime: true,
  nativeGroups: ["assistants", "vector_stores", "videos", "image_variations", "realtime_secrets"],
  operations: [...textOperations, "responses", ...mediaOperations],
  speechEvents: true,
  // https://platform.openai.com/docs/guides/batch
  clientHeaders: ["openai-beta"],
  batches: {
    endpoints: [
      "/v1/chat/completions",
      "/v1/completions",
      "/v1/embeddings",
      "/v1/responses",
      "/v1/moderations",
      "/v1/images/generations",
    ],
  },
  settings: {
    prefix: "openai",
    configNames: { organization: ["open_ai_organization"] },
    schema: v.object({
      organization: v.optional(Identifier),
      project: v.optional(Identifier),
      beta: v.optional(v.string()),
    }),
  },
  authenticate: (credential, { organization, project, beta }) => ({
    ...bearer(credential),
    ...(organization !== undefined && { "openai-organization": organization }),
    ...(project !== undefined && { "openai-project": project }),
    ...(beta !== undefined && { "openai-beta": beta }),
  }),
});
