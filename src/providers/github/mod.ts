import * as v from "valibot";
import { inferenceOperations } from "../azure-ai/inference.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";

/** GitHub Models (https://docs.github.com/rest/models/inference): the model inference API at one fixed address. */
export const github = defineProvider({
  slug: "github",
  settings: { prefix: "github", schema: v.object({}) },
  // replaces the former Azure endpoint
  // (https://github.blog/changelog/2025-07-17-deprecation-of-azure-endpoint-for-github-models)
  baseUrl: "https://models.github.ai/inference",
  authenticate: bearer,
  operations: inferenceOperations({}),
});
