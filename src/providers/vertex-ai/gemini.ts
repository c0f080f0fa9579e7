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

/** Text of a content; its parts may be a single part instead of a list. */
function textOf({ content }: Members): string {
  const parts: unknown = isObject(content) ? content.parts : undefined;
  const strings = (Array.isArray(parts) ? parts : [parts]).map((part) => (isObject(part) ? part.text : undefined));
  if (strings.every((text) => typeof text === "string" && text !== "")) return strings.join("\n");
  throw new InvalidRequestError("Cannot embed this content: it must be text", {
    param: "content",
    code: "unsupported_parameter",
  });
}

/** Fields of a native Gemini request by the gateway's names. */
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

/** The vectors of a response in the gateway's shape. */
function vectorsOf(answer: EmbeddingResponse | undefined): { values: number[] }[] {
  return v.parse(Vectors, answer?.data).map(({ embedding }) => ({ values: embedding }));
}

/** The gateway's request for several contents, which must have the same options. */
function toEmbeddings(model: string, requests: readonly Members[]): EmbeddingRequest {
  const members = toMembers(requests[0] ?? {});
  const shape = JSON.stringify(members);
  if (requests.some((request) => JSON.stringify(toMembers(request)) !== shape)) {
    throw new InvalidRequestError("Cannot embed these contents together: their sizes or tasks differ", {
      param: "requests",
      code: "unsupported_parameter",
    });
  }
  return { model, input: requests.map(textOf), ...members };
}

/** Embeddings in Gemini's shape: Vertex AI uses another shape for most models, with the same task types. */
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

/**
 * Google's own models in their native shape
 * (https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/projects.locations.publishers.models/generateContent).
 */
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
