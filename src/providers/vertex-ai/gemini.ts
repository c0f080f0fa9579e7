import * as v from "valibot";
import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { EmbeddingRequest, EmbeddingResponse } from "../../schemas/embeddings.ts";
import type { EmbedContentRequest } from "../../schemas/gemini.ts";
import type { OperationAdapters } from "../core/types.ts";
import { countedRequest, generateAction, toOwnRequest } from "../google/native.ts";
import type { EmbedAdapter } from "./embed.ts";
import { googleModelPath, readModel } from "./publishers.ts";
import type { VertexSettings } from "./settings.ts";

type Members = Record<string, unknown>;

const isGemini = ({ model }: { model: string }): boolean => readModel(model).dialect === "gemini";

/** A content's text; a list may be written as its only item. */
function textOf({ content }: Members): string {
  const parts: unknown = isObject(content) ? content.parts : undefined;
  const texts = (Array.isArray(parts) ? parts : [parts]).map((part) => (isObject(part) ? part.text : undefined));
  if (texts.every((text) => typeof text === "string" && text !== "")) return texts.join("\n");
  throw new InvalidRequestError("Cannot embed this content: give it as text", {
    param: "content",
    code: "unsupported_parameter",
  });
}

/** Members of a request in Gemini's shape by the names they have in the gateway's. */
function toMembers(request: Members): Members {
  const dimensions = request.outputDimensionality ?? request.output_dimensionality ?? undefined;
  const task = request.taskType ?? request.task_type ?? undefined;
  const { title } = request;
  return {
    ...(dimensions !== undefined && { dimensions }),
    ...(task !== undefined && { task_type: task }),
    ...(typeof title === "string" && { title }),
  };
}

const Vectors = v.array(v.looseObject({ embedding: v.array(v.number()) }));

/** Lists of values of an answer in the gateway's shape. */
function vectorsOf(answer: EmbeddingResponse | undefined): { values: number[] }[] {
  return v.parse(Vectors, answer?.data).map(({ embedding }) => ({ values: embedding }));
}

/** The gateway's request for several contents, which must ask for the same of each. */
function toEmbeddings(model: string, requests: readonly Members[]): EmbeddingRequest {
  const members = toMembers(requests[0] ?? {});
  const shape = JSON.stringify(members);
  if (requests.some((request) => JSON.stringify(toMembers(request)) !== shape)) {
    throw new InvalidRequestError("Cannot embed these contents at once: they ask for different sizes or tasks", {
      param: "requests",
      code: "unsupported_parameter",
    });
  }
  return { model, input: requests.map(textOf), ...members };
}

/** Embeddings in Gemini's shape: the service has another one for most models, with the same tasks. */
function createEmbedContent(embed: EmbedAdapter) {
  const toOne = (request: EmbedContentRequest): EmbeddingRequest => ({
    model: request.model,
    input: textOf(request),
    ...toMembers(request),
  });
  return {
    embedContent: {
      path: (request) => embed.path(toOne(request)),
      toUpstream: (request, options) => embed.toUpstream(toOne(request), options),
      fromUpstream(body, request, options) {
        const [embedding = { values: [] }] = vectorsOf(embed.fromUpstream(body, toOne(request), options));
        return { embedding };
      },
    },
    batchEmbedContents: {
      path: ({ model, requests }) => embed.path(toEmbeddings(model, requests)),
      toUpstream: ({ model, requests }, options) => embed.toUpstream(toEmbeddings(model, requests), options),
      fromUpstream: (body, { model, requests }, options) => ({
        embeddings: vectorsOf(embed.fromUpstream(body, toEmbeddings(model, requests), options)),
      }),
    },
  } satisfies OperationAdapters;
}

/** Google's own models in their own shape (https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/projects.locations.publishers.models/generateContent). */
export function createGemini(settings: VertexSettings, embed: EmbedAdapter) {
  return {
    generateContent: {
      serves: isGemini,
      path: (request) => googleModelPath(readModel(request.model), generateAction(request.stream === true), settings),
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
    ...createEmbedContent(embed),
  } satisfies OperationAdapters;
}
