import * as v from "valibot";
import { bearer } from "../auth/headers.ts";
import { mediaOperations } from "../openai-compatible/media.ts";
import { openaiCompatible, textOperations } from "../openai-compatible/mod.ts";

/** OpenAI (https://platform.openai.com/docs/api-reference/authentication). */
export const openai = openaiCompatible({
  slug: "openai",
  baseUrl: "https://api.openai.com/v1",
  operations: [...textOperations, ...mediaOperations],
  chat: { developer: true },
  speechEvents: true,
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
