import { countedRequest, generateAction, toOwnRequest } from "../google/native.ts";
import type { OperationAdapters } from "../types.ts";
import { googleModelPath, readModel } from "./publishers.ts";
import type { VertexSettings } from "./settings.ts";

const isGemini = ({ model }: { model: string }): boolean => readModel(model).dialect === "gemini";

/** Google's own models in their own shape (https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/projects.locations.publishers.models/generateContent). */
export function createGemini(settings: VertexSettings) {
  return {
    generateContent: {
      serves: isGemini,
      path: (request) => googleModelPath(readModel(request.model), generateAction(request), settings),
      toUpstream: toOwnRequest,
    },
    countContents: {
      serves: isGemini,
      path: ({ model }) => googleModelPath(readModel(model), "countTokens", settings),
      toUpstream(request) {
        const { model: _, ...whole } = countedRequest(request) ?? { contents: request.contents };
        return whole;
      },
    },
  } satisfies OperationAdapters;
}
