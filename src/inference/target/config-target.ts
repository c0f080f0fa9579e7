import type { CallerContext, Services } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { readStoredName, type StoredName } from "../../control/stored-name.ts";
import { InvalidRequestError } from "../../errors.ts";
import { isObject } from "../../lib/json.ts";
import type { Destination } from "../../providers/core/call.ts";
import type { ConfigNode, InheritedSettings } from "../../routing/config.ts";
import { readCallerSetting, withoutKey } from "./caller-setting.ts";
import { hasSavedConfig, readRequestConfig } from "./config-source.ts";
import { noteCustomHost, requireCustomHost } from "./custom-host.ts";
import type { RequestConfig } from "./saved-config.ts";
import { readStoredDestination, refuseNames } from "./stored-provider.ts";
import { readRequestDestination } from "./target.ts";

/** The stored provider of a config's target: by `@slug`, by virtual key, or in a model it sets. */
export function storedNameOf({ provider, virtualKey, overrideParams }: ConfigNode): StoredName | undefined {
  if (provider !== undefined) return readStoredName(provider);
  if (virtualKey !== undefined) return { slug: virtualKey.replace(/^@/, ""), model: undefined };
  const { model } = overrideParams;
  return typeof model === "string" ? readStoredName(model) : undefined;
}

/** Whether a target takes its provider from the request: it says so, or it is the whole config and names none. */
export function isFromRequest(node: ConfigNode): boolean {
  if (node.passthrough) return true;
  return node.path === "config" && node.provider === undefined && storedNameOf(node) === undefined;
}

/**
 * Whether a request is forwarded unchanged, whatever its route: it names a proxy provider itself, and neither the
 * request nor its key or workspace has a config with targets.
 *
 * @throws {InvalidRequestError} 400 if its config cannot be used.
 */
export function isPassedOn(context: CallerContext): boolean | Promise<boolean> {
  const slug = context.header("provider");
  const isRaw = slug !== null && context.services.providers.get(slug)?.isRaw === true;
  if (!isRaw || context.header("config") !== null) return false;
  const given = readRequestConfig(context);
  return given instanceof Promise ? given.then(({ node }) => isFromRequest(node)) : isFromRequest(given.node);
}

/** The leaves of a config: the calls it may make. */
export function listLeaves(node: ConfigNode): ConfigNode[] {
  return node.strategy ? node.targets.flatMap(listLeaves) : [node];
}

/**
 * Refuses a config that names stored providers the workspace does not have, or forbidden hosts.
 *
 * @throws {InvalidRequestError} 400 naming them.
 */
export function checkLeaves(
  { node, view }: RequestConfig,
  services: Pick<Services, "addressGuard" | "guardrails">,
): void {
  const leaves = listLeaves(node);
  const unknown = leaves.flatMap((leaf) => {
    const name = storedNameOf(leaf);
    return name && !view.providers.has(name.slug) ? [name.slug] : [];
  });
  const searcher = searcherOf(node);
  if (searcher && !view.providers.has(searcher.slug)) unknown.push(searcher.slug);
  if (unknown.length > 0) refuseNames([...new Set(unknown)]);
  requireGuardrails(leaves, view, services);
  const walk = (one: ConfigNode): void => {
    if (one.customHost !== undefined) requireCustomHost(one.customHost, services, `${one.path}.custom_host`);
    one.targets.forEach(walk);
  };
  walk(node);
}

/** The stored provider that searches the web for models; undefined where an alias, a config or a tool does. */
function searcherOf({ serverTools }: ConfigNode): StoredName | undefined {
  const source = serverTools?.webSearch?.source;
  return source && "model" in source ? readStoredName(source.model) : undefined;
}

/**
 * @throws {InvalidRequestError} 400 naming the guardrails that do not exist, or cannot be used where they are named.
 */
function requireGuardrails(
  leaves: readonly ConfigNode[],
  view: WorkspaceView,
  { guardrails }: Pick<Services, "guardrails">,
): void {
  const found = leaves.map(({ merged }) => guardrails.findUnknown(merged.hooks, view));
  const refuse = (names: readonly string[], what: string): void => {
    if (names.length === 0) return;
    throw new InvalidRequestError(`Following ${what} are not valid: ${[...new Set(names)].join(", ")}`, {
      code: "invalid_guardrails",
      param: "x-gateway-config",
    });
  };
  refuse(
    found.flatMap(({ unknown }) => unknown),
    "guardrails",
  );
  refuse(
    found.flatMap(({ unknownDefaults }) => unknownDefaults),
    "default guardrails",
  );
}

function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Whether a target has its own credential. */
function holdsSecret(
  { apiKey, providerSettings }: ConfigNode,
  { contentRules }: Pick<Services, "contentRules">,
): boolean {
  const names = Object.keys(providerSettings);
  return apiKey !== undefined || names.some((name) => name === "oauth" || contentRules.secretSettings.has(name));
}

/**
 * Notes the credentials of a target of a saved config, which its caller need not know: responses and log rows of a provider
 * that repeats them show masks.
 */
function noteSavedSecrets({ apiKey, providerSettings }: ConfigNode, { log, services }: CallerContext): void {
  log.isManaged = true;
  if (apiKey !== undefined) log.secrets.push(apiKey);
  for (const [name, value] of Object.entries(providerSettings)) {
    const secret = name === "oauth" && isObject(value) ? value.client_secret : value;
    const isSecret = name === "oauth" || services.contentRules.secretSettings.has(name);
    if (isSecret && typeof secret === "string") log.secrets.push(secret);
  }
}

/** The provider of a target with its own credential. */
function plainDestination(node: ConfigNode, settings: InheritedSettings, context: CallerContext): Destination {
  const slug = node.provider ?? "";
  const known = context.services.providers.get(slug);
  if (!known) {
    throw new InvalidRequestError(`Cannot use ${node.path}: it names no provider`, {
      code: "provider_required",
      param: "x-gateway-config",
    });
  }
  const { providerSettings } = node;
  const ofCaller = readCallerSetting(context, "custom-host");
  if (ofCaller !== null && hasSavedConfig(context) && holdsSecret(node, context.services)) {
    throw new InvalidRequestError(
      `Cannot use x-gateway-custom-host with the credential of ${node.path}: set custom_host in the saved config`,
      { param: "x-gateway-custom-host", code: "invalid_custom_host" },
    );
  }
  const customHost = ofCaller ?? settings.customHost;
  if (customHost !== undefined) noteCustomHost(customHost, context);
  if (hasSavedConfig(context)) noteSavedSecrets(node, context);
  context.log.provider = slug;
  const read = (name: string) => {
    for (const member of known.settingMembers.get(name) ?? [name]) {
      const own = Object.hasOwn(providerSettings, member) ? textOf(providerSettings[member]) : null;
      if (own !== null) return withoutKey(own, `${node.path}.${member}`, context);
    }
    return known.hasOpenSettings ? readCallerSetting(context, name) : null;
  };
  const credential = withoutKey(node.apiKey, `${node.path}.api_key`, context);
  return { provider: known.bind(read), customHost, credential };
}

/** Settings of a target for a request. */
interface LeafInput {
  node: ConfigNode;
  settings: InheritedSettings;
  /** The requested model, after the target's parameters. */
  model: string | undefined;
}

/**
 * Where the call of a target goes.
 *
 * @throws {GatewayError} As `readStoredDestination`; 400 for settings that cannot be used.
 */
export function readLeafDestination(
  { node, settings, model }: LeafInput,
  context: CallerContext,
): Destination | Promise<Destination> {
  // labels that a caller wrote are not believed
  context.log.targetLabels = node.merged.labels && hasSavedConfig(context) ? node.merged.labels : undefined;
  if (isFromRequest(node)) return readRequestDestination(context, { model, customHost: settings.customHost });
  const stored = storedNameOf(node);
  if (!stored) return plainDestination(node, settings, context);
  if (settings.customHost !== undefined) {
    throw new InvalidRequestError(
      `Cannot use custom_host of ${node.path} with a stored provider: set it on the integration`,
      { param: "x-gateway-config", code: "invalid_custom_host" },
    );
  }
  // the model may name the same provider again
  const inModel = readStoredName(model);
  const name = inModel?.slug === stored.slug ? inModel : { slug: stored.slug, model: inModel?.model ?? stored.model };
  return readStoredDestination(name, context, model);
}
