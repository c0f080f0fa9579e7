import * as v from "valibot";
import { ModelList } from "../../schemas/models.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { ocrAt } from "../shared/ocr.ts";
import { chat } from "./chat.ts";
import { embed } from "./embed.ts";
import { mistralFacts } from "./facts.ts";
import { chatAsFim, complete } from "./fim.ts";
import { modelName } from "./request.ts";
import { transcribe } from "./transcribe.ts";

/** Mistral AI (https://docs.mistral.ai/api). */
export const mistral = defineProvider({
  slug: "mistral-ai",
  settings: {
    prefix: "mistral",
    // selects between two operations of one host: harmless with a stored credential
    open: true,
    schema: v.object({ fim_completion: v.optional(v.picklist(["true", "false"], "must be true or false")) }),
  },
  baseUrl: "https://api.mistral.ai/v1",
  authenticate: bearer,
  models: { canonical: modelName },
  facts: mistralFacts,
  operations: ({ fim_completion }) => ({
    chat: fim_completion === "true" ? chatAsFim : chat,
    complete,
    embed,
    transcribe,
    models: { method: "GET", path: () => "/models", fromUpstream: (body) => v.parse(ModelList, body) },
    moderate: { path: () => "/moderations" },
    ocr: ocrAt("/ocr"),
  }),
});
