import type { CallerContext, Services } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { InvalidRequestError } from "../../errors.ts";
import { namesSavedConfig } from "../../lib/config-name.ts";
import { crc32 } from "../../lib/hash.ts";
import type { ConfigNode } from "../../routing/config.ts";
import { requireKeyConfig } from "./key-models.ts";
import { configOfModel } from "./named-config.ts";
import { defaultConfig, fromSaved, impliedConfig, type RequestConfig, requireConfig } from "./saved-config.ts";
import { readView } from "./stored-provider.ts";

const param = "x-gateway-config";

function refuse(message: string, code: string, details: { cause?: unknown } = {}): never {
  throw new InvalidRequestError(message, { param, code, ...details });
}

/** Whether a request's config is a saved one, whose content its caller need not know. */
export function hasSavedConfig(context: CallerContext): boolean {
  const { apart } = context.connection;
  if (apart) return apart.config.saved !== undefined;
  const text = context.header("config");
  return text === null || namesSavedConfig(text);
}

/** What a request may not bring where only saved settings are allowed, in the order of the checks. */
function findInline(context: CallerContext): { code: string; field: string; message: string } | undefined {
  const has = (name: string) => context.header(name) !== null;
  const config = context.header("config");
  const provider = context.header("provider");
  const address = context.services.providerRules.addressHeaders.find(has);
  if (config !== null && !namesSavedConfig(config)) {
    return { code: "inline_config_blocked", field: "config", message: "save the config and name it by its slug" };
  }
  if (provider !== null && !provider.startsWith("@")) {
    return { code: "inline_provider_blocked", field: "provider", message: "name a stored provider as @slug" };
  }
  if (has("custom-host")) {
    return { code: "inline_custom_host_blocked", field: "custom-host", message: "set the host on the integration" };
  }
  if (address !== undefined) {
    return { code: "inline_provider_url_blocked", field: address, message: "set it on the integration" };
  }
  if (!has("forward-headers")) return undefined;
  return { code: "inline_forward_headers_blocked", field: "forward-headers", message: "set them on the integration" };
}

/**
 * Refuses what a request may not bring where the organisation, the workspace or the operator allows only saved
 * settings.
 *
 * @throws {InvalidRequestError} 400 with the code of the first violation.
 */
function requireSavedOnly(context: CallerContext): void {
  const found = findInline(context);
  if (!found) return;
  throw new InvalidRequestError(`Cannot use x-gateway-${found.field} here: ${found.message}`, {
    code: found.code,
    param: `x-gateway-${found.field}`,
    field: found.field,
  });
}

/** Older clients ask for retries in a separate header. */
function legacyRetry(context: CallerContext, view: WorkspaceView): RequestConfig | undefined {
  const count = context.header("retry-count");
  if (count === null) return undefined;
  if (!/^[0-9]{1,3}$/.test(count))
    refuse("Cannot use x-gateway-retry-count: it must be a whole number", "invalid_header");
  const text = JSON.stringify({ retry: { attempts: Math.min(Number(count), 5) } });
  return { node: requireConfig(context.services.routing.read(text)), id: "", slug: null, view, isImplied: false };
}

/** Facts about inline configs, by the config parsed from their text. */
interface InlineConfig {
  /** A short name. */
  id: string;
  /** The redacted text that logs show, once it is known. */
  shown: string | undefined;
}

const inlineConfigs = new WeakMap<ConfigNode, InlineConfig>();

function readInline(node: ConfigNode, text: string, { redactor }: Pick<Services, "redactor">): InlineConfig {
  const known = inlineConfigs.get(node);
  if (known) return known;
  const config: InlineConfig = { id: `${text.length}.${crc32(text)}`, shown: undefined };
  inlineConfigs.set(node, config);
  const note = (headers: Readonly<Record<string, string>>) => {
    config.shown = headers[param];
  };
  const shown = redactor.headers({ [param]: text }, []);
  if (shown instanceof Promise) shown.then(note, () => {});
  else note(shown);
  return config;
}

/** The config of a text: JSON, or the slug or id of a saved one. */
function fromText(text: string, view: WorkspaceView, services: Pick<Services, "redactor" | "routing">): RequestConfig {
  if (!namesSavedConfig(text)) {
    const node = requireConfig(services.routing.read(text, view.workspace.id));
    return { node, id: readInline(node, text, services).id, slug: null, view, isImplied: false };
  }
  const saved = view.configs.get(text.startsWith("pc-") ? text : text.toLowerCase());
  return saved ? fromSaved(saved, view, services) : refuse("Invalid config id passed", "invalid_config_id");
}

/**
 * The config a text names or holds, without checking who may use it.
 *
 * @throws {InvalidRequestError} 400 if it cannot be used.
 */
export async function readConfigText(text: string, context: CallerContext): Promise<RequestConfig> {
  return fromText(text, await readView(context), context.services);
}

function find(context: CallerContext, view: WorkspaceView, model: string | undefined): RequestConfig {
  const { isUnguarded, ignoresConfig } = context.connection;
  if (context.connection.apart) return { ...context.connection.apart.config, view, isImplied: false };
  if ((view.blocksInlineConfig || context.services.savedOnly) && !isUnguarded) requireSavedOnly(context);
  const mayBeName = model !== undefined && (view.modelAliases !== undefined || model.startsWith("pc-"));
  const found = mayBeName ? configOfModel(model, context, view) : undefined;
  if (found?.named) {
    const retry = found.named.isConfig ? undefined : legacyRetry(context, view);
    return retry ? { ...found, ...retry, named: found.named } : found;
  }
  if (isUnguarded || ignoresConfig) return impliedConfig(view, context.services);
  const text = context.header("config");
  if (text === null) {
    const saved = defaultConfig(context, view);
    return saved
      ? fromSaved(saved, view, context.services)
      : (legacyRetry(context, view) ?? impliedConfig(view, context.services));
  }
  if (!context.principal.defaults.allowConfigOverride) {
    refuse("Cannot override default config set for this API key.", "config_override_not_allowed");
  }
  const config = fromText(text, view, context.services);
  if (context.principal.allowedModels) requireKeyConfig(config, context);
  // it is long, and every request copies it to the log
  const shown = inlineConfigs.get(config.node)?.shown;
  if (shown !== undefined) context.log.hidden = { text, shown };
  return config;
}

/**
 * The config a request is routed by: its own, else the one its model names, else its key's, else its workspace's, else
 * one without effect. Synchronous when the workspace is in memory.
 *
 * @param model The model of the request. Absent where its names are not resolved.
 * @throws {GatewayError} 400 if it cannot be used, or the request brings what must be saved; 403 for an alias or a
 * config that the caller may not use.
 */
export function readRequestConfig(
  context: CallerContext,
  model?: string | undefined,
): RequestConfig | Promise<RequestConfig> {
  const view = readView(context);
  return view instanceof Promise ? view.then((late) => find(context, late, model)) : find(context, view, model);
}
