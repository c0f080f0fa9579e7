import * as v from "valibot";
import { ModelList } from "../../schemas/models.ts";
import { bearer } from "../auth/headers.ts";
import type { SettingsDefinition } from "../settings.ts";
import { defineProvider, type OperationAdapter, type OperationAdapters, type Provider } from "../types.ts";
import { type AnswerRules, createAnswerReader, createChunkMapper } from "./answer.ts";
import { type MediaOperation, type MediaRules, mediaOperation } from "./media.ts";
import { createRequestMap, type RequestRules } from "./request.ts";

/** Operations in OpenAI's shapes. */
export type OpenaiOperation = "chat" | "complete" | "embed" | "models" | MediaOperation;

/** What differs between providers that speak OpenAI's shapes, whoever calls them. */
export interface OpenaiCompatibleRules extends MediaRules {
  /** In front of the path of each operation, such as `/v1`, where the base address does not hold it. */
  pathPrefix?: string;
  /** Default: those with texts. */
  operations?: readonly OpenaiOperation[];
  /** Operations the provider has in shapes of its own. */
  own?: OperationAdapters;
  /** Model of chats and completions that name none, by an empty text. */
  model?: string;
  /** As `model`, for embeddings. */
  embedModel?: string;
  /** How requests for chats differ. */
  chat?: RequestRules;
  /** How requests for completions differ. */
  complete?: RequestRules;
  /** How requests for embeddings differ. */
  embed?: RequestRules;
  /** How answers differ. Absent: answers and streams go back as they came. */
  answers?: AnswerRules;
  /** Answers that come whole differ, streams do not. */
  streamsAsTheyCome?: boolean;
}

/** What differs between providers that speak OpenAI's shapes. */
export interface OpenaiCompatibleOptions<Settings> extends OpenaiCompatibleRules {
  slug: string;
  baseUrl: string | ((settings: Settings) => string);
  settings: SettingsDefinition<Settings>;
  /** Default: the credential as a bearer token; none where the caller has none. */
  authenticate?: (credential: string | undefined, settings: Settings) => Record<string, string>;
}

/** Operations with texts. */
export const textOperations: readonly OpenaiOperation[] = ["chat", "complete", "embed", "models"];

function withDefaultModel(rules: RequestRules = {}, model: string | undefined): RequestRules {
  return model === undefined ? rules : { ...rules, defaults: { ...rules.defaults, model } };
}

/** A chat or a completion. */
function textOperation(slug: string, kind: "chat" | "complete", rules: OpenaiCompatibleRules) {
  const { pathPrefix = "", answers } = rules;
  const path = pathPrefix + (kind === "chat" ? "/chat/completions" : "/completions");
  const adapter: OperationAdapter<"chat"> & OperationAdapter<"complete"> = {
    path: () => path,
    toUpstream: createRequestMap(slug, withDefaultModel(rules[kind], rules.model), { streams: true }),
  };
  if (!answers) return adapter;
  const reader = { ...answers, slug, kind };
  const read = createAnswerReader(reader);
  adapter.fromUpstream = (body, _request, options) => read(body, options);
  if (!rules.streamsAsTheyCome) adapter.streamMapper = (_request, options) => createChunkMapper(reader, options);
  return adapter;
}

function embedOperation(slug: string, rules: OpenaiCompatibleRules): OperationAdapter<"embed"> {
  const { pathPrefix = "", embed, embedModel } = rules;
  const path = () => `${pathPrefix}/embeddings`;
  if (!embed && embedModel === undefined) return { path };
  return { path, toUpstream: createRequestMap(slug, withDefaultModel(embed, embedModel), { streams: false }) };
}

function createOperations(slug: string, rules: OpenaiCompatibleRules): OperationAdapters {
  const { pathPrefix = "", operations = textOperations } = rules;
  const makers: { [Name in OpenaiOperation]: () => OperationAdapter<Name> } = {
    chat: () => textOperation(slug, "chat", rules),
    complete: () => textOperation(slug, "complete", rules),
    embed: () => embedOperation(slug, rules),
    models: (): OperationAdapter<"models"> => ({
      method: "GET",
      path: () => `${pathPrefix}/models`,
      fromUpstream: (body) => v.parse(ModelList, body),
    }),
    generateImage: () => mediaOperation(slug, "generateImage", rules),
    editImage: () => mediaOperation(slug, "editImage", rules),
    speak: () => mediaOperation(slug, "speak", rules),
    transcribe: () => mediaOperation(slug, "transcribe", rules),
    translate: () => mediaOperation(slug, "translate", rules),
  };
  return { ...Object.fromEntries(operations.map((name) => [name, makers[name]()])), ...rules.own };
}

/** Declares a provider that speaks OpenAI's shapes (https://platform.openai.com/docs/api-reference). */
export function openaiCompatible<Settings>(options: OpenaiCompatibleOptions<Settings>): Provider {
  return defineProvider({
    slug: options.slug,
    baseUrl: options.baseUrl,
    settings: options.settings,
    ...(options.pathPrefix !== undefined && { pathPrefix: options.pathPrefix }),
    authenticate: options.authenticate ?? bearer,
    operations: createOperations(options.slug, options),
  });
}
