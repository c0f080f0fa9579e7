import { InvalidRequestError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { ExactNumbers } from "../lib/exact-numbers.ts";
import type { Outbound } from "../lib/outbound.ts";
import type { TokenCache } from "./auth/token-cache.ts";
import type { BinaryAnswer, OperationName, Operations } from "./operations.ts";
import type { BatchRules, RecordAdapters } from "./records.ts";
import type { ProviderSetting, SettingsDefinition } from "./settings.ts";

/** What a conversion may know besides the request. */
export interface ConversionOptions {
  /** Answers hold only what OpenAI's have; otherwise also what the provider adds, such as content blocks. */
  strict: boolean;
  /** The call goes to a host the caller or an integration names: who answers there is not known. Default: no. */
  hasCustomHost?: boolean;
  /** Notes a member the provider cannot take and that was left out; it is told to the caller and kept with the log row. */
  drop(member: string): void;
  /** A header the client sent, by its name in lower case, where its value may go upstream. */
  clientHeader?(name: string): string | undefined;
  /** A header of the upstream's answer, by its name in lower case. */
  answerHeader?(name: string): string | undefined;
  /** What stands in the request for numbers JavaScript cannot hold. */
  numbers?: ExactNumbers;
  /** Names the answer where the upstream does not. */
  answerId?: string;
  /** Time of the answer in seconds of Unix time, where the upstream tells none. */
  created?: number;
}

/** An upstream event of a stream, its framing undone. */
export interface UpstreamEvent {
  /** Name of the event; empty when it has none. */
  event: string;
  /** Its data: JSON text in nearly all cases. */
  data: string;
}

/** Turns the events of one answer into chunks in the gateway's shape. Its state is in its closure. */
export interface StreamMapper {
  /** Chunks one event makes, in order: none, one or more. May throw what `UpstreamError` a failure event tells of. */
  map(event: UpstreamEvent): readonly object[];
  /** Chunks to make when the upstream writes `[DONE]`, for those that say in no other way that they ended. */
  done?(): readonly object[];
  /** Whether the answer is whole: an upstream that closes before that failed. */
  isComplete(): boolean;
  /** Usage in the gateway's shape, once it is known. */
  usage(): unknown;
}

/** Corrects the few chunks of a stream in the gateway's shape that are not as they should be. Its state is in its closure. */
export interface ChunkCorrector {
  /** No chunk is corrected but those it is concerned with, and usage stays where it came. Default: the last ones are too. */
  readonly isLocal?: boolean;
  /** Whether an event among these bytes may be such a chunk; the others go on as bytes. */
  concerns(block: Uint8Array): boolean;
  /**
   * The chunk as it should be: itself where it is right, undefined where nothing of it goes on.
   *
   * @throws {UpstreamError} The failure it tells of.
   */
  correct(chunk: Record<string, unknown>): Record<string, unknown> | undefined;
}

/** How an upstream frames the events of a stream: server-sent events, AWS' binary messages, or JSON texts, one a line. */
export type StreamFraming = "sse" | "aws" | "lines";

/** What an upstream refused a call with. */
export interface CallFailure {
  status: number;
  message: string;
}

/** How one provider does one operation. Conversions are pure: no network, clock, random source or environment. */
export interface OperationAdapter<Name extends OperationName> {
  /** Default POST. */
  method?: "GET" | "POST";
  /** Whether the provider has the operation for what a request names, such as its model. Default: always. */
  serves?(request: Operations[Name]["request"]): boolean;
  /** Path below the provider's base address. */
  path(request: Operations[Name]["request"]): string;
  /**
   * The upstream's request; must leave its argument unchanged. Absent: the upstream speaks the gateway's dialect. It travels
   * as a form where it is a `FormRequest` or holds files, else as JSON.
   */
  toUpstream?(request: Operations[Name]["request"], options: ConversionOptions): unknown;
  /** The gateway's answer from the upstream's. Absent, or without a result: the bytes go back as they came. */
  fromUpstream?(
    body: unknown,
    request: Operations[Name]["request"],
    options: ConversionOptions,
  ): Operations[Name]["response"] | undefined;
  /** The gateway's answer from one that is no JSON. Absent: such an answer flows to the client where the operation has them. */
  fromBytes?(
    answer: BinaryAnswer,
    request: Operations[Name]["request"],
    options: ConversionOptions,
  ): Operations[Name]["response"];
  /** Whether the upstream takes forms as they come, whatever is in them: large ones need not be held. Default: no. */
  takesForms?: boolean;
  /** Whether the upstream answers with a list, not an object. Default: no. */
  answersLists?: boolean;
  /** Whether `fromUpstream` judges a member named `error`: others take it as a failure of the whole. Default: no. */
  readsErrors?: boolean;
  /** Maps the upstream's streams. Absent, or without a result: they are in the gateway's shape already. */
  streamMapper?(request: Operations[Name]["request"], options: ConversionOptions): StreamMapper | undefined;
  /**
   * Takes the place of `streamMapper` where a stream goes to a client of the same dialect: most of its bytes go through.
   * With neither all of them do.
   */
  chunkCorrector?(request: Operations[Name]["request"], options: ConversionOptions): ChunkCorrector | undefined;
  /**
   * The requests that are sent instead of one that holds more than a call takes, in order; undefined where one call does. They
   * are not split again. Only beside `join`.
   */
  split?(request: Operations[Name]["request"]): readonly Operations[Name]["request"][] | undefined;
  /** The answer to a request from those to its parts, in their order. */
  join?(
    answers: readonly Operations[Name]["response"][],
    request: Operations[Name]["request"],
  ): Operations[Name]["response"];
  /** Default `sse`. */
  framing?: StreamFraming;
  /** Another request to be sent once in place of one that was refused with a 4xx; undefined where there is none. */
  repair?(
    request: Operations[Name]["request"],
    failure: CallFailure,
    options: ConversionOptions,
  ): Operations[Name]["request"] | undefined;
  /** Further headers of the upstream's request; `given` are those it has already, by their names in lower case. */
  headers?(request: Operations[Name]["request"], given: Readonly<Record<string, string>>): Record<string, string>;
}

/** Operations a provider has; the rest is refused. */
export type OperationAdapters = { readonly [Name in OperationName]?: OperationAdapter<Name> };

/** Routes without an adapter that are passed on to the providers that have them. */
export type RelayGroup =
  | "assistants"
  | "vector_stores"
  | "videos"
  | "videos_v2"
  | "image_variations"
  | "realtime_secrets"
  | "legacy_complete";

/** A request to a provider that answers inside the process. */
export interface LocalRequest {
  method: string;
  /** Path below the base address. */
  path: string;
  /** JSON text; empty when there is none. */
  body: string;
  signal: AbortSignal;
}

/** What the base address of a call may depend on besides settings. */
export interface AddressFacts {
  /** Path below the base address. */
  path: string;
  environment: AuthTools["environment"];
}

/** A request on another route, whose path goes on as it was written. */
export interface PassedPath {
  /** What follows `/v1`, or `/v1/proxy`. */
  path: string;
  /** With its question mark; empty when there is none. */
  query: string;
  /** Written behind `/proxy`: the whole path below the base address is the caller's. */
  isProxied: boolean;
  /** The model its body names. */
  model?: string | undefined;
}

/** How a provider names its models. */
export interface ModelNaming<Settings> {
  /** One name for all spellings of a model. Default: the name as it is. */
  canonical?(model: string, settings: Settings): string;
  /** What a model is a variant of: who refuses that refuses the variant too. Default: nothing. */
  variantOf?(canonical: string): string | undefined;
  /** The model a decoded path names; null: it names none, however it looks. Default, and for undefined: `modelInPath`. */
  inPath?(path: string): string | null | undefined;
  /** Names the settings give what is called, whatever model a request names. */
  own?(settings: Settings): readonly (string | undefined)[];
  /** Where a path names a model, one in the body beside it chooses nothing. Default: no. */
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

/** Where a path that is passed on leads. */
export interface PassedTarget {
  /** Path below the base address, with its query. */
  path: string;
  /** Base address the path itself names: as if the caller had named it as custom host. */
  baseUrl?: string;
}

/** What is declared of a provider. */
export interface ProviderDefinition<Settings> {
  /** Name in `x-gateway-provider`. */
  slug: string;
  settings: SettingsDefinition<Settings>;
  /** Base address, without a slash at its end; not asked for when the caller names a host. May throw where there is none. */
  baseUrl: string | ((settings: Settings, facts: AddressFacts) => string);
  /** Whether the settings give the host of the base address, and not only a label of it: it is checked like a custom host. */
  isBaseInfluenced?: boolean;
  /** Callers' requests go on as they came on every route, their own authorization with them. Default: no. */
  isRaw?: boolean;
  /** Routes that are passed on as they are and that it has. Default: none. */
  relays?: readonly RelayGroup[];
  /** In front of paths that are passed on as they are, such as `/v1`, where the base address does not hold it. */
  pathPrefix?: string;
  /** Where paths that are passed on lead, if not to the same path behind `pathPrefix`. */
  passPath?(asked: PassedPath, settings: Settings): PassedTarget;
  /** How its models are named, if not by one plain name each. */
  models?: ModelNaming<Settings>;
  /** Headers that carry the credential, and those that follow from settings. */
  authenticate(credential: string | undefined, settings: Settings): Record<string, string>;
  /** As `authenticate`, for providers that sign requests or fetch tokens; it comes after it and wins. */
  authorize?(request: SignableRequest, settings: Settings, tools: AuthTools): Promise<Record<string, string>>;
  /** The operations, or what makes them of the settings. */
  operations: OperationAdapters | ((settings: Settings) => OperationAdapters);
  /** Chats tell how probable their tokens were, in OpenAI's form. Default: no. */
  hasLogprobs?: boolean;
  /** Names in lower case of headers clients of this provider send: they go along unasked. Never ones with credentials. */
  clientHeaders?: readonly string[];
  /** Headers of calls that have them from nowhere else, their names in lower case. */
  defaultHeaders?: Readonly<Record<string, string>>;
  /** Operations it has only where settings ask for them, for documentation. */
  settingOperations?: readonly OperationName[];
  /** Answers instead of the network, for providers without one. */
  local?(request: LocalRequest, settings: Settings): Promise<Response>;
  /** Files, batches and tuning jobs, where its routes for them are not OpenAI's. */
  records?(settings: Settings): RecordAdapters;
  /** Batches it makes of files. Absent: it has none. */
  batches?: BatchRules;
  /** The service that keeps its files, where they are objects of another one. */
  store?: Pick<ProviderDefinition<Settings>, "baseUrl" | "authenticate" | "authorize">;
}

/** A request that is about to be sent, with its credential. */
export interface SignableRequest {
  method: string;
  url: string;
  /** By their names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Undefined where it is streamed or absent. */
  body: string | Uint8Array | undefined;
  /** The body comes as a stream. */
  isStreamed?: boolean;
  credential: string | undefined;
}

/** What authentication may use of the world. */
export interface AuthTools {
  /** Sends requests; addresses that data can influence are checked. */
  outbound: Outbound;
  clock: Clock;
  /** Tokens that were fetched, shared by parallel requests. Keys begin with the tenant. */
  tokens: TokenCache;
  /** The caller's organisation and workspace: part of every key of `tokens`. */
  tenant: readonly string[];
  /** What the caller says of the request: clouds may note it with what is spent. */
  metadata?: Readonly<Record<string, string>>;
  /** Ids of organisations that may act as the operator in clouds. Default: none. */
  identityOrganisations?: ReadonlySet<string>;
  /** The operator's own identity in clouds, from the environment. */
  environment: Readonly<Record<string, string | undefined>>;
  /** Takes what a call is authenticated by, so that nothing repeats it. */
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
  /** Reads a small file the environment names, such as a federated token. */
  readFile?(path: string): Promise<string>;
}

/** A provider with the settings of one request. */
export interface BoundProvider {
  readonly slug: string;
  /**
   * Base address where nothing is known of the call.
   *
   * @throws {InvalidRequestError} If settings it needs are missing.
   */
  readonly baseUrl: string;
  /** Base address of one call; throws like `baseUrl`. */
  baseUrlOf(facts: AddressFacts): string;
  /** Whether a caller or tenant named the base address. */
  readonly isBaseInfluenced: boolean;
  /** Whether requests go on as they came, their authorization with them. */
  readonly isRaw: boolean;
  readonly pathPrefix: string;
  /** Where a path that is passed on leads; throws what `baseUrl` throws. */
  passPath(asked: PassedPath): PassedTarget;
  readonly models: BoundNaming;
  /** Routes it has that are passed on as they are. */
  readonly relays: readonly RelayGroup[];
  readonly operations: OperationAdapters;
  /** Whether chats tell how probable their tokens were. */
  readonly hasLogprobs: boolean;
  /** Names of client headers that go along unasked. */
  readonly clientHeaders: readonly string[];
  /** Headers of calls that have them from nowhere else. */
  readonly defaultHeaders: Readonly<Record<string, string>> | undefined;
  authenticate(credential: string | undefined): Record<string, string>;
  readonly authorize: ((request: SignableRequest, tools: AuthTools) => Promise<Record<string, string>>) | undefined;
  readonly local: ((request: LocalRequest) => Promise<Response>) | undefined;
  readonly records: RecordAdapters | undefined;
  readonly batches: BatchRules | undefined;
  readonly store: BoundProvider | undefined;
}

/** A provider as the registry holds it. */
export interface Provider {
  readonly slug: string;
  /** Whether callers may give settings beside a stored credential. */
  readonly hasOpenSettings: boolean;
  /** Whether it answers inside the process. */
  readonly isLocal: boolean;
  /** Whether requests go on as they came on every route. */
  readonly isRaw: boolean;
  /** Names of its operations, for documentation. */
  readonly operationNames: readonly string[];
  /** Batches it makes of files. */
  readonly batches: BatchRules | undefined;
  /** Headers that give its settings, without the gateway's prefix. */
  readonly settingHeaders: readonly string[];
  /** Its settings as members of configs and integrations. */
  readonly settings: readonly ProviderSetting[];
  /** Those of them a caller with a credential of its own may give without the prefix. */
  readonly plainHeaders: readonly string[];
  /** Members of a routing config that give its settings, by their headers. */
  readonly settingMembers: ReadonlyMap<string, readonly string[]>;
  /**
   * Applies a caller's settings; `read` gives the value of a gateway header by its name without prefix.
   *
   * @throws {InvalidRequestError} If a setting is not what the provider takes.
   */
  bind(read: (name: string) => string | null): BoundProvider;
}

/** The adapter of an operation; undefined where the provider does not have it for this request. */
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
 * @throws {InvalidRequestError} If the provider does not have the operation.
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
