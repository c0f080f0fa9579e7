import type { AllowedModels } from "../../auth/allowed-models.ts";
import type { CallerContext } from "../../context.ts";
import { readStoredName } from "../../control/stored-name.ts";
import { InvalidRequestError, PermissionError } from "../../errors.ts";
import type { NamedModels } from "../../providers/core/model-names.ts";
import type { RequestConfig } from "./saved-config.ts";
import { namedInHeaders } from "./target.ts";

const code = "key_model_access_error";

/** Most names that an error lists. */
const mostShown = 10;

/**
 * The names that the key of a request is limited to; undefined where it may use all. Requests that the gateway makes for
 * saved settings call the models of these.
 */
export function limitOfKey({ principal, connection }: CallerContext): AllowedModels | undefined {
  const isOfSettings = connection.ignoresConfig || connection.isUnguarded || connection.apart;
  return isOfSettings ? undefined : principal.allowedModels;
}

function refuse(what: string, { names }: AllowedModels): never {
  const more = names.length > mostShown ? ` and ${names.length - mostShown} more` : "";
  const shown = names.slice(0, mostShown).join(", ");
  throw new PermissionError(`Forbidden! This API key may not use ${what}: it may use ${shown}${more}`, {
    code,
    param: "model",
  });
}

/** What a list of a key has before a model: the provider that the headers name, else that of the request's own model. */
function prefixOf(context: CallerContext, model: string | undefined): string {
  const stored = namedInHeaders(context);
  const service = context.header("provider");
  if (stored) return `@${stored.slug}/`;
  if (service !== null) return `${service}/`;
  const named = readStoredName(model);
  return named ? `@${named.slug}/` : "";
}

/** A model as lists of keys name it. */
function fullName(model: string, prefix: string, context: CallerContext): string {
  const isBesideHeaders = namedInHeaders(context) !== undefined || context.header("provider") !== null;
  // a reference to the provider of the headers, or to any where they name none
  const isWhole = isBesideHeaders ? prefix.startsWith("@") && model.startsWith(prefix) : readStoredName(model);
  return isWhole ? model : `${prefix}${model}`;
}

/** Whether the key of a request may use a model of a list. */
export function mayUseModel(model: string, context: CallerContext): boolean {
  const limit = limitOfKey(context);
  return limit === undefined || limit.allows(fullName(model, prefixOf(context, undefined), context));
}

/** A request as its key is checked. */
interface NamingRequest {
  /** All models that it names. */
  readonly named: NamedModels;
  /** The one that it is for. */
  readonly model: string | undefined;
  /** Without a name it may call any: no saved setting says which. */
  readonly needsModel: boolean;
}

/**
 * Refuses a request for models that its key may not use.
 *
 * @throws {PermissionError} 403
 */
export function requireKeyModels({ named, model, needsModel }: NamingRequest, context: CallerContext): void {
  const limit = limitOfKey(context);
  if (!limit) return;
  const prefix = prefixOf(context, model);
  // Google's clients write it before names
  const given = named.names.map((name) => name.replace(/^models\//, ""));
  const beside = given.length === 0 ? namedInHeaders(context)?.model : undefined;
  const names = beside === undefined ? given : [beside];
  for (const name of names) {
    const full = fullName(name, prefix, context);
    if (!limit.allows(full)) refuse(`the model ${full}`, limit);
  }
  const mayBeAny = named.isUnclear || (names.length === 0 && needsModel);
  if (mayBeAny && !limit.allows(`${prefix}*`)) refuse("a model that the request does not name plainly", limit);
}

/** Refuses targets that a request lists. @throws {PermissionError} 403 */
export function requireKeyTargets(targets: readonly string[], context: CallerContext): void {
  const limit = limitOfKey(context);
  const refused = limit && targets.find((target) => !limit.allows(target));
  if (limit && refused !== undefined) refuse(`the model ${refused}`, limit);
}

/**
 * Refuses a config that a request brings or names, where its key is limited to models: a config may lead to any.
 *
 * @throws {GatewayError} 400 for one in the request, 403 for a saved one.
 */
export function requireKeyConfig({ slug }: RequestConfig, context: CallerContext): void {
  const limit = limitOfKey(context);
  if (!limit) return;
  if (slug === null) {
    throw new InvalidRequestError(
      "Cannot use a config in the request with this API key, which may use some models only: save the config, and name it by its slug",
      { code: "inline_config_blocked", param: "x-gateway-config", field: "config" },
    );
  }
  if (!limit.allows(slug)) refuse(`the config ${slug}`, limit);
}
