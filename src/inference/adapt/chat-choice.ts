// Which API of a provider serves a chat.

import type { DialectOptions } from "../../dialects/types.ts";
import { fitAdapter } from "../../providers/core/fit-chat.ts";
import { hasRefusedTools } from "../../providers/core/fit-responses.ts";
import {
  type BoundProvider,
  type ConversionOptions,
  findOperation,
  type OperationAdapter,
  requireOperation,
} from "../../providers/core/types.ts";
import type { ChatRequest } from "../../schemas/chat.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { ResponsesRequest } from "../../schemas/responses.ts";
import { chatOverResponses } from "./chat-over-responses.ts";

type ChatAdapter = OperationAdapter<"chat">;

/** A chat through the provider's Responses API; undefined where it has none for the model. */
function findOver({ model }: ChatRequest, provider: BoundProvider): ChatAdapter | undefined {
  const native = findOperation(provider, "responses", { model });
  const fit = { factsOf: provider.factsOf, isNative: false, isOverResponses: true };
  return native && fitAdapter(chatOverResponses(native, provider.slug), fit);
}

function factsOf({ model }: { model: string }, provider: BoundProvider, options: ConversionOptions): ModelFacts {
  const facts = provider.factsOf(model, options);
  return options.modelFacts ? { ...facts, ...options.modelFacts } : facts;
}

/** Whether a chat has functions, and the model's chat completions do not serve them together with reasoning. */
const hasUnservedTools = (
  { tools }: ChatRequest,
  { chatServesToolsWithReasoning: isServed = true }: ModelFacts,
): boolean => !isServed && (tools ?? []).length > 0;

/**
 * What serves a chat that another dialect was converted to: the provider's chat, or its Responses API where the caller prefers
 * it or chat completions cannot serve the request.
 */
export function findChat(
  chat: ChatRequest,
  provider: BoundProvider,
  options: ConversionOptions & DialectOptions,
): ChatAdapter {
  const { tools, reasoning_effort: effort } = chat;
  const isNeeded = tools?.length && effort !== "none" && hasUnservedTools(chat, factsOf(chat, provider, options));
  const over = isNeeded || options.overResponses === true ? findOver(chat, provider) : undefined;
  return over ?? requireOperation(provider, "chat");
}

/** Whether a chat asks for what the Responses API has no counterpart of. */
const isOfChatAlone = ({ n, logprobs, modalities, audio, functions }: ChatRequest): boolean =>
  Number(n ?? 1) > 1 ||
  logprobs === true ||
  [modalities, audio, functions].some((one) => one !== undefined && one !== null);

/**
 * The provider's Responses API, for a chat of a client that its chat completions would refuse: with functions, from a model that
 * reasons. Undefined where chat completions serve it. What a custom host serves is not known.
 */
export function findInPlaceOfChat(
  chat: ChatRequest,
  provider: BoundProvider,
  options: ConversionOptions,
): ChatAdapter | undefined {
  const { reasoning_effort: effort, tools } = chat;
  if (!tools?.length || effort === "none" || options.hasCustomHost || isOfChatAlone(chat)) return undefined;
  const facts = factsOf(chat, provider, options);
  const isAsked = effort !== undefined && effort !== null;
  return hasUnservedTools(chat, facts) && (isAsked || facts.thinksByDefault) ? findOver(chat, provider) : undefined;
}

/**
 * Whether a Responses request becomes a chat over the provider's own Responses API: it has tools that this one refuses, and
 * functions stand for them.
 */
export const isConvertedThere = (
  request: ResponsesRequest,
  provider: BoundProvider,
  options: ConversionOptions,
): boolean => hasRefusedTools(request, factsOf(request, provider, options));
