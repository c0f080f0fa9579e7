import type { CallerContext, Services } from "../../context.ts";
import type { StoredConfig } from "../../control/config-library.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { blocksInlineConfig } from "../../control/settings.ts";
import { InvalidRequestError, UnavailableError } from "../../errors.ts";
import { namesSavedConfig } from "../../lib/config-name.ts";
import { crc32 } from "../../lib/hash.ts";
import { isObject } from "../../lib/json.ts";
import type { ConfigNode } from "../../routing/config.ts";
import type { ReadConfigResult } from "../../routing/read-config.ts";
import { readView } from "./stored-provider.ts";

/** The config of a request, and where it comes from. */
export interface RequestConfig {
  node: ConfigNode;
  /** Changes with its content, so that state remembered for the old content does not count. */
  id: string;
  /** Slug of a saved config; null for one in the request. */
  slug: string | null;
  /** Ids of a saved config and its version. */
  saved?: { readonly id: string; readonly versionId: string };
  view: WorkspaceView;
  /** There is no config: the request goes where its headers or its model say, once. */
  isImplied: boolean;
}

const param = "x-gateway-config";

function refuse(message: string, code: string, details: { cause?: unknown } = {}): never {
  throw new InvalidRequestError(message, { param, code, ...details });
}

/** The config in a text, or an error that lists what is wrong with it. */
function requireConfig(result: ReadConfigResult | undefined): ConfigNode {
  if (result === undefined) return refuse("Invalid config passed. You need to pass a valid json", "invalid_config");
  if (result.config) return result.config;
  const errors = result.problems.map(({ path, message }) => `path: ${path || "config"}, message: ${message}`);
  throw new InvalidRequestError(`Invalid config passed: ${errors.slice(0, 3).join("; ")}`, {
    param,
    code: "invalid_config",
    errors: errors.slice(0, 50),
  });
}

/** Saved configs too long to be cached by their text. */
const longConfigs = new WeakMap<StoredConfig, ReadConfigResult | undefined>();

function readSaved(saved: StoredConfig, { routing }: Pick<Services, "routing">): ReadConfigResult | undefined {
  const { content, row } = saved;
  if (content === undefined) {
    throw new UnavailableError(`Cannot use the config ${row.slug}: a credential in it is unavailable`, {
      code: "credential_unavailable",
      retryAfterSeconds: 5,
    });
  }
  if (content.length <= 64 * 1024) return routing.read(content, row.workspaceId);
  if (!longConfigs.has(saved)) longConfigs.set(saved, routing.read(content));
  return longConfigs.get(saved);
}

function fromSaved(saved: StoredConfig, view: WorkspaceView, services: Pick<Services, "routing">): RequestConfig {
  const node = requireConfig(readSaved(saved, services));
  const { id, versionId, slug } = saved.row;
  return { node, id: versionId, slug, saved: { id, versionId }, view, isImplied: false };
}

/** Whether a request's config is a saved one, whose content its caller need not know. */
export function hasSavedConfig(context: CallerContext): boolean {
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
function requireSavedOnly(context: CallerContext, view: WorkspaceView): void {
  if (!context.services.savedOnly && !blocksInlineConfig(view)) return;
  const found = findInline(context);
  if (!found) return;
  throw new InvalidRequestError(`Cannot use x-gateway-${found.field} here: ${found.message}`, {
    code: found.code,
    param: `x-gateway-${found.field}`,
    field: found.field,
  });
}

/** The default config of the request's key or workspace; a name that no longer exists is ignored. */
function defaultConfig({ principal }: CallerContext, view: WorkspaceView): StoredConfig | undefined {
  const own = principal.defaults.configId;
  const found = own === null ? undefined : view.configs.get(own);
  if (found) return found;
  const { defaults } = view.workspace;
  const name = isObject(defaults) ? defaults.user_api_key_config : undefined;
  return typeof name === "string" ? view.configs.get(name) : undefined;
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

/** Default configs by view, dropped together with the views. */
const implied = new WeakMap<WorkspaceView, RequestConfig>();

/** The config of requests without one: one attempt, at the target the request names. */
function impliedConfig(view: WorkspaceView, { routing }: Pick<Services, "routing">): RequestConfig {
  const known = implied.get(view);
  if (known) return known;
  const config = { node: routing.plainConfig, id: "", slug: null, view, isImplied: true };
  implied.set(view, config);
  return config;
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

function find(context: CallerContext, view: WorkspaceView): RequestConfig {
  if (context.connection.isOfGuardrail) return impliedConfig(view, context.services);
  requireSavedOnly(context, view);
  if (context.connection.ignoresConfig) return impliedConfig(view, context.services);
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
  // it is long, and every request copies it to the log
  const shown = inlineConfigs.get(config.node)?.shown;
  if (shown !== undefined) context.log.hidden = { text, shown };
  return config;
}

/**
 * The config a request is routed by: its own, else its key's, else its workspace's, else `withoutConfig`. Synchronous
 * when the workspace is in memory.
 *
 * @throws {InvalidRequestError} 400 if it cannot be used, or the request brings what must be saved.
 */
export function readRequestConfig(context: CallerContext): RequestConfig | Promise<RequestConfig> {
  const view = readView(context);
  return view instanceof Promise ? view.then((late) => find(context, late)) : find(context, view);
}
