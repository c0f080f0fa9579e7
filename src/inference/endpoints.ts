import type { KeyAccess } from "../auth/access.ts";
import { defineEndpoint, defineJsonEndpoint, type Endpoint, type Method } from "../endpoint.ts";
import { ChatRequest, ChatResponse, CompletionRequest, CompletionResponse } from "../schemas/chat.ts";
import { EmbeddingRequest, EmbeddingResponse } from "../schemas/embeddings.ts";
import { ExplainRequest, ExplainResponse } from "../schemas/explain.ts";
import { ModelList } from "../schemas/models.ts";
import { explainConfig } from "./explain.ts";
import { listModels } from "./models.ts";
import { runPassthrough } from "./passthrough.ts";
import { runInference } from "./run.ts";

const inferenceAccess: KeyAccess = { keys: "workspace", scopes: ["completions.write"] };
const passthroughMethods: readonly Method[] = ["GET", "POST", "PUT", "DELETE"];

/** Rows of the inference API. */
export const inferenceEndpoints: readonly Endpoint[] = [
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/chat/completions",
    operation: "chat",
    tag: "Chat",
    summary: "Answer a conversation",
    access: inferenceAccess,
    body: ChatRequest,
    response: ChatResponse,
    handle: (body, context, services) => runInference("chat", body, context, services),
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/completions",
    operation: "complete",
    tag: "Completions",
    summary: "Continue a text",
    access: inferenceAccess,
    body: CompletionRequest,
    response: CompletionResponse,
    handle: (body, context, services) => runInference("complete", body, context, services),
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/embeddings",
    operation: "embed",
    tag: "Embeddings",
    summary: "Turn texts into vectors",
    access: inferenceAccess,
    body: EmbeddingRequest,
    response: EmbeddingResponse,
    handle: (body, context, services) => runInference("embed", body, context, services),
  }),
  defineJsonEndpoint({
    method: "POST",
    path: "/v1/configs/explain",
    tag: "Configs",
    summary: "Tell what a config would do with a request; nothing is called",
    access: { keys: "workspace", scopes: ["configs.read", "completions.write"] },
    body: ExplainRequest,
    response: ExplainResponse,
    handle: explainConfig,
  }),
  defineEndpoint({
    method: "GET",
    path: "/v1/models",
    operation: "models",
    tag: "Models",
    summary: "List models",
    access: { keys: "workspace", scopes: ["completions.write", "virtual_keys.list", "models.list"] },
    response: ModelList,
    handle: listModels,
  }),
];

/** Rows that hand every other path under `/v1` to the provider. They come last. */
export const passthroughEndpoints: readonly Endpoint[] = passthroughMethods.map((method) =>
  defineEndpoint({
    method,
    path: "/v1/*",
    operation: "proxy",
    tag: "Passthrough",
    summary: "Call any other endpoint of the provider",
    access: inferenceAccess,
    handle: runPassthrough,
  }),
);
