import type { CallerContext } from "../../context.ts";
import { InvalidRequestError, NotFoundError } from "../../errors.ts";
import { isObject, parseJson } from "../../lib/json.ts";
import { jsonReply, type Reply } from "../../lib/reply.ts";
import type { GeminiModel } from "../../schemas/gemini.ts";
import { listModels } from "./models.ts";

const defaultPage = 50;
const maxPage = 1_000;

/** Methods listed for every model; its provider decides which of them it supports. */
const methods = ["generateContent", "streamGenerateContent", "countTokens", "embedContent", "batchEmbedContents"];

function toModel(model: Record<string, unknown>): GeminiModel[] {
  const { id, slug } = model;
  if (typeof id !== "string") return [];
  const displayName = typeof slug === "string" ? slug : id;
  return [{ name: `models/${id}`, version: "", displayName, supportedGenerationMethods: methods }];
}

/** All models `GET /v1/models` would list for the caller, and that response. */
async function readModels(context: CallerContext): Promise<{ models: GeminiModel[]; reply: Reply }> {
  const reply = await listModels(context);
  const list = typeof reply.body === "string" ? parseJson(reply.body) : undefined;
  const data: unknown[] = isObject(list) && Array.isArray(list.data) ? list.data : [];
  return { models: data.filter(isObject).flatMap(toModel), reply };
}

function readCount(query: URLSearchParams, name: string, fallback: number): number {
  const text = query.get(name);
  if (text === null || text === "") return fallback;
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new InvalidRequestError(`Cannot use ${name}: it must be a whole number`, {
    param: name,
    code: "invalid_query",
  });
}

function withBody({ status, headers }: Reply, value: unknown): Reply {
  const made = jsonReply(value, status);
  return { ...made, headers: { ...headers, ...made.headers } };
}

/** `GET /v1beta/models`: the models of `GET /v1/models`, page by page. */
export async function listGeminiModels(context: CallerContext): Promise<Reply> {
  const query = context.url.searchParams;
  const size = Math.min(readCount(query, "pageSize", defaultPage) || defaultPage, maxPage);
  const start = readCount(query, "pageToken", 0);
  const { models, reply } = await readModels(context);
  const end = start + size;
  const next = end < models.length ? { nextPageToken: String(end) } : {};
  return withBody(reply, { models: models.slice(start, end), ...next });
}

/**
 * `GET /v1beta/models/{model}`: one of them.
 *
 * @throws {NotFoundError} If it is not among them.
 */
export async function getGeminiModel(model: string, context: CallerContext): Promise<Reply> {
  const { models, reply } = await readModels(context);
  const found = models.find(({ name }) => name === `models/${model}`);
  if (found) return withBody(reply, found);
  throw new NotFoundError("Cannot find this model", { code: "model_not_found", param: "model" });
}
