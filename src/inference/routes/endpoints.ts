import * as v from "valibot";
import type { KeyAccess } from "../../auth/access.ts";
import type { CallerContext } from "../../context.ts";
import {
  defineFormEndpoint,
  defineJsonEndpoint,
  defineKeyEndpoint,
  type Endpoint,
  type JsonBody,
  type Method,
} from "../../endpoint.ts";
import type { Reply } from "../../lib/reply.ts";
import type { OperationName, Operations } from "../../providers/core/operations.ts";
import { SpeechRequest, TranscriptionRequest, TranscriptionResponse, TranslationRequest } from "../../schemas/audio.ts";
import { ChatRequest, ChatResponse, CompletionRequest, CompletionResponse } from "../../schemas/chat.ts";
import { DecisionsRequest, DecisionsResponse } from "../../schemas/decisions.ts";
import { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import { ExplainRequest, ExplainResponse } from "../../schemas/explain.ts";
import { ImageEditRequest, ImageRequest, ImageResponse } from "../../schemas/images.ts";
import { CountTokensRequest, CountTokensResponse, MessagesRequest, MessagesResponse } from "../../schemas/messages.ts";
import { DescribedModelList, MessagesModelList } from "../../schemas/models.ts";
import { ModerationRequest, ModerationResponse } from "../../schemas/moderations.ts";
import { OcrRequest, OcrResponse } from "../../schemas/ocr.ts";
import { Replay, ReplayRequest } from "../../schemas/replay.ts";
import { RerankRequest, RerankResponse } from "../../schemas/rerank.ts";
import { SearchRequest, SearchResponse } from "../../schemas/search.ts";
import { ingestEndpoints } from "../ingest/endpoints.ts";
import { runPassthrough } from "../passthrough/passthrough.ts";
import { runInference } from "../pipeline/run.ts";
import { runRealtime } from "../realtime/realtime.ts";
import { isPassedOn } from "../target/config-target.ts";
import { asksForSearch } from "../tools/asks-for-search.ts";
import { runChatSearch } from "../tools/chat-rounds.ts";
import { withoutOwnUses } from "../tools/messages-history.ts";
import { mayUseTools, planTools, runTools } from "../tools/messages-rounds.ts";
import { planWebSearch } from "../tools/plan-search.ts";
import { runDecisions } from "./decide.ts";
import { explainConfig } from "./explain.ts";
import { fileEndpoints } from "./file-endpoints.ts";
import { runForm } from "./forms.ts";
import { forBothClients, geminiEndpoints } from "./gemini-endpoints.ts";
import { isMessagesClient, listMessagesModels } from "./messages-models.ts";
import { modelInfoEndpoints } from "./model-info.ts";
import { listModels } from "./model-lists.ts";
import { modelEndpoints } from "./models.ts";
import { nativeEndpoints } from "./native-endpoints.ts";
import { promptEndpoints } from "./prompts.ts";
import { replayLog } from "./replay.ts";
import { responsesEndpoints } from "./responses-endpoints.ts";

type UnifiedHandler<Name extends OperationName> = (
  body: JsonBody<Operations[Name]["request"]>,
  context: CallerContext,
) => Promise<Reply>;

const inferenceAccess: KeyAccess = { keys: "workspace", scopes: ["completions.write"] };
const passthroughMethods: readonly Method[] = ["GET", "POST", "PUT", "DELETE"];

/** Clients of the Messages API expect errors in its shape on every route. */
const messagesErrors = { errorForm: "messages", errorsBelow: "/v1/messages" } as const;

/** The handler of a unified route. */
function runUnified<Name extends OperationName>(name: Name): UnifiedHandler<Name> {
  return (body, context) => runInference(name, body, context);
}

const runPlainMessages = runUnified("messages");

/** Serves `POST /messages`: a model may use tools that the gateway runs. */
const runMessages: UnifiedHandler<"messages"> = (body, context) => {
  const { value } = body;
  const run = () => runPlainMessages({ ...body, value: withoutOwnUses(value) }, context);
  if (!mayUseTools(value)) return run();
  return planTools(value, context).then((kits) => (kits.length > 0 ? runTools(value, kits, context) : run()));
};

/** Serves `POST /chat/completions`: a model may search the web. */
const runChat: UnifiedHandler<"chat"> = (body, context) => {
  const { value } = body;
  const mayAsk = value.tools !== undefined || value.web_search_options !== undefined;
  if (!mayAsk || !asksForSearch("chat", value)) return runInference("chat", body, context);
  const planned = planWebSearch("chat", value, context);
  return planned.then((settings) =>
    settings ? runChatSearch(value, settings, context) : runInference("chat", body, context),
  );
};

/** Both paths of reranking: clients of Cohere append the second one to their base address. */
const rerankEndpoints: readonly Endpoint[] = ["/v1/rerank", "/v1/v2/rerank"].map((path) =>
  defineJsonEndpoint({
    method: "POST",
    path,
    operation: "rerank",
    tag: "Rerank",
    access: inferenceAccess,
    summary: "Sort documents by their relevance to a query",
    body: RerankRequest,
    response: RerankResponse,
    handle: runUnified("rerank"),
  }),
);

/** Endpoints of the inference API. */
export const inferenceEndpoints: readonly Endpoint[] = [
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/chat/completions",
    hasDeployments: true,
    operation: "chat",
    tag: "Chat",
    summary: "Answer a conversation",
    access: inferenceAccess,
    body: ChatRequest,
    response: ChatResponse,
    handle: runChat,
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/completions",
    hasDeployments: true,
    operation: "complete",
    tag: "Completions",
    summary: "Complete a text",
    access: inferenceAccess,
    body: CompletionRequest,
    response: CompletionResponse,
    handle: runUnified("complete"),
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/embeddings",
    hasDeployments: true,
    operation: "embed",
    tag: "Embeddings",
    summary: "Create embeddings of text",
    access: inferenceAccess,
    body: EmbeddingRequest,
    response: EmbeddingResponse,
    handle: runUnified("embed"),
  }),
  ...rerankEndpoints,
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/moderations",
    operation: "moderate",
    tag: "Moderations",
    summary: "Classify text and images",
    access: inferenceAccess,
    body: ModerationRequest,
    response: ModerationResponse,
    handle: runUnified("moderate"),
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/ocr",
    operation: "ocr",
    tag: "OCR",
    summary: "Extract the text of a document or an image",
    access: inferenceAccess,
    body: OcrRequest,
    response: OcrResponse,
    handle: runUnified("ocr"),
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/search",
    operation: "search",
    tag: "Search",
    summary: "Search the web",
    access: inferenceAccess,
    body: SearchRequest,
    response: SearchResponse,
    handle: runUnified("search"),
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/decisions",
    operation: "decide",
    tag: "Decisions",
    summary: "Decide questions about a state, with probabilities",
    access: inferenceAccess,
    body: DecisionsRequest,
    response: DecisionsResponse,
    handle: runDecisions,
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/images/generations",
    hasDeployments: true,
    operation: "generateImage",
    tag: "Images",
    summary: "Create images from text",
    access: inferenceAccess,
    body: ImageRequest,
    response: ImageResponse,
    handle: runUnified("generateImage"),
  }),
  defineFormEndpoint({
    method: "POST",
    path: "/v1/images/edits",
    operation: "editImage",
    tag: "Images",
    summary: "Edit images by text",
    access: inferenceAccess,
    body: ImageEditRequest,
    fields: { numbers: ["n", "output_compression", "partial_images"], flags: ["stream"], lists: ["images"] },
    acceptsJson: true,
    response: ImageResponse,
    handleForm: runForm("editImage"),
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/audio/speech",
    hasDeployments: true,
    operation: "speak",
    tag: "Audio",
    summary: "Create speech from text; returns audio, or its events",
    access: inferenceAccess,
    body: SpeechRequest,
    handle: runUnified("speak"),
  }),
  defineFormEndpoint({
    method: "POST",
    path: "/v1/audio/transcriptions",
    operation: "transcribe",
    tag: "Audio",
    summary: "Transcribe audio",
    access: inferenceAccess,
    body: TranscriptionRequest,
    fields: {
      numbers: ["temperature"],
      flags: ["stream"],
      lists: [
        "timestamp_granularities",
        "include",
        "languages",
        "keywords",
        "known_speaker_names",
        "known_speaker_references",
      ],
    },
    response: TranscriptionResponse,
    handleForm: runForm("transcribe"),
  }),
  defineFormEndpoint({
    method: "POST",
    path: "/v1/audio/translations",
    operation: "translate",
    tag: "Audio",
    summary: "Translate audio into English text",
    access: inferenceAccess,
    body: TranslationRequest,
    fields: { numbers: ["temperature"] },
    response: TranscriptionResponse,
    handleForm: runForm("translate"),
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/messages",
    ...messagesErrors,
    operation: "messages",
    tag: "Messages",
    summary: "Answer a conversation, in the shape of the Messages API",
    access: inferenceAccess,
    body: MessagesRequest,
    response: MessagesResponse,
    handle: runMessages,
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/messages/count_tokens",
    ...messagesErrors,
    operation: "countTokens",
    tag: "Messages",
    summary: "Count the tokens of a conversation",
    access: inferenceAccess,
    body: CountTokensRequest,
    response: CountTokensResponse,
    handle: runUnified("countTokens"),
  }),
  ...responsesEndpoints,
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/configs/explain",
    tag: "Configs",
    summary: "Show what a config would do with a request, without calling a provider",
    access: { keys: "workspace", scopes: ["configs.read", "completions.write"] },
    body: ExplainRequest,
    response: ExplainResponse,
    handle: (body, context) => explainConfig(body, context, { services: context.services, rows: inferenceEndpoints }),
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/logs/:id/replay",
    tag: "Logs",
    summary: "Send a logged request again, and compare the responses",
    access: inferenceAccess,
    body: ReplayRequest,
    response: Replay,
    handle: (body, context) => replayLog(body, context, inferenceEndpoints),
  }),
  forBothClients(
    defineKeyEndpoint({
      method: "GET",
      path: "/v1/models",
      operation: "models",
      tag: "Models",
      summary: "List models",
      access: { keys: "workspace", scopes: ["completions.write", "virtual_keys.list", "models.list"] },
      response: v.union([DescribedModelList, MessagesModelList]),
      query: [
        { name: "ai_service", description: "Without a provider: only models of this service" },
        { name: "provider", description: "Without a provider in the headers: only models of this stored provider" },
        { name: "limit", description: "Maximum number of models" },
        { name: "offset", description: "Number of models to skip" },
        { name: "sort", description: "name, provider or ai_service; default name" },
        { name: "order", description: "asc or desc; default asc" },
      ],
      async handle(context: CallerContext) {
        if (await isPassedOn(context)) return runPassthrough(context);
        return isMessagesClient(context) ? listMessagesModels(context) : listModels(context);
      },
    }),
  ),
  ...modelInfoEndpoints,
  ...geminiEndpoints,
  defineKeyEndpoint({
    method: "GET",
    path: "/v1/realtime",
    credentials: { inSubprotocol: true },
    operation: "realtime",
    tag: "Realtime",
    summary: "Open a realtime session (WebSocket)",
    access: inferenceAccess,
    query: [
      { name: "model", description: "Model of the session; @slug/model names a stored provider" },
      { name: "call_id", description: "Call to attach to; any other parameter goes to the provider too" },
    ],
    handle: (context: CallerContext) => runRealtime(context, inferenceAccess),
  }),
  ...modelEndpoints.map(forBothClients),
  ...promptEndpoints,
  ...nativeEndpoints,
  ...fileEndpoints,
  ...ingestEndpoints,
];

/** Endpoints that forward every other path under `/v1` to the provider. They come last. */
export const passthroughEndpoints: readonly Endpoint[] = passthroughMethods.map((method) =>
  defineKeyEndpoint({
    method,
    path: "/v1/*",
    isPassthrough: true,
    operation: "proxy",
    tag: "Passthrough",
    summary: "Call any other endpoint of the provider",
    access: inferenceAccess,
    handle: runPassthrough,
  }),
);
