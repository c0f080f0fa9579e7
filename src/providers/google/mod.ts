import * as v from "valibot";
import type { ModelList } from "../../schemas/models.ts";
import { defineProvider, passBelow } from "../core/define.ts";
import { keyHeader } from "../core/headers.ts";
import type { OperationAdapter } from "../core/types.ts";
import { inBatches } from "../shared/embeddings.ts";
import { modelOf } from "../shared/images.ts";
import { toLimits } from "../shared/model-limits.ts";
import { fromGeminiAnswer } from "./answer.ts";
import { toGeminiCount } from "./count.ts";
import { fromEmbedAnswer, toEmbedRequest } from "./embed.ts";
import { geminiFacts } from "./facts.ts";
import { fromGoogleImages, isImagen, toGoogleImages } from "./images.ts";
import { geminiNaming, modelName, modelPath } from "./model.ts";
import { generateAction, nativeOperations } from "./native.ts";
import { type GeminiHost, toGeminiRequest } from "./request.ts";
import { speak } from "./speech.ts";
import { createGeminiMapper } from "./stream.ts";
import { ListModelsResponse } from "./wire.ts";

/** Service tiers by OpenAI's names (https://ai.google.dev/api/generate-content). */
const serviceTiers: Readonly<Record<string, string>> = { default: "standard" };

const host: GeminiHost = {
  slug: "google",
  ownMembers: {
    service_tier: ({ service_tier: tier }) => {
      const word = String(tier);
      return word === "auto" ? {} : { serviceTier: Object.hasOwn(serviceTiers, word) ? serviceTiers[word] : word };
    },
  },
};

const chat: OperationAdapter<"chat"> = {
  path: ({ model, stream }) => `/v1beta${modelPath(model)}:${generateAction(stream === true)}`,
  toUpstream: (request, options) => toGeminiRequest(request, options, host),
  fromUpstream: (body, request, options) => fromGeminiAnswer(body, request, { ...options, slug: host.slug }),
  streamMapper: (request, options) => createGeminiMapper(request, options, host),
};

const countChat: OperationAdapter<"countChat"> = {
  path: ({ model }) => `/v1beta${modelPath(model)}:countTokens`,
  ...toGeminiCount(
    host,
    ({ model }) => model,
    (body) => ({ generateContentRequest: body }),
  ),
};

const embed: OperationAdapter<"embed"> = {
  path: ({ model, input }) =>
    `/v1beta${modelPath(model)}:${Array.isArray(input) ? "batchEmbedContents" : "embedContent"}`,
  toUpstream: toEmbedRequest,
  fromUpstream: fromEmbedAnswer,
  ...inBatches(100),
};

const generateImage: OperationAdapter<"generateImage"> = {
  path(request) {
    const model = modelOf(host.slug, request);
    return `/v1beta${modelPath(model)}:${isImagen(model) ? "predict" : "generateContent"}`;
  },
  toUpstream: (request, options) => toGoogleImages(request, host.slug, options),
  fromUpstream: (body, request, options) => fromGoogleImages(body, request, host.slug, options),
};

const models: OperationAdapter<"models"> = {
  method: "GET",
  path: () => "/v1beta/models?pageSize=1000",
  fromUpstream(body): ModelList {
    const found = v.parse(ListModelsResponse, body).models ?? [];
    const data = found.map(({ name, displayName, inputTokenLimit, outputTokenLimit }) => ({
      id: modelName(name),
      object: "model",
      created: 0,
      owned_by: "google",
      ...(displayName && { display_name: displayName }),
      ...toLimits(inputTokenLimit, outputTokenLimit),
    }));
    return { object: "list", data };
  },
};

/** The Gemini API (https://ai.google.dev/api); the key is sent in a header, never in a URL. */
export const google = defineProvider({
  slug: "google",
  // https://ai.google.dev/gemini-api/docs/google-search
  searches: (operation, model) => operation === "generateContent" && /gemini/i.test(model),
  baseUrl: "https://generativelanguage.googleapis.com",
  settings: { prefix: "google", schema: v.object({}) },
  passPath(asked) {
    const isUpload = /^\/(?:upload|download)\//.test(asked.path);
    return passBelow(asked, isUpload ? "" : "/v1beta");
  },
  models: geminiNaming,
  facts: geminiFacts,
  authenticate: keyHeader("x-goog-api-key"),
  operations: { chat, embed, models, countChat, ...nativeOperations, generateImage, speak },
});
