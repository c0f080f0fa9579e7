import * as v from "valibot";
import { ModelList } from "../../schemas/models.ts";
import type { ChargeRules } from "../core/charges.ts";
import { defineProvider } from "../core/define.ts";
import { bearer } from "../core/headers.ts";
import type { FactTable } from "../core/model-facts.ts";
import type { OperationName } from "../core/operations.ts";
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
import { correctCalls, joinCorrectors } from "../shared/call-corrector.ts";
import { encodeWhereAsked, inBatches } from "../shared/embeddings.ts";
import { requireStringsOrObjects } from "../shared/inputs.ts";
import { type RerankMembers, rerankLikeCohere } from "../shared/rerank.ts";
import { createAnswerCorrector, createAnswerReader } from "./answer.ts";
import { withDetails } from "./details.ts";
import { type MediaOperation, type MediaRules, mediaOperation } from "./media.ts";
import { type AnswerRules, calledMembers, demandsDetails, plainMessage } from "./members.ts";
import { realtimeOperation } from "./realtime.ts";
import { createRequestMap, type RequestRules } from "./request.ts";
import { createChunkCorrector, createChunkMapper } from "./stream.ts";
import { createReasoningRemover, readWithoutReasoning } from "./without-reasoning.ts";

/** Operations in OpenAI's shapes. */
type OpenaiOperation = "chat" | "complete" | "embed" | "models" | "responses" | MediaOperation;

/** Differences between providers that speak OpenAI's shapes, whoever calls them. */
export interface OpenaiCompatibleRules extends MediaRules {
  /** Prefix of each operation's path, such as `/v1`, when the base URL does not contain it. */
  pathPrefix?: string;
  /** Supports realtime sessions. */
  realtime?: boolean;
  /** Native routes it supports. Default: none. */
  nativeGroups?: readonly NativeGroup[];
  /** Path of the Responses API when it is not `/responses` after the prefix. */
  responsesPath?: string;
  /** Default: the text operations. */
  operations?: readonly OpenaiOperation[];
  /** Operations in the provider's native shapes. */
  own?: OperationAdapters;
  /** Model for chats and completions that name none (an empty string). */
  model?: string;
  /** As `model`, for embeddings. */
  embedModel?: string;
  /** How chat requests differ. */
  chat?: RequestRules;
  /** How completion requests differ. */
  complete?: RequestRules;
  /** How embedding requests differ. */
  embed?: RequestRules;
  /** Chats support log probabilities. */
  hasLogprobs?: boolean;
  /** How it answers decisions: the path, and the requests it accepts. */
  decide?: OperationAdapter<"decide">;
  /** Whether it searches the web itself where a request of an operation asks its model to. Default: no. */
  searches?: (operation: OperationName, model: string) => boolean;
  /** Supports moderation. */
  moderates?: boolean;
  /** Reranking: an adapter, or, for APIs like Cohere's, the extra fields it accepts. */
  rerank?: RerankMembers | OperationAdapter<"rerank">;
  /** Embeddings in the provider's native form. */
  embedAdapter?: OperationAdapter<"embed">;
  /** Embedding inputs must be text: token lists are rejected. */
  embedsStringsOnly?: boolean;
  /** Maximum number of embedding inputs per call. */
  embedsAtMost?: number;
  /**
   * How responses differ. Absent: reasoning, other fields and the indexes of calls get OpenAI's form, and what has it already is
   * returned byte for byte. `own`: they are OpenAI's, and returned unchanged; strict chats of custom hosts lose their reasoning,
   * as OpenAI's contain none.
   */
  answers?: AnswerRules | "own";
  /** With rules in `answers`: what has OpenAI's form already is returned byte for byte, as without them. */
  rarelyChanged?: boolean;
}

/** Differences between providers that speak OpenAI's shapes. */
export interface OpenaiCompatibleOptions<Settings> extends OpenaiCompatibleRules {
  slug: string;
  baseUrl: string | ((settings: Settings, facts: { path: string }) => string);
  settings: SettingsDefinition<Settings>;
  /** Further names that integrations may give it. */
  aliases?: readonly string[];
  /** It serves without a credential. Default: no. */
  keyless?: boolean;
  /** Its calls cost nothing. Default: no. */
  free?: boolean;
  /** It chooses among the models and providers that requests list itself. Default: no. */
  choosesItself?: boolean;
  /** Where the usage of a response says what the response cost. Default: nowhere. */
  charges?: ChargeRules;
  /** Default: the credential as a bearer token; none where the caller has none. */
  authenticate?: (credential: string | undefined, settings: Settings) => Record<string, string>;
  /** Lower-case names of client headers to forward by default. Never headers with credentials. */
  clientHeaders?: readonly string[];
  /** Default headers, for calls that do not set them otherwise. */
  defaultHeaders?: Readonly<Record<string, string>>;
  /** Files, batches and fine-tuning jobs, when they differ from OpenAI's. */
  recordKeeping?: Pick<ProviderDefinition<Settings>, "records" | "store">;
  /** Batches it creates from files. Absent: none. */
  batches?: BatchRules;
  /** How its models are named. Default: a model has exactly one name. */
  models?: ModelNaming<Settings>;
  /** What its models take. */
  facts?: FactTable;
  /** Chats of its clients are sent unchanged. Default: no. */
  isNativeChat?: boolean;
}

/** Text operations. */
export const textOperations: readonly OpenaiOperation[] = ["chat", "complete", "embed", "models"];

type TextAdapter = OperationAdapter<"chat"> & OperationAdapter<"complete">;

function withDefaultModel(rules: RequestRules = {}, model: string | undefined): RequestRules {
  return model === undefined ? rules : { ...rules, defaults: { ...rules.defaults, model } };
}

/**
 * A chat whose responses are returned unchanged, except that strict responses of custom hosts lose their reasoning, and calls of
 * their streams have the right indexes.
 */
const hidesReasoning = ({ strict, hasCustomHost }: ConversionOptions) => strict && hasCustomHost === true;
const reasoningHidden: Pick<TextAdapter, "fromUpstream" | "chunkCorrector"> = {
  fromUpstream: (body, _request, options) => (hidesReasoning(options) ? readWithoutReasoning(body) : undefined),
  chunkCorrector(request, options) {
    if (options.hasCustomHost !== true) return undefined;
    return joinCorrectors(hidesReasoning(options) ? createReasoningRemover() : undefined, correctCalls(request));
  },
};

function hasTools(request: object): boolean {
  const tools: unknown = Reflect.get(request, "tools");
  return Array.isArray(tools) && tools.length > 0;
}

/** A chat or text completion. */
function textOperation(slug: string, kind: "chat" | "complete", rules: OpenaiCompatibleRules): TextAdapter {
  const { pathPrefix = "", answers: declared } = rules;
  const path = pathPrefix + (kind === "chat" ? "/chat/completions" : "/completions");
  const adapter: TextAdapter = {
    path: () => path,
    toUpstream: createRequestMap(slug, withDefaultModel(rules[kind], rules.model), { streams: true }),
  };
  if (declared === "own") return { ...adapter, ...(kind === "chat" && reasoningHidden) };
  const answers = declared ?? {};
  const rarelyChanged = declared === undefined || rules.rarelyChanged;
  const reader = { ...answers, slug, kind, calledMembers: calledMembers(answers) };
  const read = rarelyChanged ? createAnswerCorrector(reader) : createAnswerReader(reader);
  // whether calls will follow is not known while reasoning is streamed: it stays where the request has tools
  const streamed = (request: object) => (hasTools(request) ? reader : { ...reader, calledMembers: plainMessage });
  const corrected: Pick<typeof adapter, "chunkCorrector"> = {
    chunkCorrector: (request, options) =>
      // details have another place than in the host's chunks
      demandsDetails(answers) && hasTools(request) ? undefined : createChunkCorrector(streamed(request), options),
  };
  return {
    ...adapter,
    fromUpstream: (body, _request, options) => read(body, options),
    streamMapper(request, options) {
      const mapper = createChunkMapper(streamed(request), options);
      return demandsDetails(answers) ? withDetails(mapper, options) : mapper;
    },
    ...(rarelyChanged && corrected),
  };
}

function embedOperation(slug: string, rules: OpenaiCompatibleRules): OperationAdapter<"embed"> {
  const { pathPrefix = "", embed, embedModel, embedsStringsOnly, embedsAtMost } = rules;
  const isMapped = embed !== undefined || embedModel !== undefined;
  const map =
    isMapped && createRequestMap(slug, withDefaultModel(embed, embedModel), { streams: false, kind: "embed" });
  const adapter: OperationAdapter<"embed"> = {
    path: () => `${pathPrefix}/embeddings`,
    fromUpstream: encodeWhereAsked,
    ...(embedsAtMost !== undefined && inBatches(embedsAtMost)),
  };
  if (!map && !embedsStringsOnly) return adapter;
  return {
    ...adapter,
    toUpstream(request, options) {
      if (embedsStringsOnly) requireStringsOrObjects(slug, request);
      return map ? map(request, options) : request;
    },
  };
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
    // requests and responses have the gateway's shape: bytes are forwarded
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
    ...(options.aliases && { aliases: options.aliases }),
    ...(options.keyless !== undefined && { keyless: options.keyless }),
    ...(options.free !== undefined && { free: options.free }),
    ...(options.choosesItself !== undefined && { choosesItself: options.choosesItself }),
    ...(options.charges && { charges: options.charges }),
    ...(options.searches && { searches: options.searches }),
    baseUrl: options.baseUrl,
    settings: options.settings,
    ...(options.pathPrefix !== undefined && { pathPrefix: options.pathPrefix }),
    ...(options.nativeGroups && { nativeGroups: options.nativeGroups }),
    authenticate: options.authenticate ?? bearer,
    ...(options.clientHeaders && { clientHeaders: options.clientHeaders }),
    ...(options.defaultHeaders && { defaultHeaders: options.defaultHeaders }),
    ...(options.hasLogprobs && { hasLogprobs: true }),
    operations: createOperations(options.slug, options),
    ...options.recordKeeping,
    ...(options.batches && { batches: options.batches }),
    ...(options.models && { models: options.models }),
    ...(options.facts && { facts: options.facts }),
    ...(options.isNativeChat && { isNativeChat: true }),
  });
}
