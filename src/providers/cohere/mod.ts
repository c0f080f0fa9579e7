import * as v from "valibot";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import { chat } from "./chat.ts";
import { embed } from "./embed.ts";
import { cohereFacts } from "./facts.ts";
import { generate } from "./generate.ts";
import { models } from "./models.ts";
import { cohereRecords } from "./records.ts";
import { rerank } from "./rerank.ts";

/** Cohere, version 2 of its API (https://docs.cohere.com/reference/about). */
export const cohere = defineProvider({
  slug: "cohere",
  settings: { prefix: "cohere", schema: v.object({}) },
  baseUrl: "https://api.cohere.ai",
  pathPrefix: "/v1",
  authenticate: bearer,
  facts: cohereFacts,
  operations: { chat, complete: generate, embed, models, rerank },
  records: () => cohereRecords,
});
