import type { Operations } from "../core/operations.ts";
import type { ConversionOptions, OperationAdapter, OperationAdapters } from "../core/types.ts";
import type { RequestKind } from "../shared/known.ts";
import { refuseMember } from "../shared/messages.ts";
import { createRequestMap, type RequestRules } from "./request.ts";

/** Operations with pictures or sound, in OpenAI's shapes. */
export type MediaOperation = "generateImage" | "editImage" | "speak" | "transcribe" | "translate";

/** All of them. */
export const mediaOperations: readonly MediaOperation[] = [
  "generateImage",
  "editImage",
  "speak",
  "transcribe",
  "translate",
];

/** How requests with pictures or sound differ from OpenAI's. */
export interface MediaRules {
  /** By their operations. */
  media?: { readonly [Name in MediaOperation]?: RequestRules };
  /** Reads answers with pictures that are not quite OpenAI's. */
  readImages?: OperationAdapter<"generateImage">["fromUpstream"];
  /** Speech can be had as a stream of events. */
  speechEvents?: boolean;
}

/** Paths below the base address (https://platform.openai.com/docs/api-reference/images, https://platform.openai.com/docs/api-reference/audio). */
const mediaPaths: Readonly<Record<MediaOperation, string>> = {
  generateImage: "/images/generations",
  editImage: "/images/edits",
  speak: "/audio/speech",
  transcribe: "/audio/transcriptions",
  translate: "/audio/translations",
};

/**
 * Refuses speech as a stream of events, for providers without.
 *
 * @throws {InvalidRequestError}
 */
export function refuseSpeechEvents(provider: string, { stream_format: format }: Operations["speak"]["request"]): void {
  if (format === "sse")
    refuseMember(provider, "stream_format", "it gives speech as audio only; leave stream_format out");
}

type Request = Operations[MediaOperation]["request"];

const kindOf = (name: MediaOperation): RequestKind => (name === "speak" ? "speech" : "image");

/** The map of an operation; undefined where requests go on as they came. */
function requestMapOf(slug: string, name: MediaOperation, { media, speechEvents }: MediaRules) {
  const rules = media?.[name];
  const map = rules && createRequestMap(slug, rules, { streams: false, kind: kindOf(name) });
  if (name !== "speak" || speechEvents) return map;
  return (request: Request, options: ConversionOptions): object => {
    refuseSpeechEvents(slug, request as Operations["speak"]["request"]); // as named
    return map?.(request, options) ?? request;
  };
}

/** One operation with pictures or sound. */
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

/** What of a request's model is known where it names none. */
interface ModelHost {
  /** Path of a call for a model. */
  path(model: string, suffix: string): string;
  /** The model the upstream wants to read; undefined: as it was sent. */
  model?(asked: string): string;
  headers?(): Record<string, string>;
  slug: string;
  speechEvents?: boolean;
}

/** All of them, for hosts whose paths or models are not those of the request. A model that stays the same leaves the request as it came. */
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
        if (name === "speak" && !speechEvents) refuseSpeechEvents(slug, request as Operations["speak"]["request"]); // as named
        return toModel(request);
      },
      ...(headers && { headers }),
      ...(!model && { takesForms: true }),
    },
  ]);
  return Object.fromEntries(operations);
}
