import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { authorizeGoogle, isApiKey } from "../auth/google.ts";
import { defineProvider, passBelow } from "../core/define.ts";
import type { OperationAdapter } from "../core/types.ts";
import { fromGoogleImages, isImagen, toGoogleImages } from "../google/images.ts";
import { modelOf } from "../shared/images.ts";
import { createChat, tierHeaderNames } from "./chat.ts";
import { createCountChat, createCountTokens, createMessages } from "./claude.ts";
import { createEmbed } from "./embed.ts";
import { vertexFacts } from "./facts.ts";
import { createGemini } from "./gemini.ts";
import { googleModelPath, readModel, vertexNaming } from "./publishers.ts";
import { createRecords } from "./records.ts";
import { createRerank } from "./rerank.ts";
import { baseUrlOf, projectOf, VertexSettings } from "./settings.ts";
import { speak } from "./speech.ts";

function createImages(settings: VertexSettings): OperationAdapter<"generateImage"> {
  return {
    path(request) {
      const model = modelOf("vertex-ai", request);
      return googleModelPath(
        readModel(model),
        isImagen(readModel(model).name) ? "predict" : "generateContent",
        settings,
      );
    },
    toUpstream: (request, options) => toGoogleImages(withPlainName(request), "vertex-ai", options),
    fromUpstream: (body, request, options) => fromGoogleImages(body, withPlainName(request), "vertex-ai", options),
  };
}

/** The request, with the publisher removed from its model's name. */
function withPlainName<Request extends { model?: string | null | undefined }>(request: Request): Request {
  return request.model ? { ...request, model: readModel(request.model).name } : request;
}

const PublisherModels = v.looseObject({ publisherModels: v.nullish(v.array(v.looseObject({ name: v.string() }))) });

const models: OperationAdapter<"models"> = {
  method: "GET",
  path: () => "/v1beta1/publishers/google/models?pageSize=300",
  fromUpstream(body) {
    const found = v.parse(PublisherModels, body).publisherModels ?? [];
    const data = found.map(({ name }) => {
      const [, publisher = "google"] = name.split("/");
      return { id: name.replace(/^.*\//, ""), object: "model", created: 0, owned_by: publisher };
    });
    return { object: "list", data };
  },
};

/** Vertex AI (https://cloud.google.com/vertex-ai/docs/reference/rest). */
export const vertexAi = defineProvider({
  slug: "vertex-ai",
  searches: (operation, model) =>
    (operation === "generateContent" && /gemini/i.test(model)) || (operation === "messages" && /claude/i.test(model)),
  baseUrl: baseUrlOf,
  settings: {
    prefix: "vertex",
    unprefixed: ["provider_file_name", "provider_model", "provider_batch_endpoint"],
    configNames: { provider_batch_endpoint: ["vertex_batch_endpoint"] },
    // configs and integrations made for other gateways have it
    unread: { vertex_skip_ptu_cost_attribution: v.unknown() },
    requires: {
      integrations: ["vertex_auth_type", "vertex_region"],
      mode: {
        setting: "vertex_auth_type",
        integrations: { basic: ["vertex_project_id", "key"], serviceAccount: ["vertex_service_account_json"] },
        keyless: [],
        ofVirtualKeys: "basic",
      },
      credentials: [
        ["vertex_region", "vertex_project_id"],
        ["vertex_region", "vertex_service_account_json"],
      ],
      needsCredential: true,
    },
    virtualKeys: {
      vertex_project_id: { field: "vertexProjectId" },
      vertex_region: { field: "vertexRegion" },
    },
    schema: VertexSettings,
  },
  passPath(asked) {
    return passBelow(asked, "/v1");
  },
  models: vertexNaming,
  facts: vertexFacts,
  authenticate: () => ({}),
  clientHeaders: tierHeaderNames,
  async authorize(request, settings, tools) {
    const { service_account_json: serviceAccount, auth_type: authType } = settings;
    const needsProject = request.url.includes("/publishers/google/models/") && projectOf(settings) === undefined;
    if (needsProject && !isApiKey(request.credential)) {
      throw new InvalidRequestError("Cannot call vertex-ai: set the project in x-gateway-vertex-project-id", {
        param: "x-gateway-vertex-project-id",
        code: "invalid_header",
      });
    }
    return authorizeGoogle(request, { serviceAccount, authType }, tools);
  },
  operations(settings) {
    const embed = createEmbed(settings);
    return {
      chat: createChat(settings),
      embed,
      models,
      messages: createMessages(settings),
      countTokens: createCountTokens(settings),
      countChat: createCountChat(settings),
      ...createGemini(settings, embed),
      rerank: createRerank(settings),
      generateImage: createImages(settings),
      speak,
    };
  },
  records: createRecords,
  batches: { endpoints: ["/v1/chat/completions", "/v1/embeddings"], hasOptions: true },
  store: {
    baseUrl: "https://storage.googleapis.com",
    authenticate: () => ({}),
    authorize: (request, { service_account_json: serviceAccount, auth_type: authType }, tools) =>
      authorizeGoogle(request, { serviceAccount, authType }, tools),
  },
});
