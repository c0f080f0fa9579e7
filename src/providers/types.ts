import { InvalidRequestError } from "../errors.ts";
import type { ChatRequest, ChatResponse, CompletionRequest } from "../schemas/chat.ts";
import type { EmbeddingRequest, EmbeddingResponse } from "../schemas/embeddings.ts";
import type { ModelList } from "../schemas/models.ts";
import { createSettingsReader, parseSettings, type SettingsDefinition } from "./settings.ts";

/** Unified operations: what a client sends and gets, whichever provider serves it. */
export interface Operations {
  chat: { request: ChatRequest; response: ChatResponse };
  complete: { request: CompletionRequest; response: ChatResponse };
  embed: { request: EmbeddingRequest; response: EmbeddingResponse };
  models: { request: Record<string, never>; response: ModelList };
}
export type OperationName = keyof Operations;

/** How one provider does one operation. Conversions are pure: no network, clock, random source or environment. */
export interface OperationAdapter<Name extends OperationName> {
  /** Default POST. */
  method?: "GET" | "POST";
  /** Path below the provider's base address. */
  path(request: Operations[Name]["request"]): string;
  /** The upstream's request; must leave its argument unchanged. Absent: the upstream speaks the gateway's dialect. */
  toUpstream?(request: Operations[Name]["request"]): unknown;
  /** The gateway's answer from the upstream's. Absent: the bytes go back as they came. */
  fromUpstream?(body: unknown, request: Operations[Name]["request"]): Operations[Name]["response"];
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

/** What is declared of a provider. */
export interface ProviderDefinition<Settings> {
  /** Name in `x-gateway-provider`. */
  slug: string;
  settings: SettingsDefinition<Settings>;
  /** Base address, without a slash at its end; ignored when the caller names a host. */
  baseUrl: string | ((settings: Settings) => string);
  /** Headers that carry the credential, and those that follow from settings. */
  authenticate(credential: string | undefined, settings: Settings): Record<string, string>;
  operations: OperationAdapters;
  /** Answers instead of the network, for providers without one. */
  local?(request: LocalRequest, settings: Settings): Promise<Response>;
}

/** A provider with the settings of one request. */
export interface BoundProvider {
  readonly slug: string;
  readonly baseUrl: string;
  readonly operations: OperationAdapters;
  authenticate(credential: string | undefined): Record<string, string>;
  readonly local: ((request: LocalRequest) => Promise<Response>) | undefined;
}

/** A provider as the registry holds it. */
export interface Provider {
  readonly slug: string;
  /** Whether callers may give settings beside a stored credential. */
  readonly hasOpenSettings: boolean;
  /** Whether it answers inside the process. */
  readonly isLocal: boolean;
  /**
   * Applies a caller's settings; `read` gives the value of a gateway header by its name without prefix.
   *
   * @throws {InvalidRequestError} If a setting is not what the provider takes.
   */
  bind(read: (name: string) => string | null): BoundProvider;
}

/** Declares a provider. */
export function defineProvider<Settings>(definition: ProviderDefinition<Settings>): Provider {
  const { slug, baseUrl, operations, authenticate, local } = definition;
  const bindSettings = (settings: Settings): BoundProvider => ({
    slug,
    operations,
    baseUrl: typeof baseUrl === "string" ? baseUrl : baseUrl(settings),
    authenticate: (credential) => authenticate(credential, settings),
    local: local && ((request) => local(request, settings)),
  });
  const readValues = createSettingsReader(definition.settings);
  let plain: BoundProvider | undefined;
  return {
    slug,
    hasOpenSettings: definition.settings.open === true,
    isLocal: local !== undefined,
    bind(read) {
      const values = readValues(read);
      if (values) return bindSettings(parseSettings(definition.settings, values));
      plain ??= bindSettings(parseSettings(definition.settings, {}));
      return plain;
    },
  };
}

/**
 * The adapter of an operation.
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
