import * as v from "valibot";
import type { KeyAccess } from "../../auth/access.ts";
import type { CallerContext } from "../../context.ts";
import {
  defineJsonEndpoint,
  defineKeyEndpoint,
  type Endpoint,
  type JsonBody,
  type JsonEndpoint,
} from "../../endpoint.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { Reply } from "../../lib/reply.ts";
import type { OperationName, Operations } from "../../providers/core/operations.ts";
import {
  BatchEmbedContentsBody,
  BatchEmbedContentsResponse,
  CountContentsBody,
  CountContentsResponse,
  EmbedContentBody,
  EmbedContentResponse,
  GeminiModel,
  GeminiModelList,
  GenerateContentBody,
  type GenerateContentRequest,
  GenerateContentResponse,
} from "../../schemas/gemini.ts";
import { runPassthrough } from "../passthrough/passthrough.ts";
import { runInference } from "../pipeline/run.ts";
import { toStreamForm } from "../stream/gemini-stream.ts";
import { isPassedOn } from "../target/config-target.ts";
import { asksForSearch } from "../tools/asks-for-search.ts";
import { runGeminiSearch } from "../tools/gemini-rounds.ts";
import { planWebSearch } from "../tools/plan-search.ts";
import { getGeminiModel, listGeminiModels } from "./gemini-models.ts";

const inferenceAccess: KeyAccess = { keys: "workspace", scopes: ["completions.write"] };
const listAccess: KeyAccess = { keys: "workspace", scopes: ["completions.write", "virtual_keys.list", "models.list"] };

/** A model as a path or a body names it, without its collection. */
const plainName = (model: string): string => model.replace(/^models\//, "");

function refuseModel(message: string): never {
  throw new InvalidRequestError(message, { param: "model", code: "invalid_model" });
}

/** The model of the path; clients leave out the collection where a name has a slash. */
function modelOf({ slug, model = "" }: CallerContext["params"]): string {
  if (slug !== undefined) return `@${slug}/${model}`;
  return plainName(model) || refuseModel("Cannot use this path: it has no model name");
}

/** Refuses bodies that name another model than the path: the model that is called must be the one that was checked. */
function requireSameModel(body: Record<string, unknown>, model: string): void {
  const { requests, generateContentRequest, generate_content_request } = body;
  const inner = [generateContentRequest, generate_content_request, ...(Array.isArray(requests) ? requests : [])];
  for (const holder of [body, ...inner]) {
    const named: unknown = isObject(holder) ? holder.model : undefined;
    if (typeof named === "string" && named !== "" && plainName(named) !== model) {
      refuseModel("Cannot use the model of the body: it differs from the model in the path");
    }
  }
}

/** Common to all endpoints of this API; its official clients send their key in a header. */
const common = {
  tag: "Gemini",
  errorForm: "gemini",
  errorsBelow: "/v1beta",
  credentials: { refusedInQuery: true },
} as const;

type Handler = (body: JsonBody<Record<string, unknown>>, context: CallerContext) => Promise<Reply>;

type ToRequest = NonNullable<JsonEndpoint["toRequest"]>;

/** How requests are built: the model, and whether to stream, become fields of the request. */
function createToRequest(stream: boolean): ToRequest {
  return ({ stream: _, ...body }, params) => {
    const model = modelOf(params);
    requireSameModel(body, model);
    return { ...body, model, ...(stream && { stream }) };
  };
}

/** The handler of a call of a model, and the operation it requests. */
function answerAction<Name extends OperationName>(
  operation: Name,
  stream = false,
): { operation: Name; toRequest: ToRequest; handle: Handler } {
  const toRequest = createToRequest(stream);
  const handle: Handler = async (body, context) => {
    // the cast: the endpoint's schema accepted the body, and with its model it is this operation's request
    const value = toRequest(body.value, context.params) as unknown as Operations[Name]["request"];
    body.text = "";
    const isSearching = operation === "generateContent" && asksForSearch("generateContent", value);
    const settings = isSearching ? await planWebSearch("generateContent", value, context) : undefined;
    const reply = settings
      ? await runGeminiSearch(value as GenerateContentRequest, settings, context) // the operation says which request it is
      : await runInference(operation, { value, ...(body.schema && { schema: body.schema }) }, context);
    return stream ? toStreamForm(reply, context.url.searchParams.get("alt")) : reply;
  };
  return { operation, toRequest, handle };
}

const alt = { name: "alt", description: "`sse` for server-sent events; otherwise the chunks are items of a JSON list" };

/** Calls of a model whose name stands at a place. */
function actionsOf(model: string): Endpoint[] {
  const shared = { ...common, method: "POST", access: inferenceAccess } as const;
  const path = (action: string) => `${model}:${action}`;
  return [
    defineJsonEndpoint({
      ...shared,
      path: path("generateContent"),
      ...answerAction("generateContent"),
      summary: "Answer a conversation, in the shape of the Gemini API",
      body: GenerateContentBody,
      response: GenerateContentResponse,
    }),
    defineJsonEndpoint({
      ...shared,
      path: path("streamGenerateContent"),
      ...answerAction("generateContent", true),
      query: [alt],
      summary: "Stream the answer to a conversation, in the shape of the Gemini API",
      body: GenerateContentBody,
      response: v.array(GenerateContentResponse),
    }),
    defineJsonEndpoint({
      ...shared,
      path: path("countTokens"),
      ...answerAction("countContents"),
      summary: "Count the tokens of a conversation, in the shape of the Gemini API",
      body: CountContentsBody,
      response: CountContentsResponse,
    }),
    defineJsonEndpoint({
      ...shared,
      path: path("embedContent"),
      ...answerAction("embedContent"),
      summary: "Create the embedding of a content, in the shape of the Gemini API",
      body: EmbedContentBody,
      response: EmbedContentResponse,
    }),
    defineJsonEndpoint({
      ...shared,
      path: path("batchEmbedContents"),
      ...answerAction("batchEmbedContents"),
      summary: "Create embeddings of contents, in the shape of the Gemini API",
      body: BatchEmbedContentsBody,
      response: BatchEmbedContentsResponse,
    }),
  ];
}

/** Calls of a model under a prefix. `@ai-sdk/google` leaves out `models/` where a name has a slash. */
const actionsBelow = (prefix: string): Endpoint[] => [
  ...actionsOf(`${prefix}/models/:model+`),
  ...actionsOf(`${prefix}/@:slug/:model+`),
];

const modelList = defineKeyEndpoint({
  ...common,
  method: "GET",
  path: "/v1beta/models",
  operation: "models",
  access: listAccess,
  summary: "List models, in the shape of the Gemini API",
  query: [
    { name: "pageSize", description: "Models per page; default 50, at most 1000" },
    { name: "pageToken", description: "`nextPageToken` of the previous page" },
  ],
  response: GeminiModelList,
  handle: async (context: CallerContext) =>
    (await isPassedOn(context)) ? runPassthrough(context) : listGeminiModels(context),
});

const oneModel = defineKeyEndpoint({
  ...common,
  method: "GET",
  path: "/v1beta/models/:model+",
  operation: "models",
  access: listAccess,
  summary: "Show a model, in the shape of the Gemini API",
  response: GeminiModel,
  handle: async (context: CallerContext) =>
    (await isPassedOn(context)) ? runPassthrough(context) : getGeminiModel(modelOf(context.params), context),
});

/** Endpoints of the Gemini API (https://ai.google.dev/api); clients of its version `v1` find the calls there too. */
export const geminiEndpoints: readonly Endpoint[] = [
  ...actionsBelow("/v1beta"),
  ...actionsBelow("/v1"),
  modelList,
  oneModel,
  { ...oneModel, path: "/v1beta/@:slug/:model+" },
];

/** A row of the OpenAI API on models, and for clients of the Gemini API of version `v1` that of the same path. */
export function forBothClients(endpoint: Endpoint): Endpoint {
  const forGeminiClients = { "/v1/models": modelList, "/v1/models/:model+": oneModel }[endpoint.path];
  if (endpoint.method !== "GET" || !forGeminiClients?.response || !endpoint.response) return endpoint;
  return { ...endpoint, response: v.union([endpoint.response, forGeminiClients.response]), forGeminiClients };
}
