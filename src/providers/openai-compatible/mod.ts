import * as v from "valibot";
import { ModelList } from "../../schemas/models.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import type { BatchRules } from "../core/records.ts";
import type { SettingsDefinition } from "../core/settings.ts";
import type {
  ConversionOptions,
  ModelNaming,
  NativeGroup,
  OperationAdapter,
  OperationAdapters,
  Provider,
  ProviderDefinition,
} from "../core/types.ts";
import { encodeWhereAsked, inBatches } from "../shared/embeddings.ts";
import { requireTextOrObjects } from "../shared/inputs.ts";
import { type RerankMembers, rerankLikeCohere } from "../shared/rerank.ts";
import { createAnswerCorrector, createAnswerReader } from "./answer.ts";
import { type MediaOperation, type MediaRules, mediaOperation } from "./media.ts";
import type { AnswerRules } from "./members.ts";
import { realtimeOperation } from "./realtime.ts";
import { createRequestMap, type RequestRules } from "./request.ts";
import { createChunkCorrector, createChunkMapper } from "./stream.ts";
import { createThoughtRemover, readWithoutThoughts } from "./without-thoughts.ts";

/** Operations in OpenAI's shapes. */
type OpenaiOperation = "chat" | "complete" | "embed" | "models" | "responses" | MediaOperation;

/** What differs between providers that speak OpenAI's shapes, whoever calls them. */
export interface OpenaiCompatibleRules extends MediaRules {
  /** In front of the path of each operation, such as `/v1`, where the base address does not hold it. */
  pathPrefix?: string;
  /** It holds realtime sessions. */
  realtime?: boolean;
  /** Routes that are passed on as they are and that it has. Default: none. */
  relays?: readonly NativeGroup[];
  /** Path of the Responses API where it is not `/responses` behind the prefix. */
  responsesPath?: string;
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
  /** Chats tell how probable their tokens were. */
  hasLogprobs?: boolean;
  /** It decides: the path, and which requests it takes. */
  decide?: OperationAdapter<"decide">;
  /** It classifies texts. */
  moderates?: boolean;
  /** How it reranks; where it does so as Cohere does, the members it takes beside what is reranked. */
  rerank?: RerankMembers | OperationAdapter<"rerank">;
  /** Embeddings in a form of the provider's own. */
  embedAdapter?: OperationAdapter<"embed">;
  /** Inputs for embeddings are texts: lists of tokens are refused. */
  embedsTexts?: boolean;
  /** Most inputs of one call for embeddings. */
  embedsAtMost?: number;
  /** How answers differ. Absent: answers and streams go back as they came. */
  answers?: AnswerRules;
  /** Answers and parts of streams go back as they came where that is what `answers` would make of them. */
  mostlyRight?: boolean;
  /** Without `answers`: strict chats of hosts that callers or integrations name tell no thoughts, as OpenAI's tell none. */
  hidesThoughts?: boolean;
}

/** What differs between providers that speak OpenAI's shapes. */
interface OpenaiCompatibleOptions<Settings> extends OpenaiCompatibleRules {
  slug: string;
  baseUrl: string | ((settings: Settings, facts: { path: string }) => string);
  settings: SettingsDefinition<Settings>;
  /** Default: the credential as a bearer token; none where the caller has none. */
  authenticate?: (credential: string | undefined, settings: Settings) => Record<string, string>;
  /** Names in lower case of headers its clients send: they go along unasked. Never ones with credentials. */
  clientHeaders?: readonly string[];
  /** Headers of calls that have them from nowhere else. */
  defaultHeaders?: Readonly<Record<string, string>>;
  /** Files, batches and tuning jobs, where they are not OpenAI's too. */
  recordKeeping?: Pick<ProviderDefinition<Settings>, "records" | "store">;
  /** Batches it makes of files. Absent: it has none. */
  batches?: BatchRules;
  /** How its models are named, if not by one plain name each. */
  models?: ModelNaming<Settings>;
}

/** Operations with texts. */
export const textOperations: readonly OpenaiOperation[] = ["chat", "complete", "embed", "models"];

function withDefaultModel(rules: RequestRules = {}, model: string | undefined): RequestRules {
  return model === undefined ? rules : { ...rules, defaults: { ...rules.defaults, model } };
}

/** A chat whose answers go back as they came, but for the thoughts custom hosts put into strict ones. */
function hideThoughts(adapter: OperationAdapter<"chat">): void {
  const hides = ({ strict, hasCustomHost }: ConversionOptions) => strict && hasCustomHost === true;
  adapter.fromUpstream = (body, _request, options) => (hides(options) ? readWithoutThoughts(body) : undefined);
  adapter.chunkCorrector = (_request, options) => (hides(options) ? createThoughtRemover() : undefined);
}

/** A chat or a completion. */
function textOperation(slug: string, kind: "chat" | "complete", rules: OpenaiCompatibleRules) {
  const { pathPrefix = "", answers } = rules;
  const path = pathPrefix + (kind === "chat" ? "/chat/completions" : "/completions");
  const adapter: OperationAdapter<"chat"> & OperationAdapter<"complete"> = {
    path: () => path,
    toUpstream: createRequestMap(slug, withDefaultModel(rules[kind], rules.model), { streams: true }),
  };
  if (!answers && rules.hidesThoughts && kind === "chat") hideThoughts(adapter);
  if (!answers) return adapter;
  const reader = { ...answers, slug, kind };
  const read = rules.mostlyRight ? createAnswerCorrector(reader) : createAnswerReader(reader);
  adapter.fromUpstream = (body, _request, options) => read(body, options);
  adapter.streamMapper = (_request, options) => createChunkMapper(reader, options);
  if (rules.mostlyRight) adapter.chunkCorrector = (_request, options) => createChunkCorrector(reader, options);
  return adapter;
}

function embedOperation(slug: string, rules: OpenaiCompatibleRules): OperationAdapter<"embed"> {
  const { pathPrefix = "", embed, embedModel, embedsTexts, embedsAtMost } = rules;
  const isMapped = embed !== undefined || embedModel !== undefined;
  const map =
    isMapped && createRequestMap(slug, withDefaultModel(embed, embedModel), { streams: false, kind: "embed" });
  const adapter: OperationAdapter<"embed"> = {
    path: () => `${pathPrefix}/embeddings`,
    fromUpstream: encodeWhereAsked,
    ...(embedsAtMost !== undefined && inBatches(embedsAtMost)),
  };
  if (!map && !embedsTexts) return adapter;
  adapter.toUpstream = (request, options) => {
    if (embedsTexts) requireTextOrObjects(slug, request);
    return map ? map(request, options) : request;
  };
  return adapter;
}

function rerankOperation(
  rules: NonNullable<OpenaiCompatibleRules["rerank"]>,
  pathPrefix: string,
): OperationAdapter<"rerank"> {
  return "path" in rules ? rules : rerankLikeCohere({ path: `${pathPrefix}/rerank`, members: rules });
}

function createOperations(slug: string, rules: OpenaiCompatibleRules): OperationAdapters {
  const { pathPrefix = "", operations = textOperations } = rules;
  const makers: { [Name in OpenaiOperation]: () => OperationAdapter<Name> } = {
    chat: () => textOperation(slug, "chat", rules),
    complete: () => textOperation(slug, "complete", rules),
    embed: () => rules.embedAdapter ?? embedOperation(slug, rules),
    models: (): OperationAdapter<"models"> => ({
      method: "GET",
      path: () => `${pathPrefix}/models`,
      fromUpstream: (body) => v.parse(ModelList, body),
    }),
    // requests and answers are the gateway's own: the bytes go as they are
    responses: () => ({ path: () => rules.responsesPath ?? `${pathPrefix}/responses` }),
    generateImage: () => mediaOperation(slug, "generateImage", rules),
    editImage: () => mediaOperation(slug, "editImage", rules),
    speak: () => mediaOperation(slug, "speak", rules),
    transcribe: () => mediaOperation(slug, "transcribe", rules),
    translate: () => mediaOperation(slug, "translate", rules),
  };
  return {
    ...Object.fromEntries(operations.map((name) => [name, makers[name]()])),
    ...(rules.decide && { decide: rules.decide }),
    ...(rules.moderates && { moderate: { path: () => `${pathPrefix}/moderations` } }),
    ...(rules.rerank && { rerank: rerankOperation(rules.rerank, pathPrefix) }),
    ...(rules.realtime && { realtime: realtimeOperation(pathPrefix) }),
    ...rules.own,
  };
}

/** Declares a provider that speaks OpenAI's shapes (https://platform.openai.com/docs/api-reference). */
export function openaiCompatible<Settings>(options: OpenaiCompatibleOptions<Settings>): Provider {
  return defineProvider({
    slug: options.slug,
    baseUrl: options.baseUrl,
    settings: options.settings,
    ...(options.pathPrefix !== undefined && { pathPrefix: options.pathPrefix }),
    ...(options.relays && { relays: options.relays }),
    authenticate: options.authenticate ?? bearer,
    ...(options.clientHeaders && { clientHeaders: options.clientHeaders }),
    ...(options.defaultHeaders && { defaultHeaders: options.defaultHeaders }),
    ...(options.hasLogprobs && { hasLogprobs: true }),
    operations: createOperations(options.slug, options),
    ...options.recordKeeping,
    ...(options.batches && { batches: options.batches }),
    ...(options.models && { models: options.models }),
  });
}
