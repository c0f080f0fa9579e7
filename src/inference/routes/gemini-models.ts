import type { CallerContext } from "../../context.ts";
import { NotFoundError } from "../../errors.ts";
import type { Reply } from "../../lib/reply.ts";
import type { GeminiModel } from "../../schemas/gemini.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { isChat, type ListedModel } from "./listed-model.ts";
import { readCount, readListing, withBody } from "./model-lists.ts";

const defaultPage = 50;
const maxPage = 1_000;

const chatMethods = ["generateContent", "streamGenerateContent", "countTokens"];
const embedMethods = ["embedContent", "batchEmbedContents"];

/** Methods of a model. Where it is not known what the model makes, its provider decides which of them it supports. */
function methodsOf(facts: ModelFacts): string[] {
  if (facts.outputs?.includes("embeddings")) return embedMethods;
  return isChat(facts) ? chatMethods : [...chatMethods, ...embedMethods];
}

/** A model in the form of the Gemini API (https://ai.google.dev/api/models). */
function toModel({ id, name, facts }: ListedModel): GeminiModel {
  const { contextWindow, maxInputTokens = contextWindow, maxOutputTokens, reasons } = facts;
  return {
    name: `models/${id}`,
    version: "",
    displayName: name,
    supportedGenerationMethods: methodsOf(facts),
    ...(maxInputTokens !== undefined && { inputTokenLimit: maxInputTokens }),
    ...(maxOutputTokens !== undefined && { outputTokenLimit: maxOutputTokens }),
    ...(reasons !== undefined && { thinking: reasons }),
  };
}

/** `GET /v1beta/models`: the models of `GET /v1/models`, page by page. */
export async function listGeminiModels(context: CallerContext): Promise<Reply> {
  const query = context.url.searchParams;
  const size = Math.min(readCount(query, "pageSize", defaultPage) || defaultPage, maxPage);
  const start = readCount(query, "pageToken", 0);
  const { models, reply } = await readListing(context);
  const end = start + size;
  const next = end < models.length ? { nextPageToken: String(end) } : {};
  return withBody(reply, { models: models.slice(start, end).map(toModel), ...next });
}

/**
 * `GET /v1beta/models/{model}`: one of them.
 *
 * @throws {NotFoundError} If it is not among them.
 */
export async function getGeminiModel(model: string, context: CallerContext): Promise<Reply> {
  const { models, reply } = await readListing(context);
  const found = models.find(({ id }) => id === model);
  if (found) return withBody(reply, toModel(found));
  throw new NotFoundError("Cannot find this model", { code: "model_not_found", param: "model" });
}
