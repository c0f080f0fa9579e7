import * as v from "valibot";
import { ModelList } from "../../schemas/models.ts";
import { bearer, keyHeader } from "../auth/headers.ts";
import { plainChat } from "../shapes/plain.ts";
import { defineProvider } from "../types.ts";

const apiKey = keyHeader("x-api-key");

/** Reka (https://docs.reka.ai/chat): OpenAI's form; its own clients send the key in a header of its own. */
export const reka = defineProvider({
  slug: "reka-ai",
  settings: { prefix: "reka", schema: v.object({}) },
  baseUrl: "https://api.reka.ai/v1",
  authenticate: (credential) => ({ ...bearer(credential), ...apiKey(credential) }),
  operations: {
    chat: plainChat("reka-ai", () => "/chat/completions"),
    models: { method: "GET", path: () => "/models", fromUpstream: (body) => v.parse(ModelList, body) },
  },
});
