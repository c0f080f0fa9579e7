import type { Operations } from "../core/operations.ts";
import type { ConversionOptions, OperationAdapter, OperationAdapters } from "../core/types.ts";
import type { RequestKind } from "../shared/known.ts";
import { refuseMember } from "../shared/messages.ts";
import { createRequestMap, type RequestRules } from "./request.ts";

/** Image and audio operations in OpenAI's shapes. */
export type MediaOperation = "generateImage" | "editImage" | "speak" | "transcribe" | "translate";

/** All image and audio operations. */
export const mediaOperations: readonly MediaOperation[] = [
  "generateImage",
  "editImage",
  "speak",
  "transcribe",
  "translate",
];

/** How image and audio requests differ from OpenAI's. */
export interface MediaRules {
  /** Rules by operation. */
  media?: { readonly [Name in MediaOperation]?: RequestRules };
  /** Reads image responses that differ from OpenAI's. */
  readImages?: OperationAdapter<"generateImage">["fromUpstream"];
  /** The provider supports speech as an event stream. */
  speechEvents?: boolean;
}

/**
 * Paths below the base URL (https://platform.openai.com/docs/api-reference/images,
 * https://platform.openai.com/docs/api-reference/audio).
 */
const mediaPaths: Readonly<Record<MediaOperation, string>> = {
  generateImage: "/images/generations",
  editImage: "/images/edits",
  speak: "/audio/speech",
  transcribe: "/audio/transcriptions",
  translate: "/audio/translations",
};

/**
 * Rejects speech as an event stream, for providers that do not support it.
 *
 * @throws {InvalidRequestError}
 */
export function refuseSpeechEvents(provider: string, { stream_format: format }: Operations["speak"]["request"]): void {
  if (format === "sse")
    refuseMember(provider, "stream_format", "it returns speech as audio only; leave stream_format out");
}

type Request = Operations[MediaOperation]["request"];

const kindOf = (name: MediaOperation): RequestKind => (name === "speak" ? "speech" : "image");

/** The request mapping of an operation; undefined when requests are forwarded unchanged. */
function requestMapOf(slug: string, name: MediaOperation, { media, speechEvents }: MediaRules) {
  const rules = media?.[name];
  const map = rules && createRequestMap(slug, rules, { streams: false, kind: kindOf(name) });
  if (name !== "speak" || speechEvents) return map;
  return (request: Request, options: ConversionOptions): object => {
    refuseSpeechEvents(slug, request as Operations["speak"]["request"]); // the name says so
    return map?.(request, options) ?? request;
  };
}

/** One image or audio operation. */
export function mediaOperation<Name extends MediaOperation>(
  slug: string,
  name: Name,
  rules: MediaRules & { pathPrefix?: string },
): OperationAdapter<Name> {
  const path = (rules.pathPrefix ?? "") + mediaPaths[name];
  const toUpstream = requestMapOf(slug, name, rules);
  if (!toUpstream) return { path: () => path, takesForms: true };
  const adapter: OperationAdapter<Name> = { path: () => path, toUpstream };
  const { readImages } = rules;
  if (name !== "generateImage" || !readImages) return adapter;
  return Object.assign(adapter, { fromUpstream: readImages });
}

/** How a host names models in paths and bodies. */
interface ModelHost {
  /** Path of a call to a model. */
  path(model: string, suffix: string): string;
  /** The model to send in the body; undefined: the request's own. */
  model?(asked: string): string;
  headers?(): Record<string, string>;
  slug: string;
  speechEvents?: boolean;
}

/**
 * All image and audio operations, for hosts with other paths or model names. A request is only changed when its model
 * is.
 */
export function hostedMediaOperations({ slug, path, model, headers, speechEvents }: ModelHost): OperationAdapters {
  const toModel = (request: Request): Request => {
    const asked = request.model ?? "";
    const wanted = model?.(asked) ?? asked;
    return wanted === asked ? request : { ...request, model: wanted };
  };
  const operations = mediaOperations.map((name) => [
    name,
    {
      path: (request: Request) => path(request.model ?? "", mediaPaths[name]),
      toUpstream(request: Request) {
        if (name === "speak" && !speechEvents) refuseSpeechEvents(slug, request as Operations["speak"]["request"]); // the name says so
        return toModel(request);
      },
      ...(headers && { headers }),
      ...(!model && { takesForms: true }),
    },
  ]);
  return Object.fromEntries(operations);
}
