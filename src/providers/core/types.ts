import { InvalidRequestError } from "../../errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ExactNumbers } from "../../lib/exact-numbers.ts";
import type { Outbound } from "../../lib/outbound.ts";
import type { IntegrationForm } from "../../schemas/integration-members.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import type { PromptCacheSettings } from "../../schemas/routing.ts";
import type { ChargeRules } from "./charges.ts";
import type { FactReader, FactTable } from "./model-facts.ts";
import type { BinaryAnswer, OperationName, Operations } from "./operations.ts";
import type { BatchRules, RecordAdapters } from "./records.ts";
import type { ProviderSetting, Requirements, SettingsDefinition, VirtualKeyField } from "./settings.ts";
import type { TokenSource } from "./token-cache.ts";

/** Parameters of a conversion besides the request. */
export interface ConversionOptions {
  /** Responses contain only OpenAI's fields; otherwise also the provider's own, such as content blocks. */
  strict: boolean;
  /** The call goes to a custom host of a caller or integration, whose responses are unpredictable. Default: no. */
  hasCustomHost?: boolean;
  /** Records a field the provider does not support and that was dropped, for the caller and the log row. */
  drop(member: string): void;
  /** A header the client sent, by its lower-case name, if its value may be forwarded. */
  clientHeader?(name: string): string | undefined;
  /** A header of the upstream's response, by its lower-case name. */
  answerHeader?(name: string): string | undefined;
  /** Placeholder in the request for numbers JavaScript cannot represent. */
  numbers?: ExactNumbers;
  /** Id of the response when the upstream returns none. */
  answerId?: string;
  /** Creation time of the response in Unix seconds, when the upstream returns none. */
  created?: number;
  /** The request came in another dialect: what it says may be written in another form. Default: no. */
  isConverted?: boolean;
  /** Marks the prefix of the prompt for the provider's cache where the request marks nothing. Default: no. */
  promptCache?: PromptCacheSettings;
  /** What the operator says of the model, in place of the provider's table. */
  modelFacts?: ModelFacts;
}

/** One event of an upstream's stream, without its framing. */
export interface UpstreamEvent {
  /** Name of the event; empty when it has none. */
  event: string;
  /** Its data: JSON text in nearly all cases. */
  data: string;
}

/** Maps the events of one response to chunks in the gateway's shape. Its state is in its closure. */
export interface StreamMapper {
  /** Chunks for one event, in order: none, one or more. May throw the `UpstreamError` that a failure event reports. */
  map(event: UpstreamEvent): readonly object[];
  /** Chunks to add when the upstream writes `[DONE]`, for streams without another end marker. */
  done?(): readonly object[];
  /** Whether the response is complete: if the upstream closes earlier, it failed. */
  isComplete(): boolean;
  /** Usage in the gateway's shape, once it is known. */
  usage(): unknown;
}

/** Corrects the few chunks of a stream that differ from the gateway's shape. Its state is in its closure. */
export interface ChunkCorrector {
  /**
   * Only chunks it is concerned with are corrected, and usage stays in place. Default: last chunks are corrected too.
   */
  readonly isLocal?: boolean;
  /** Whether an event in these bytes may need correction; other events are forwarded as bytes. */
  concerns(block: Uint8Array): boolean;
  /**
   * The corrected chunk: the same object when it needs no change, undefined when nothing is left of it.
   *
   * @throws {UpstreamError} The failure the chunk reports.
   */
  correct(chunk: Record<string, unknown>): Record<string, unknown> | undefined;
}

/** How an upstream frames stream events: server-sent events, AWS' binary messages, or JSON, one value per line. */
export type StreamFraming = "sse" | "aws" | "lines";

/** The failed response of an upstream. */
export interface CallFailure {
  status: number;
  message: string;
}

/** How one provider does one operation. Conversions are pure: no network, clock, random source or environment. */
export interface OperationAdapter<Name extends OperationName> {
  /** Default POST. */
  method?: "GET" | "POST";
  /** Whether the provider supports the operation for this request, for example for its model. Default: always. */
  serves?(request: Operations[Name]["request"]): boolean;
  /** Path below the provider's base URL. */
  path(request: Operations[Name]["request"]): string;
  /**
   * The upstream's request; must leave its argument unchanged. Absent: the upstream speaks the gateway's dialect. A
   * `FormRequest` or a request with files is sent as a form, any other request as JSON.
   */
  toUpstream?(request: Operations[Name]["request"], options: ConversionOptions): unknown;
  /** The gateway's response from the upstream's. Absent, or without a result: the bytes are returned unchanged. */
  fromUpstream?(
    body: unknown,
    request: Operations[Name]["request"],
    options: ConversionOptions,
  ): Operations[Name]["response"] | undefined;
  /**
   * The gateway's response from one that is not JSON. Absent: the response streams to the client where operations allow
   * it.
   */
  fromBytes?(
    answer: BinaryAnswer,
    request: Operations[Name]["request"],
    options: ConversionOptions,
  ): Operations[Name]["response"];
  /** Whether the upstream accepts forms unchanged, so that large ones need not be buffered. Default: no. */
  takesForms?: boolean;
  /** Whether the upstream returns a list instead of an object. Default: no. */
  answersLists?: boolean;
  /** Whether `fromUpstream` handles a field named `error`; otherwise it counts as a failure. Default: no. */
  readsErrors?: boolean;
  /** Maps the upstream's streams. Absent, or without a result: they already have the gateway's shape. */
  streamMapper?(request: Operations[Name]["request"], options: ConversionOptions): StreamMapper | undefined;
  /**
   * Replaces `streamMapper` for streams to a client of the same dialect: most bytes are forwarded. With neither, all of
   * them are.
   */
  chunkCorrector?(request: Operations[Name]["request"], options: ConversionOptions): ChunkCorrector | undefined;
  /**
   * Splits a request that exceeds the limits of one call, in order; undefined when one call is enough. The parts are
   * not split again. Requires `join`.
   */
  split?(request: Operations[Name]["request"]): readonly Operations[Name]["request"][] | undefined;
  /** Joins the responses of the parts, in their order. */
  join?(
    answers: readonly Operations[Name]["response"][],
    request: Operations[Name]["request"],
  ): Operations[Name]["response"];
  /** Default `sse`. */
  framing?: StreamFraming;
  /** A modified request to send once after a 4xx response; undefined when there is nothing to modify. */
  repair?(
    request: Operations[Name]["request"],
    failure: CallFailure,
    options: ConversionOptions,
  ): Operations[Name]["request"] | undefined;
  /** Further headers of the upstream's request; `given` are the existing ones, with lower-case names. */
  headers?(request: Operations[Name]["request"], given: Readonly<Record<string, string>>): Record<string, string>;
}

/** Operations a provider supports; all others are rejected. */
export type OperationAdapters = { readonly [Name in OperationName]?: OperationAdapter<Name> };

/** Routes without an adapter, which are forwarded unchanged to the providers that have them. */
export type NativeGroup =
  | "assistants"
  | "vector_stores"
  | "videos"
  | "videos_v2"
  | "image_variations"
  | "realtime_secrets"
  | "legacy_complete";

/** A request to a provider that responds inside the process. */
export interface LocalRequest {
  method: string;
  /** Path below the base URL. */
  path: string;
  /** JSON text; empty for requests without a body. */
  body: string;
  signal: AbortSignal;
  /** Unix milliseconds. */
  now: number;
}

/** What the base URL of a call may depend on besides settings. */
export interface AddressFacts {
  /** Path below the base URL. */
  path: string;
  environment: AuthTools["environment"];
}

/** A passthrough request on another route; its path is forwarded unchanged. */
export interface PassedPath {
  /** The path after `/v1`, or after `/v1/proxy`. */
  path: string;
  /** With its question mark; empty for requests without a query. */
  query: string;
  /** Sent to `/proxy`: the caller chooses the whole path below the base URL. */
  isProxied: boolean;
  /** The model in its body. */
  model?: string | undefined;
}

/** How a provider names its models. */
export interface ModelNaming<Settings> {
  /** One name for all spellings of a model. Default: the name unchanged. */
  canonical?(model: string, settings: Settings): string;
  /** The model whose facts count, where requests name a deployment or a profile instead. Default: the name unchanged. */
  behind?(model: string, settings: Settings): string;
  /** The base model of a variant: denying it denies the variant too. Default: none. */
  variantOf?(canonical: string): string | undefined;
  /** The model a decoded path names; null when it names none. Default, and for undefined: `modelInPath`. */
  inPath?(path: string): string | null | undefined;
  /** Names the settings call, whatever model a request names. */
  own?(settings: Settings): readonly (string | undefined)[];
  /** When a path names a model, the one in the body has no effect. Default: no. */
  isPathOnly?: boolean;
}

/** As `ModelNaming`, with the settings of one request. */
export interface BoundNaming {
  canonical(model: string): string;
  variantOf(canonical: string): string | undefined;
  inPath(path: string): string | undefined;
  readonly own: readonly string[];
  readonly isPathOnly: boolean;
}

/** The target of a passthrough path. */
export interface PassedTarget {
  /** Path below the base URL, with its query. */
  path: string;
  /** Base URL that the path itself contains; it is treated like a custom host. */
  baseUrl?: string;
}

/** Declaration of a provider. */
export interface ProviderDefinition<Settings> {
  /** Name in `x-gateway-provider`. */
  slug: string;
  /** Further names that integrations may give it. */
  aliases?: readonly string[];
  /** It serves without a credential. Default: only where it answers inside the process. */
  keyless?: boolean;
  /** Its calls cost nothing. Default: no. */
  free?: boolean;
  /** It chooses among the models and providers that requests list itself: these fields are forwarded. Default: no. */
  choosesItself?: boolean;
  settings: SettingsDefinition<Settings>;
  /** Base URL without a trailing slash; not used with a custom host. May throw if the settings are incomplete. */
  baseUrl: string | ((settings: Settings, facts: AddressFacts) => string);
  /**
   * Whether the settings contain the host of the base URL, not only a label of it: it is checked like a custom host.
   */
  isBaseInfluenced?: boolean;
  /** Forwards callers' requests unchanged on every route, including their own authorization. Default: no. */
  isRaw?: boolean;
  /** Native routes it supports. Default: none. */
  nativeGroups?: readonly NativeGroup[];
  /** Prefix of passthrough paths, such as `/v1`, when the base URL does not contain it. */
  pathPrefix?: string;
  /** Target of passthrough paths, when it is not the same path after `pathPrefix`. */
  passPath?(asked: PassedPath, settings: Settings): PassedTarget;
  /** How its models are named. Default: a model has exactly one name. */
  models?: ModelNaming<Settings>;
  /** Headers that carry the credential, and those that follow from settings. */
  authenticate(credential: string | undefined, settings: Settings): Record<string, string>;
  /**
   * Headers that follow from those of the call, as its version; they take precedence.
   *
   * @param headers With lower-case names, the credential's included.
   */
  callHeaders?(
    headers: Readonly<Record<string, string>>,
    settings: Settings,
    credential: string | undefined,
  ): Record<string, string>;
  /** As `authenticate`, for providers that sign requests or fetch tokens; runs after it and takes precedence. */
  authorize?(request: SignableRequest, settings: Settings, tools: AuthTools): Promise<Record<string, string>>;
  /** The operations, or a function that creates them from the settings. */
  operations: OperationAdapters | ((settings: Settings) => OperationAdapters);
  /** What its models take. Default: what OpenAI's chat completions take. */
  facts?: FactTable;
  /** What they take instead with certain settings, as another address; undefined: `facts`. */
  factsWith?(settings: Settings): FactTable | undefined;
  /** It speaks the chat completions dialect itself: chats of its clients are sent unchanged. Default: no. */
  isNativeChat?: boolean;
  /** Where the usage of a response says what the response cost. Default: nowhere. */
  charges?: ChargeRules;
  /** Whether it searches the web itself where a request of an operation asks its model to. Default: no. */
  searches?(operation: OperationName, model: string): boolean;
  /** Chats support log probabilities in OpenAI's form. Default: no. */
  hasLogprobs?: boolean;
  /** Lower-case names of client headers to forward by default. Never headers with credentials. */
  clientHeaders?: readonly string[];
  /** Default headers, with lower-case names. */
  defaultHeaders?: Readonly<Record<string, string>>;
  /** Operations it supports only with certain settings, for documentation. */
  settingOperations?: readonly OperationName[];
  /** Responds without the network, for providers that have none. */
  local?(request: LocalRequest, settings: Settings): Promise<Response>;
  /** Files, batches and fine-tuning jobs, when its routes differ from OpenAI's. */
  records?(settings: Settings): RecordAdapters;
  /** Batches it creates from files. Absent: none. */
  batches?: BatchRules;
  /** The object store of its files, when it is a separate service. */
  store?: Pick<ProviderDefinition<Settings>, "baseUrl" | "authenticate" | "authorize">;
}

/** A request that is about to be sent, with its credential. */
export interface SignableRequest {
  method: string;
  url: string;
  /** With lower-case names. */
  headers: Readonly<Record<string, string>>;
  /** Undefined when it is streamed or absent. */
  body: string | Uint8Array | undefined;
  /** The body is a stream. */
  isStreamed?: boolean;
  credential: string | undefined;
}

/** Dependencies of authentication. */
export interface AuthTools {
  /** Sends requests; URLs that callers or tenants can influence are checked. */
  outbound: Outbound;
  clock: Clock;
  /** Cached tokens, shared by parallel requests. Keys begin with the tenant. */
  tokens: TokenSource;
  /** The caller's organisation and workspace: part of every key of `tokens`. */
  tenant: readonly string[];
  /** The caller's metadata of the request; clouds may record it with the costs. */
  metadata?: Readonly<Record<string, string>>;
  /** Ids of organisations that may use the operator's cloud identity. Default: none. */
  identityOrganisations?: ReadonlySet<string>;
  /** The operator's own cloud identity, from the environment. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Marks the credentials of a call as secret, so that nothing repeats them. */
  secrets?: string[];
  /**
   * Looks at a call whose address and headers are complete.
   *
   * @returns A promise only where the call has to wait.
   * @throws {GatewayError} If it must not leave.
   */
  beforeLeaving?(call: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
  }): Promise<void> | undefined;
  /** Reads a small file named by the environment, such as a federated token. */
  readFile?(path: string): Promise<string>;
}

/** A provider with the settings of one request. */
export interface BoundProvider {
  readonly slug: string;
  /**
   * Base URL without knowledge of the call.
   *
   * @throws {InvalidRequestError} If settings it needs are missing.
   */
  readonly baseUrl: string;
  /** Base URL of one call; throws like `baseUrl`. */
  baseUrlOf(facts: AddressFacts): string;
  /** Whether a caller or tenant set the base URL. */
  readonly isBaseInfluenced: boolean;
  /** Whether requests are forwarded unchanged, with their authorization. */
  readonly isRaw: boolean;
  readonly pathPrefix: string;
  /** Target of a passthrough path; throws like `baseUrl`. */
  passPath(asked: PassedPath): PassedTarget;
  readonly models: BoundNaming;
  /** Native routes it supports. */
  readonly nativeGroups: readonly NativeGroup[];
  readonly operations: OperationAdapters;
  /** What a model takes. */
  readonly factsOf: FactReader;
  /** The provider does not fetch the images of some models by their addresses. */
  readonly inlinesImages: boolean;
  /** Where the usage of a response says what the response cost. */
  readonly charges: ChargeRules | undefined;
  /** Whether it searches the web itself where a request of an operation asks its model to. */
  searches(operation: OperationName, model: string): boolean;
  /** Whether chats support log probabilities. */
  readonly hasLogprobs: boolean;
  /** Names of client headers to forward by default. */
  readonly clientHeaders: readonly string[];
  /** Default headers. */
  readonly defaultHeaders: Readonly<Record<string, string>> | undefined;
  authenticate(credential: string | undefined): Record<string, string>;
  readonly callHeaders:
    | ((headers: Readonly<Record<string, string>>, credential: string | undefined) => Record<string, string>)
    | undefined;
  readonly authorize: ((request: SignableRequest, tools: AuthTools) => Promise<Record<string, string>>) | undefined;
  readonly local: ((request: LocalRequest) => Promise<Response>) | undefined;
  readonly records: RecordAdapters | undefined;
  readonly batches: BatchRules | undefined;
  readonly store: BoundProvider | undefined;
}

/** A provider as the registry stores it. */
export interface Provider {
  readonly slug: string;
  /** Further names that integrations may give it. */
  readonly aliases: readonly string[];
  /** Whether it serves without a credential. */
  readonly isKeyless: boolean;
  /** Whether its calls cost nothing. */
  readonly isFree: boolean;
  /** Whether it chooses itself among the models and providers that requests list. */
  readonly choosesItself: boolean;
  /** Where the usage of a response says what the response cost. */
  readonly charges: ChargeRules | undefined;
  /** What its models take, for documentation. */
  readonly facts: FactTable | undefined;
  /**
   * What is known of a model by its name alone. Unlike `factsOf`, it assumes nothing of names that are not in the table.
   *
   * @param isAtOwnHost The provider's own host has the model: there are assumptions then. Default: no.
   */
  describe(model: string, isAtOwnHost?: boolean): ModelFacts;
  /** Whether callers may give settings beside a stored credential. */
  readonly hasOpenSettings: boolean;
  /** Whether it responds inside the process. */
  readonly isLocal: boolean;
  /** Whether requests are forwarded unchanged on every route. */
  readonly isRaw: boolean;
  /** Names of its operations, for documentation. */
  readonly operationNames: readonly string[];
  /** Batches it creates from files. */
  readonly batches: BatchRules | undefined;
  /** Headers of its settings, without the gateway's prefix. */
  readonly settingHeaders: readonly string[];
  /** Its settings as fields of configs and integrations. */
  readonly settings: readonly ProviderSetting[];
  /** Members that configs and integrations may hold and that nothing reads. */
  readonly unreadSettings: readonly ProviderSetting[];
  /** What calls need besides settings that have a default. */
  readonly requirements: Requirements;
  /** What its integrations take. */
  readonly integrationForm: IntegrationForm;
  /** Fields of virtual keys that give settings, by the name of the setting. */
  readonly virtualKeyFields: Readonly<Record<string, VirtualKeyField>>;
  /** Those of them that a caller with its own credential may send without the prefix. */
  readonly plainHeaders: readonly string[];
  /** Routing config fields of its settings, by header. */
  readonly settingMembers: ReadonlyMap<string, readonly string[]>;
  /**
   * Applies a caller's settings; `read` returns a gateway header by its name without the prefix.
   *
   * @throws {InvalidRequestError} If a setting is invalid.
   */
  bind(read: (name: string) => string | null): BoundProvider;
}

/** The adapter of an operation; undefined when the provider does not support it for this request. */
export function findOperation<Name extends OperationName>(
  provider: BoundProvider,
  name: Name,
  request: Operations[Name]["request"],
): OperationAdapter<Name> | undefined {
  const adapter: OperationAdapters[Name] = provider.operations[name];
  return adapter?.serves?.(request) === false ? undefined : adapter;
}

/**
 * As `findOperation`.
 *
 * @throws {InvalidRequestError} If the provider does not support the operation.
 */
export function requireOperation<Name extends OperationName>(
  provider: BoundProvider,
  name: Name,
): OperationAdapter<Name> {
  const adapter: OperationAdapters[Name] = provider.operations[name];
  if (adapter) return adapter;
  throw new InvalidRequestError(`Cannot call ${name} on ${provider.slug}: this provider does not have it`, {
    code: "unsupported_endpoint",
  });
}
