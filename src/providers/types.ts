import { InvalidRequestError } from "../errors.ts";
import type { Clock } from "../lib/clock.ts";
import type { Outbound } from "../lib/outbound.ts";
import type {
  SpeechRequest,
  TranscriptionRequest,
  TranscriptionResponse,
  TranslationRequest,
} from "../schemas/audio.ts";
import type { ChatRequest, ChatResponse, CompletionRequest } from "../schemas/chat.ts";
import type { EmbeddingRequest, EmbeddingResponse } from "../schemas/embeddings.ts";
import type { ImageEditRequest, ImageRequest, ImageResponse } from "../schemas/images.ts";
import type {
  CountTokensRequest,
  CountTokensResponse,
  MessagesRequest,
  MessagesResponse,
} from "../schemas/messages.ts";
import type { ModelList } from "../schemas/models.ts";
import { authorizeByOauth, readOauthSettings } from "./auth/oauth-client.ts";
import type { TokenCache } from "./auth/token-cache.ts";
import { createSettingsReader, parseSettings, type SettingsDefinition, settingHeaders } from "./settings.ts";

/** An answer that is no JSON, such as sound. */
export class BinaryAnswer {
  readonly bytes: Uint8Array;
  /** Its content type. */
  readonly type: string;

  constructor(bytes: Uint8Array, type: string) {
    this.bytes = bytes;
    this.type = type;
  }
}

/** A request for an upstream that takes it as a form. */
export class FormRequest {
  readonly members: object;

  constructor(members: object) {
    this.members = members;
  }
}

/** Unified operations: what a client sends and gets, whichever provider serves it. */
export interface Operations {
  chat: { request: ChatRequest; response: ChatResponse };
  complete: { request: CompletionRequest; response: ChatResponse };
  embed: { request: EmbeddingRequest; response: EmbeddingResponse };
  models: { request: Record<string, never>; response: ModelList };
  messages: { request: MessagesRequest; response: MessagesResponse };
  countTokens: { request: CountTokensRequest; response: CountTokensResponse };
  /** Counts the tokens of a chat: what answers `countTokens` where a provider counts in another shape. */
  countChat: { request: ChatRequest; response: CountTokensResponse };
  generateImage: { request: ImageRequest; response: ImageResponse };
  /** Requests that came as forms hold `FormFile`s. */
  editImage: { request: ImageEditRequest; response: ImageResponse };
  speak: { request: SpeechRequest; response: BinaryAnswer };
  transcribe: { request: TranscriptionRequest; response: TranscriptionResponse };
  translate: { request: TranslationRequest; response: TranscriptionResponse };
}
export type OperationName = keyof Operations;

/** What a conversion may know besides the request. */
export interface ConversionOptions {
  /** Answers hold only what OpenAI's have; otherwise also what the provider adds, such as content blocks. */
  strict: boolean;
  /** Notes a member the provider cannot take and that was left out; it is told to the caller and kept with the log row. */
  drop(member: string): void;
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

/** How an upstream frames the events of a stream: server-sent events, or AWS' binary messages. */
export type StreamFraming = "sse" | "aws";

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
  /** Default `sse`. */
  framing?: StreamFraming;
  /** Further headers of the upstream's request; `given` are those it has already, by their names in lower case. */
  headers?(request: Operations[Name]["request"], given: Readonly<Record<string, string>>): Record<string, string>;
}

/** Operations a provider has; the rest is refused. */
export type OperationAdapters = { readonly [Name in OperationName]?: OperationAdapter<Name> };

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
  /** In front of paths that are passed on as they are, such as `/v1`, where the base address does not hold it. */
  pathPrefix?: string;
  /** Headers that carry the credential, and those that follow from settings. */
  authenticate(credential: string | undefined, settings: Settings): Record<string, string>;
  /** As `authenticate`, for providers that sign requests or fetch tokens; it comes after it and wins. */
  authorize?(request: SignableRequest, settings: Settings, tools: AuthTools): Promise<Record<string, string>>;
  /** The operations, or what makes them of the settings. */
  operations: OperationAdapters | ((settings: Settings) => OperationAdapters);
  /** Names in lower case of headers clients of this provider send: they go along unasked. Never ones with credentials. */
  clientHeaders?: readonly string[];
  /** Names of the operations, where a function makes them. */
  operationNames?: readonly OperationName[];
  /** Answers instead of the network, for providers without one. */
  local?(request: LocalRequest, settings: Settings): Promise<Response>;
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
  /** The operator's own identity in clouds, from the environment. */
  environment: Readonly<Record<string, string | undefined>>;
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
  readonly operations: OperationAdapters;
  /** Names of client headers that go along unasked. */
  readonly clientHeaders: readonly string[];
  authenticate(credential: string | undefined): Record<string, string>;
  readonly authorize: ((request: SignableRequest, tools: AuthTools) => Promise<Record<string, string>>) | undefined;
  readonly local: ((request: LocalRequest) => Promise<Response>) | undefined;
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
  /** Headers that give its settings, without the gateway's prefix. */
  readonly settingHeaders: readonly string[];
  /**
   * Applies a caller's settings; `read` gives the value of a gateway header by its name without prefix.
   *
   * @throws {InvalidRequestError} If a setting is not what the provider takes.
   */
  bind(read: (name: string) => string | null): BoundProvider;
}

/** The provider with the token of an OAuth client instead of a credential. */
function withOauth(provider: BoundProvider, text: string): BoundProvider {
  const settings = readOauthSettings(text);
  const { authenticate } = provider;
  return Object.defineProperties(provider, {
    authenticate: { value: () => authenticate(undefined) },
    authorize: { value: (_: SignableRequest, tools: AuthTools) => authorizeByOauth(settings, tools) },
  });
}

/** Declares a provider. */
export function defineProvider<Settings>(definition: ProviderDefinition<Settings>): Provider {
  const { slug, baseUrl, operations, clientHeaders = [], authenticate, authorize, local } = definition;
  const baseUrlOf = typeof baseUrl === "string" ? () => baseUrl : baseUrl;
  const bindSettings = (settings: Settings): BoundProvider => ({
    slug,
    clientHeaders,
    pathPrefix: definition.pathPrefix ?? "",
    isRaw: definition.isRaw === true,
    operations: typeof operations === "function" ? operations(settings) : operations,
    authorize: authorize && ((request, tools) => authorize(request, settings, tools)),
    get baseUrl() {
      return baseUrlOf(settings, { path: "", environment: {} });
    },
    baseUrlOf: (facts) => baseUrlOf(settings, facts),
    isBaseInfluenced: definition.isBaseInfluenced === true,
    authenticate: (credential) => authenticate(credential, settings),
    local: local && ((request) => local(request, settings)),
  });
  const readValues = createSettingsReader(definition.settings);
  let plain: BoundProvider | undefined;
  return {
    slug,
    hasOpenSettings: definition.settings.open === true,
    isLocal: local !== undefined,
    isRaw: definition.isRaw === true,
    operationNames: definition.operationNames ?? (typeof operations === "function" ? [] : Object.keys(operations)),
    settingHeaders: settingHeaders(definition.settings).map(({ header }) => header),
    bind(read) {
      const values = readValues(read);
      const oauth = read("oauth");
      if (oauth !== null) return withOauth(bindSettings(parseSettings(definition.settings, values ?? {})), oauth);
      if (values) return bindSettings(parseSettings(definition.settings, values));
      plain ??= bindSettings(parseSettings(definition.settings, {}));
      return plain;
    },
  };
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
