import * as v from "valibot";
import { hasVersion } from "../lib/path.ts";
import { authorizeByOauth, readOauthSettings } from "./auth/oauth-client.ts";
import { createSettingsReader, listSettings, parseSettings, settingHeaders } from "./settings.ts";
import type {
  AuthTools,
  BoundProvider,
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

/** The same path below the base address, behind a prefix where it does not begin with a version of its own. */
export function passBelow({ path, query, isProxied }: PassedPath, prefix = ""): PassedTarget {
  const isWhole = isProxied || hasVersion(path) || path.startsWith(`${prefix}/`);
  return { path: (isWhole ? path : prefix + path) + query };
}

/** A provider with settings that were read. */
function bindDefinition<Settings>(definition: ProviderDefinition<Settings>, settings: Settings): BoundProvider {
  const { slug, baseUrl, operations, clientHeaders = [], authenticate, authorize, local } = definition;
  const { store, records } = definition;
  const baseUrlOf = typeof baseUrl === "string" ? () => baseUrl : baseUrl;
  return {
    slug,
    clientHeaders,
    pathPrefix: definition.pathPrefix ?? "",
    passPath: (asked) => definition.passPath?.(asked, settings) ?? passBelow(asked, definition.pathPrefix),
    relays: definition.relays ?? [],
    isRaw: definition.isRaw === true,
    hasLogprobs: definition.hasLogprobs === true,
    batches: definition.batches,
    operations: typeof operations === "function" ? operations(settings) : operations,
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
      return store && bindDefinition({ slug, settings: definition.settings, operations: {}, ...store }, settings);
    },
  };
}

/** Names of operations: those without any setting, and those that settings add. */
function listOperations<Settings>(
  { operations, settings, settingOperations = [] }: ProviderDefinition<Settings>,
  bindPlain: () => BoundProvider,
): readonly string[] {
  // what needs settings to be made tells its operations itself
  const made = typeof operations !== "function" ? operations : v.is(settings.schema, {}) ? bindPlain().operations : {};
  return [...Object.keys(made), ...settingOperations];
}

/** Declares a provider. */
export function defineProvider<Settings>(definition: ProviderDefinition<Settings>): Provider {
  const { slug, local } = definition;
  const bindSettings = (settings: Settings) => bindDefinition(definition, settings);
  const readValues = createSettingsReader(definition.settings);
  let plain: BoundProvider | undefined;
  const bindPlain = () => {
    plain ??= bindSettings(parseSettings(definition.settings, {}));
    return plain;
  };
  return {
    slug,
    hasOpenSettings: definition.settings.open === true,
    isLocal: local !== undefined,
    isRaw: definition.isRaw === true,
    batches: definition.batches,
    get operationNames() {
      return listOperations(definition, bindPlain);
    },
    settingHeaders: settingHeaders(definition.settings).map(({ header }) => header),
    settings: listSettings(definition.settings),
    bind(read) {
      const values = readValues(read);
      const oauth = read("oauth");
      if (oauth !== null) return withOauth(bindSettings(parseSettings(definition.settings, values ?? {})), oauth);
      if (values) return bindSettings(parseSettings(definition.settings, values));
      return bindPlain();
    },
  };
}
