import type {
  SpeechRequest,
  TranscriptionRequest,
  TranscriptionResponse,
  TranslationRequest,
} from "../../schemas/audio.ts";
import type { ChatRequest, ChatResponse, CompletionRequest } from "../../schemas/chat.ts";
import type { DecisionsRequest, DecisionsResponse } from "../../schemas/decisions.ts";
import type { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import type {
  BatchEmbedContentsRequest,
  BatchEmbedContentsResponse,
  CountContentsRequest,
  CountContentsResponse,
  EmbedContentRequest,
  EmbedContentResponse,
  GenerateContentRequest,
  GenerateContentResponse,
} from "../../schemas/gemini.ts";
import type { ImageEditRequest, ImageRequest, ImageResponse } from "../../schemas/images.ts";
import type {
  CountTokensRequest,
  CountTokensResponse,
  MessagesRequest,
  MessagesResponse,
} from "../../schemas/messages.ts";
import type { ModelList } from "../../schemas/models.ts";
import type { ModerationRequest, ModerationResponse } from "../../schemas/moderations.ts";
import type { OcrRequest, OcrResponse } from "../../schemas/ocr.ts";
import type { RerankRequest, RerankResponse } from "../../schemas/rerank.ts";
import type { ResponsesRequest, ResponsesResponse } from "../../schemas/responses.ts";
import type { SearchRequest, SearchResponse } from "../../schemas/search.ts";

/** Request of a realtime session. */
export interface RealtimeRequest extends Record<string, unknown> {
  /** Undefined when the session needs no model, such as one for transcription. */
  model: string | undefined;
  /** Every other query parameter, in order. */
  query: readonly (readonly [name: string, value: string])[];
}

/** A response that is not JSON, such as audio. */
export class BinaryAnswer {
  readonly bytes: Uint8Array;
  /** Its content type. */
  readonly type: string;

  constructor(bytes: Uint8Array, type: string) {
    this.bytes = bytes;
    this.type = type;
  }
}

/** A request that the upstream expects as a form. */
export class FormRequest {
  readonly members: object;

  constructor(members: object) {
    this.members = members;
  }
}

/** Unified operations: what clients send and receive, whichever provider is called. */
export interface Operations {
  chat: { request: ChatRequest; response: ChatResponse };
  complete: { request: CompletionRequest; response: ChatResponse };
  embed: { request: EmbeddingRequest; response: EmbeddingResponse };
  models: { request: Record<string, never>; response: ModelList };
  messages: { request: MessagesRequest; response: MessagesResponse };
  countTokens: { request: CountTokensRequest; response: CountTokensResponse };
  responses: { request: ResponsesRequest; response: ResponsesResponse };
  /** Counts the tokens of a chat, for providers whose token counting is not Anthropic's `countTokens`. */
  countChat: { request: ChatRequest; response: CountTokensResponse };
  rerank: { request: RerankRequest; response: RerankResponse };
  moderate: { request: ModerationRequest; response: ModerationResponse };
  ocr: { request: OcrRequest; response: OcrResponse };
  search: { request: SearchRequest; response: SearchResponse };
  decide: { request: DecisionsRequest; response: DecisionsResponse };
  generateContent: { request: GenerateContentRequest; response: GenerateContentResponse };
  countContents: { request: CountContentsRequest; response: CountContentsResponse };
  embedContent: { request: EmbedContentRequest; response: EmbedContentResponse };
  batchEmbedContents: { request: BatchEmbedContentsRequest; response: BatchEmbedContentsResponse };
  /** A WebSocket session; it has no response body. */
  realtime: { request: RealtimeRequest; response: Record<string, never> };
  generateImage: { request: ImageRequest; response: ImageResponse };
  /** Requests that arrived as forms contain `FormFile`s. */
  editImage: { request: ImageEditRequest; response: ImageResponse };
  speak: { request: SpeechRequest; response: BinaryAnswer };
  transcribe: { request: TranscriptionRequest; response: TranscriptionResponse };
  translate: { request: TranslationRequest; response: TranscriptionResponse };
}
export type OperationName = keyof Operations;
