import * as v from "valibot";
import { bearer } from "../auth/headers.ts";
import { openaiCompatible } from "../openai-compatible/mod.ts";

/** OpenAI (https://platform.openai.com/docs/api-reference/authentication). */
export const openai = openaiCompatible({
  slug: "openai",
  baseUrl: "https://api.openai.com/v1",
  operations: ["chat", "complete", "embed", "models", "responses"],
  chat: { developer: true },
  settings: {
    prefix: "openai",
    schema: v.object({
      organization: v.optional(v.string()),
      project: v.optional(v.string()),
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
