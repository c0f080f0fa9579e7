import { isObject } from "../../lib/json.ts";
import { isMarked, readMarkedSignature } from "../../lib/signature-mark.ts";
import type { BatchEmbedContentsRequest, CountContentsRequest, GenerateContentRequest } from "../../schemas/gemini.ts";
import type { ConversionOptions, OperationAdapters } from "../core/types.ts";
import { geminiFactsOf } from "./family.ts";
import { noSignature } from "./messages.ts";
import { modelName, modelPath } from "./model.ts";

type Members = Record<string, unknown>;

const listOf = (value: unknown): Members[] => (Array.isArray(value) ? value : [value]).filter(isObject);
const signatureOf = (part: Members): unknown => part.thoughtSignature ?? part.thought_signature;

/** A part that says nothing, such as the last one of a stream: Google refuses it in a request. */
const isVoid = (part: Members): boolean => part.text === "" && signatureOf(part) === undefined;

const isForeign = (content: Members): boolean =>
  listOf(content.parts).some((part) => isMarked(signatureOf(part)) || (content.role === "model" && isVoid(part)));

/**
 * A part for these models. Thinking of other model families is dropped, and their tool calls get the signature that
 * Google documents for calls without one.
 */
function toOwnPart(part: Members, needsSignatures: boolean, { drop }: ConversionOptions): Members[] {
  const signature = signatureOf(part);
  if (isVoid(part)) return [];
  if (!isMarked(signature)) return [part];
  if (readMarkedSignature(signature)?.text !== "") drop("contents.thoughtSignature");
  const { thoughtSignature: _camel, thought_signature: _snake, ...rest } = part;
  if (part.thought === true) return [];
  const isCall = isObject(part.functionCall) || isObject(part.function_call);
  return [isCall && needsSignatures ? { ...rest, thoughtSignature: noSignature } : rest];
}

const isResult = (part: Members): boolean => isObject(part.functionResponse) || isObject(part.function_response);

/** Whether results of calls stand beside something else. */
function isMixed({ parts }: Members): boolean {
  const results = listOf(parts).filter(isResult).length;
  return results > 0 && results < listOf(parts).length;
}

/** A turn in two: results of calls, then what the user says. */
function splitTurn(turn: Members): Members[] {
  const parts = listOf(turn.parts);
  return [parts.filter(isResult), parts.filter((part) => !isResult(part))].map((some) => ({ ...turn, parts: some }));
}

/**
 * Turns without leftovers of other model families, and without parts that say nothing; the argument itself when it has none of
 * them. Models that take no beginning of an answer take results of calls alone in a turn: to them, what stands beside results is
 * such a beginning.
 */
function toOwnContents(contents: unknown, model: string, options: ConversionOptions): unknown {
  const turns = listOf(contents);
  const mixes = turns.some(isMixed);
  if (!mixes && !turns.some(isForeign)) return contents;
  const { needsCallSignatures: needsSignatures = false, takesPrefill = true } = geminiFactsOf(model, options);
  return turns.flatMap((turn) => {
    const parted = !takesPrefill && isMixed(turn) ? splitTurn(turn) : [turn];
    if (!isForeign(turn)) return parted;
    return parted.flatMap((one) => {
      const parts = listOf(one.parts).flatMap((part) => toOwnPart(part, needsSignatures, options));
      return parts.length === 0 ? [] : [{ ...one, parts }];
    });
  });
}

/** A native generateContent request: model and response format come from the path. */
export function toOwnRequest(request: GenerateContentRequest, options: ConversionOptions): Members {
  const { model, stream: _, ...rest } = request;
  return { ...rest, contents: toOwnContents(rest.contents, model, options) };
}

/** The action of a generateContent call. */
export function generateAction(isStream: boolean): string {
  return isStream ? "streamGenerateContent?alt=sse" : "generateContent";
}

/** The whole generateContent request whose tokens are counted, if present. */
export function countedRequest(request: CountContentsRequest): Members | undefined {
  return request.generateContentRequest ?? request.generate_content_request ?? undefined;
}

function toCountRequest(request: CountContentsRequest): Members {
  const whole = countedRequest(request);
  if (!whole) return { contents: request.contents };
  return { generateContentRequest: { ...whole, model: `models/${modelName(request.model)}` } };
}

function toBatchRequest({ model: name, requests }: BatchEmbedContentsRequest): Members {
  const model = `models/${modelName(name)}`;
  return { requests: requests.map((request) => ({ ...request, model })) };
}

/** The native Gemini API at Google (https://ai.google.dev/api): requests and responses are forwarded unchanged. */
export const nativeOperations = {
  generateContent: {
    path: (request) => `/v1beta${modelPath(request.model)}:${generateAction(request.stream === true)}`,
    toUpstream: toOwnRequest,
  },
  countContents: {
    path: ({ model }) => `/v1beta${modelPath(model)}:countTokens`,
    toUpstream: toCountRequest,
  },
  embedContent: {
    path: ({ model }) => `/v1beta${modelPath(model)}:embedContent`,
    toUpstream: ({ stream: _, ...rest }) => ({ ...rest, model: `models/${modelName(rest.model)}` }),
  },
  batchEmbedContents: {
    path: ({ model }) => `/v1beta${modelPath(model)}:batchEmbedContents`,
    toUpstream: toBatchRequest,
  },
} satisfies OperationAdapters;
