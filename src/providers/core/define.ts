import * as v from "valibot";
import { BoundedMap } from "../../lib/bounded-map.ts";
import { hasVersion } from "../../lib/path.ts";
import type { IntegrationForm } from "../../schemas/integration-members.ts";
import { type FitOptions, fitAdapter, fitCountAdapter } from "./fit-chat.ts";
import { fitResponsesAdapter } from "./fit-responses.ts";
import { toIntegrationForm } from "./integration-form.ts";
import { createFactReader, type FactReader, type FactTable, inlinesImages } from "./model-facts.ts";
import { modelInPath } from "./model-names.ts";
import { authorizeByOauth, readOauthSettings } from "./oauth-client.ts";
import { createSettingsReader, listSettings, listUnread, type ProviderSetting, parseSettings } from "./settings.ts";
import type {
  AuthTools,
  BoundNaming,
  BoundProvider,
  ModelNaming,
  OperationAdapters,
  PassedPath,
  PassedTarget,
  Provider,
  ProviderDefinition,
  SignableRequest,
} from "./types.ts";

/** The provider with the token of an OAuth client instead of a credential. */
function withOauth(provider: BoundProvider, text: string): BoundProvider {
  const settings = readOauthSettings(text);
  const { authenticate } = provider;
  return Object.defineProperties(provider, {
    authenticate: { value: () => authenticate(undefined) },
    authorize: { value: (_: SignableRequest, tools: AuthTools) => authorizeByOauth(settings, tools) },
  });
}

/** The same path below the base URL, with a prefix unless the path already starts with a version. */
export function passBelow({ path, query, isProxied }: PassedPath, prefix = ""): PassedTarget {
  const isWhole = isProxied || hasVersion(path) || path.startsWith(`${prefix}/`);
  return { path: (isWhole ? path : prefix + path) + query };
}

/** How a provider with settings names its models. */
function bindNaming<Settings>(naming: ModelNaming<Settings> = {}, settings: Settings): BoundNaming {
  return {
    canonical: (model) => naming.canonical?.(model, settings) ?? model,
    variantOf: (canonical) => naming.variantOf?.(canonical),
    inPath(path) {
      const name = naming.inPath?.(path);
      return name === null ? undefined : (name ?? modelInPath(path));
    },
    isPathOnly: naming.isPathOnly === true,
    get own() {
      return (naming.own?.(settings) ?? []).filter((name) => name !== undefined);
    },
  };
}

/** Facts of a provider that declares none. */
const plainFacts: FactTable = { read: "", sources: [], newest: {}, rows: [] };

/** Operations whose chats are fitted to the facts of their models. */
function withFacts(operations: OperationAdapters, fit: FitOptions): OperationAdapters {
  const { chat, countChat, responses } = operations;
  if (!chat && !responses) return operations;
  return {
    ...operations,
    ...(chat && { chat: fitAdapter(chat, fit) }),
    ...(countChat && { countChat: fitCountAdapter(countChat, fit) }),
    ...(responses && { responses: fitResponsesAdapter(responses, fit) }),
  };
}

/** Facts of models under some settings. */
type BoundFacts = Pick<BoundProvider, "factsOf" | "inlinesImages">;

/** Reads the facts of a provider's models, each of its tables once. */
function createFactReaders<Settings>({ facts = plainFacts, factsWith, models = {} }: ProviderDefinition<Settings>) {
  const readers = new Map<FactTable, FactReader>();
  const inlining = new Map<FactTable, boolean>();
  const readerOf = (table: FactTable): FactReader => {
    const reader = readers.get(table) ?? createFactReader(table);
    readers.set(table, reader);
    return reader;
  };
  return {
    /** What requests with these settings read of their models. */
    factsFor(settings: Settings): BoundFacts {
      const table = factsWith?.(settings) ?? facts;
      const read = readerOf(table);
      const inlines = inlining.get(table) ?? inlinesImages(table);
      inlining.set(table, inlines);
      const { behind } = models;
      const factsOf: FactReader = behind ? (model, host) => read(behind(model, settings), host) : read;
      return { factsOf, inlinesImages: inlines };
    },
    /** As at a custom host, nothing is assumed of names that the table does not have. */
    describe: (model: string, isAtOwnHost = false) => readerOf(facts)(model, { hasCustomHost: !isAtOwnHost }),
  };
}

/** A provider whose settings have been read. */
function bindDefinition<Settings>(
  definition: ProviderDefinition<Settings>,
  settings: Settings,
  facts: BoundFacts,
): BoundProvider {
  const { slug, baseUrl, operations, clientHeaders = [], authenticate, callHeaders, authorize, local } = definition;
  const { store, records } = definition;
  const baseUrlOf = typeof baseUrl === "string" ? () => baseUrl : baseUrl;
  return {
    slug,
    clientHeaders,
    defaultHeaders: definition.defaultHeaders,
    pathPrefix: definition.pathPrefix ?? "",
    passPath: (asked) => definition.passPath?.(asked, settings) ?? passBelow(asked, definition.pathPrefix),
    get models() {
      return bindNaming(definition.models, settings);
    },
    nativeGroups: definition.nativeGroups ?? [],
    isRaw: definition.isRaw === true,
    charges: definition.charges,
    searches: (operation, model) => definition.searches?.(operation, model) === true,
    hasLogprobs: definition.hasLogprobs === true,
    batches: definition.batches,
    operations: withFacts(typeof operations === "function" ? operations(settings) : operations, {
      factsOf: facts.factsOf,
      isNative: definition.isNativeChat === true,
    }),
    ...facts,
    callHeaders: callHeaders && ((headers, credential) => callHeaders(headers, settings, credential)),
    authorize: authorize && ((request, tools) => authorize(request, settings, tools)),
    get baseUrl() {
      return baseUrlOf(settings, { path: "", environment: {} });
    },
    baseUrlOf: (facts) => baseUrlOf(settings, facts),
    isBaseInfluenced: definition.isBaseInfluenced === true,
    authenticate: (credential) => authenticate(credential, settings),
    local: local && ((request) => local(request, settings)),
    get records() {
      return records?.(settings);
    },
    get store() {
      if (!store) return undefined;
      return bindDefinition({ slug, settings: definition.settings, operations: {}, ...store }, settings, facts);
    },
  };
}

/** Names of operations: those without settings, and those that settings add. */
function listOperations<Settings>(
  { operations, settings, settingOperations = [] }: ProviderDefinition<Settings>,
  bindPlain: () => BoundProvider,
): readonly string[] {
  // a provider that needs settings to exist lists its operations itself
  const made = typeof operations !== "function" ? operations : v.is(settings.schema, {}) ? bindPlain().operations : {};
  return [...Object.keys(made), ...settingOperations];
}

/** Maximum number of cached providers per declaration, and the maximum size of their settings. */
const maxBound = 1_000;
const maxKeyLength = 4_096;
/** Settings that may stand beside a secret, by their names. */
const secretName = /secret|token|key|passphrase|password|service_account|credential/;

/**
 * Reads the cache key of settings. Providers with long or secret settings have no key: they are not cached, so that no
 * secret outlives its request.
 */
function createKeyReader(settings: readonly ProviderSetting[]) {
  const secrets = new Set(settings.flatMap(({ name, isSecret }) => (isSecret || secretName.test(name) ? [name] : [])));
  return (values: Readonly<Record<string, string>>): string | undefined => {
    for (const name in values) if (secrets.has(name)) return undefined;
    const key = JSON.stringify(values);
    return key.length > maxKeyLength ? undefined : key;
  };
}

/** Declares a provider. */
export function defineProvider<Settings>(definition: ProviderDefinition<Settings>): Provider {
  const { slug, local, keyless = local !== undefined } = definition;
  const settings = listSettings(definition.settings);
  const unreadSettings = listUnread(definition.settings);
  const { requires = {}, virtualKeys = {} } = definition.settings;
  const keyOf = createKeyReader(settings);
  const { factsFor, describe } = createFactReaders(definition);
  const bindSettings = (values: Settings) => bindDefinition(definition, values, factsFor(values));
  const readValues = createSettingsReader(definition.settings);
  const bindValues = (values: Record<string, string>) => bindSettings(parseSettings(definition.settings, values));
  const known = new BoundedMap<string, BoundProvider>(maxBound);
  let plain: BoundProvider | undefined;
  let form: IntegrationForm | undefined;
  const bindPlain = () => {
    plain ??= bindSettings(parseSettings(definition.settings, {}));
    return plain;
  };
  return {
    slug,
    aliases: definition.aliases ?? [],
    isKeyless: keyless,
    isFree: definition.free === true,
    choosesItself: definition.choosesItself === true,
    charges: definition.charges,
    facts: definition.facts,
    describe,
    hasOpenSettings: definition.settings.open === true,
    isLocal: local !== undefined,
    isRaw: definition.isRaw === true,
    batches: definition.batches,
    get operationNames() {
      return listOperations(definition, bindPlain);
    },
    settingHeaders: settings.map(({ header }) => header),
    settings,
    unreadSettings,
    requirements: requires,
    get integrationForm() {
      form ??= toIntegrationForm([...settings, ...unreadSettings], requires, keyless);
      return form;
    },
    virtualKeyFields: virtualKeys,
    plainHeaders: definition.settings.plain ?? [],
    settingMembers: new Map(settings.map(({ header, names }) => [header, names])),
    bind(read) {
      const values = readValues(read);
      const oauth = read("oauth");
      if (oauth !== null) return withOauth(bindValues(values ?? {}), oauth);
      if (!values) return bindPlain();
      const key = keyOf(values);
      if (key === undefined) return bindValues(values);
      const found = known.get(key);
      if (found) return found;
      const made = bindValues(values);
      known.set(key, made);
      return made;
    },
  };
}
