import type { NamedTarget } from "../../context/call-record.ts";
import type { CallerContext, Services } from "../../context.ts";
import { mayUseAlias, modelsOfTarget, type StoredAlias } from "../../control/alias-library.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { readStoredName } from "../../control/stored-name.ts";
import { type GatewayError, InvalidRequestError, PermissionError } from "../../errors.ts";
import { crc32 } from "../../lib/hash.ts";
import type { AppliedLimit } from "../../policies/applied.ts";
import type { AliasPool } from "../../schemas/model-aliases.ts";
import { defaultConfig, fromSaved, impliedConfig, type RequestConfig, requireConfig } from "./saved-config.ts";
import { namesProvider } from "./target.ts";

const noLimits: readonly AppliedLimit[] = [];
const param = "model";

/** Configs of aliases by name, dropped together with the views. */
const aliasConfigs = new WeakMap<WorkspaceView, Map<string, RequestConfig>>();

/** The form of the slugs that saved configs have. */
const slugForm = /^pc-(?:[a-z0-9-]+-)?[0-9a-f]{6}$/;

function refuseMissing(name: string, what: string): never {
  throw new InvalidRequestError(`Cannot use the model ${name}: it is an alias of ${what} does not exist any more`, {
    code: "model_alias_target_missing",
    param,
  });
}

const hasProvider = (model: string, { providers }: WorkspaceView): boolean =>
  providers.has(readStoredName(model)?.slug ?? "");

/** The config that a pool stands for. */
function fromPool(
  { mode = "fallback", models }: AliasPool,
  { name, limits }: Pick<NamedTarget, "name" | "limits">,
  { view, services: { routing } }: { view: WorkspaceView; services: Pick<Services, "routing"> },
): RequestConfig {
  const targets = models.map(({ model, weight }) => {
    const named = readStoredName(model);
    return {
      provider: `@${named?.slug}`,
      override_params: { model: named?.model },
      ...(weight !== undefined && { weight }),
    };
  });
  const text = JSON.stringify({ strategy: { mode }, targets });
  const node = requireConfig(routing.read(text, view.workspace.id));
  const leadsTo = models.map(({ model }) => model).join(", ");
  const named = { name, leadsTo, isConfig: true, limits };
  return { node, id: `${text.length}.${crc32(text)}`, slug: null, view, isImplied: false, named };
}

/** The config that an alias stands for: a saved one, or one without effect, where it stands for a model. */
function readAlias(
  { row: { name, target }, limits }: StoredAlias,
  view: WorkspaceView,
  services: Pick<Services, "routing">,
): RequestConfig {
  if ("config" in target) {
    const saved = view.configs.get(target.config) ?? refuseMissing(name, `the config ${target.config}, which`);
    return { ...fromSaved(saved, view, services), named: { name, leadsTo: target.config, isConfig: true, limits } };
  }
  const missing = modelsOfTarget(target).find((model) => !hasProvider(model, view));
  if (missing !== undefined) refuseMissing(name, `${missing}, and the provider`);
  if ("pool" in target) return fromPool(target.pool, { name, limits }, { view, services });
  return { ...impliedConfig(view, services), named: { name, leadsTo: target.model, isConfig: false, limits } };
}

/** @throws {PermissionError} 403 if the caller may not use it, or nobody may. */
function requireUsable(alias: StoredAlias, { principal }: CallerContext, { members }: WorkspaceView): void {
  const { name, enabled } = alias.row;
  if (!mayUseAlias(alias, principal, members)) {
    throw new PermissionError(`Forbidden! This key may not use the model alias ${name}`, {
      code: "model_alias_access_error",
      param,
    });
  }
  if (enabled) return;
  throw new PermissionError(`Forbidden! The model alias ${name} is disabled`, { code: "model_alias_disabled", param });
}

/** A key that may not name a config stays with its default config. */
function isLocked(context: CallerContext, view: WorkspaceView): boolean {
  if (context.connection.ignoresConfig) return false;
  return !context.principal.defaults.allowConfigOverride && defaultConfig(context, view) !== undefined;
}

function fromAlias(alias: StoredAlias, context: CallerContext, view: WorkspaceView): RequestConfig | undefined {
  if (isLocked(context, view)) return undefined;
  requireUsable(alias, context, view);
  const ofView = aliasConfigs.get(view) ?? new Map<string, RequestConfig>();
  const known = ofView.get(alias.row.name);
  if (known) return known;
  const config = readAlias(alias, view, context.services);
  aliasConfigs.set(view, ofView.set(alias.row.name, config));
  return config;
}

/** @throws {InvalidRequestError} 400 if there is no such config, or the key may not choose one. */
function fromSlug(slug: string, context: CallerContext, view: WorkspaceView): RequestConfig {
  const saved = view.configs.get(slug);
  if (!saved) {
    throw new InvalidRequestError(`Cannot use the model ${slug}: there is no saved config with this slug`, {
      code: "invalid_config_id",
      param,
    });
  }
  const mayChoose = context.principal.defaults.allowConfigOverride || context.connection.ignoresConfig === true;
  if (!mayChoose && saved !== defaultConfig(context, view)) {
    throw new InvalidRequestError("Cannot override default config set for this API key.", {
      code: "config_override_not_allowed",
      param,
    });
  }
  const named = { name: slug, leadsTo: slug, isConfig: true, limits: noLimits };
  return { ...fromSaved(saved, view, context.services), named };
}

/**
 * The config that the model of a request names, by an alias or by its slug; undefined for models of providers, and where
 * the request names its provider or config otherwise.
 *
 * @throws {GatewayError} 400 or 403 if the caller cannot use what it names.
 */
export function configOfModel(model: string, context: CallerContext, view: WorkspaceView): RequestConfig | undefined {
  const alias = view.modelAliases?.get(model);
  if (!alias && !(model.startsWith("pc-") && slugForm.test(model))) return undefined;
  if (namesProvider(context)) return undefined;
  return alias ? fromAlias(alias, context, view) : fromSlug(model, context, view);
}

/** The aliases that a caller may use now. */
export function listAliases(context: CallerContext, view: WorkspaceView): StoredAlias[] {
  const { modelAliases, members, configs } = view;
  if (!mayNameAlias(context, view) || isLocked(context, view)) return [];
  const exists = ({ row: { target } }: StoredAlias): boolean =>
    "config" in target ? configs.has(target.config) : modelsOfTarget(target).every((model) => hasProvider(model, view));
  const usable = (alias: StoredAlias): boolean =>
    alias.row.enabled && mayUseAlias(alias, context.principal, members) && exists(alias);
  return [...(modelAliases?.values() ?? [])].filter(usable);
}

/** Whether a model alone may decide where a request goes: its body must be read. */
export function mayNameAlias(context: CallerContext, { modelAliases }: WorkspaceView): boolean {
  return modelAliases !== undefined && !namesProvider(context);
}

/** A request with the model that its name leads to; without one where a config sets it. */
export function withTargetModel<Request extends object>(request: Request, { named }: RequestConfig): Request {
  if (!named) return request;
  if (!named.isConfig) return { ...request, model: named.leadsTo };
  const { model: _, ...others } = request as Request & { model?: unknown };
  return others as unknown as Request; // the model is set before it is used
}

/** @throws {InvalidRequestError} 400 if a target sets no model where the request's is a name. */
export function requireTargetModel(
  { named }: RequestConfig,
  { path, model }: { path: string; model: string | undefined },
): void {
  if (!named || model !== undefined) return;
  throw new InvalidRequestError(
    `Cannot use the model ${named.name}: it leads to ${named.leadsTo}, and ${path} there names no model`,
    { code: "model_required", param },
  );
}

/** Codes of errors that say why a target cannot be called, without the name that led there. */
const targetCodes = new Set([
  "credential_unavailable",
  "integration_access_error",
  "invalid_config",
  "invalid_provider",
  "model_not_allowed_error",
  "provider_required",
  "virtual_key_expired_error",
]);

/** Adds to an error what the name in the model of the request leads to. */
export function nameTarget(error: GatewayError, { named }: RequestConfig): void {
  if (!named || error.code === null || !targetCodes.has(error.code)) return;
  error.message = `${error.message} (the model ${named.name} leads to ${named.leadsTo})`;
}
