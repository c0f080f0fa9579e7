import * as v from "valibot";
import type { CallerContext } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { readStoredName } from "../../control/stored-name.ts";
import { InvalidRequestError } from "../../errors.ts";
import { crc32 } from "../../lib/hash.ts";
import { isObject } from "../../lib/json.ts";
import type { OperationName } from "../../providers/core/operations.ts";
import { requireKeyTargets } from "./key-models.ts";
import { type RequestConfig, requireConfig } from "./saved-config.ts";
import { namedInHeaders } from "./target.ts";

type Members = Readonly<Record<string, unknown>>;

/** Operations whose bodies may name further models and providers. */
const operations: ReadonlySet<OperationName> = new Set(["chat", "complete", "messages", "responses"]);

/** Most models and providers that a request lists, and most targets that follow from them. */
const mostListed = 20;
const mostTargets = 50;

const Names = v.pipe(
  v.array(v.pipe(v.string("must be a list of strings"), v.minLength(1, "must have no empty entry"))),
  v.maxLength(mostListed, `must have at most ${mostListed} entries`),
);

/** Provider preferences (https://openrouter.ai/docs/guides/routing/provider-selection), as far as the gateway has them. */
const Preferences = v.strictObject({
  order: v.nullish(Names),
  only: v.nullish(Names),
  ignore: v.nullish(Names),
  // the providers of the request are the only ones; others take no part
  allow_fallbacks: v.nullish(v.boolean("must be true or false")),
  // what a model lacks is found by its facts
  require_parameters: v.nullish(v.boolean("must be true or false")),
});

/** Fallback models (https://openrouter.ai/docs/guides/routing/model-fallbacks). */
const Wishes = v.object({ models: v.nullish(Names), provider: v.nullish(Preferences) });

function refuse(message: string, field: string, code = "invalid_body_routing"): never {
  throw new InvalidRequestError(message, { param: field, code });
}

const chosen = ["order", "only", "ignore"];

/** Whether a body asks for a choice: other values of these fields are a provider's own. */
function asksForChoice({ models, provider }: Members): boolean {
  return Array.isArray(models) || (isObject(provider) && chosen.some((name) => Array.isArray(provider[name])));
}

function readWishes({ models, provider }: Members): v.InferOutput<typeof Wishes> {
  const read = v.safeParse(Wishes, { models, provider });
  if (read.success) return read.output;
  const [issue] = read.issues;
  const field = issue.path?.map(({ key }) => String(key)).join(".") ?? "models";
  const isUnknown = issue.type === "strict_object";
  const why = isUnknown
    ? "only order, only, ignore, allow_fallbacks and require_parameters can be used"
    : issue.message;
  return refuse(`Cannot use ${field}: ${why}, unless the provider of the request has it`, field);
}

/** Whether a request goes to a provider that reads these fields itself, or to a host of the caller. */
function isLeftTo(model: string | undefined, context: CallerContext, view: WorkspaceView): boolean {
  if (context.header("custom-host") !== null) return true;
  const stored = namedInHeaders(context)?.slug ?? readStoredName(model)?.slug;
  const known = stored === undefined ? undefined : view.providers.get(stored);
  const slug = known?.integration.aiProviderId ?? context.header("provider") ?? "";
  return context.services.providers.get(slug)?.choosesItself === true;
}

const firstOf = (models: unknown): string | undefined =>
  Array.isArray(models) && typeof models[0] === "string" ? models[0] : undefined;

/** One target of the config. */
interface WrittenTarget {
  provider?: string;
  /** The provider is that of the request. */
  passthrough?: true;
  override_params: { model: string };
}

/** Slugs of stored providers; an `@` before them changes nothing. */
function readSlugs(names: readonly string[] | null | undefined, field: string, view: WorkspaceView): string[] {
  const slugs = [...new Set((names ?? []).map((name) => name.replace(/^@/, "")))];
  const unknown = field === "ignore" ? undefined : slugs.find((slug) => !view.providers.has(slug));
  if (unknown === undefined) return slugs;
  return refuse(`Cannot use provider.${field}: there is no stored provider ${unknown}`, `provider.${field}`);
}

/** The providers of a request: those of `order` first. */
class Providers {
  readonly #listed: readonly string[];
  readonly #only: readonly string[] | undefined;
  readonly #ignored: readonly string[];

  constructor(preferences: v.InferOutput<typeof Preferences>, view: WorkspaceView) {
    const order = readSlugs(preferences.order, "order", view);
    const only = readSlugs(preferences.only, "only", view);
    this.#ignored = readSlugs(preferences.ignore, "ignore", view);
    this.#only = preferences.only ? only : undefined;
    this.#listed = [...new Set([...order, ...only])].filter((slug) => this.#allows(slug));
    this.isChosen = order.length + only.length > 0;
  }

  /** The request lists the providers it wants. */
  readonly isChosen: boolean;

  #allows(slug: string): boolean {
    return !this.#ignored.includes(slug) && this.#only?.includes(slug) !== false;
  }

  /** The targets of a model. @param asked The provider that the request names. */
  targetsOf(model: string, asked: string | undefined): WrittenTarget[] {
    const pinned = readStoredName(model);
    if (pinned) {
      if (pinned.model === undefined)
        return refuse(`Cannot use the model ${model}: it names a provider alone`, "models");
      const target = { provider: `@${pinned.slug}`, override_params: { model: pinned.model } };
      return this.#allows(pinned.slug) ? [target] : [];
    }
    if (this.isChosen) return this.#listed.map((slug) => ({ provider: `@${slug}`, override_params: { model } }));
    return asked === undefined || this.#allows(asked) ? [{ passthrough: true, override_params: { model } }] : [];
  }
}

/** The models of a request in order, each once. */
function listModels(model: string | undefined, more: readonly string[], view: WorkspaceView): string[] {
  const models = [...new Set([...(model === undefined ? [] : [model]), ...more])];
  const alias = models.find((name) => view.modelAliases?.has(name) || /^pc-/.test(name));
  if (alias === undefined) return models;
  return refuse(`Cannot use ${alias} in models: aliases and configs are named by model, alone`, "models");
}

/**
 * The config that `models` and `provider` of a body make for one request; undefined for other bodies, for requests that
 * have a config, and where the provider reads these fields itself.
 *
 * @throws {InvalidRequestError} 400 if it leads nowhere, or the key may not choose its targets.
 */
export function readBodyConfig(
  config: RequestConfig,
  { operation, value }: { operation: OperationName; value: Members },
  context: CallerContext,
): RequestConfig | undefined {
  if (!config.isImplied || config.named || !operations.has(operation) || !asksForChoice(value)) return undefined;
  const { view } = config;
  const model = typeof value.model === "string" ? value.model : undefined;
  if (isLeftTo(model ?? firstOf(value.models), context, view)) return undefined;
  const wishes = readWishes(value);
  const models = listModels(model, wishes.models ?? [], view);
  if (!context.principal.defaults.allowConfigOverride) {
    refuse("Cannot choose models or providers with this API key.", "models", "config_override_not_allowed");
  }
  const providers = new Providers(wishes.provider ?? {}, view);
  const asked = namedInHeaders(context)?.slug ?? context.header("provider") ?? undefined;
  const targets = models.flatMap((name) => providers.targetsOf(name, asked));
  if (targets.length === 0) refuse("Cannot use provider: its lists leave no provider for this request", "provider");
  // the models alone are checked as those of any request
  const pinned = targets.flatMap(({ provider, override_params: { model: name } }) =>
    provider ? [`${provider}/${name}`] : [],
  );
  requireKeyTargets(pinned, context);
  if (targets.length > mostTargets) refuse(`Cannot use models: more than ${mostTargets} targets follow`, "models");
  const text = JSON.stringify({ strategy: { mode: "fallback" }, targets });
  const node = requireConfig(context.services.routing.read(text, view.workspace.id));
  return { node, id: `${text.length}.${crc32(text)}`, slug: null, view, isImplied: false };
}

/** A request without the fields that became its config. */
export function withoutChoice<Request extends object>(request: Request): Request {
  const { models: _, provider: __, ...others } = request as Request & { models?: unknown; provider?: unknown };
  return others as unknown as Request; // neither is a field that an operation of the gateway reads
}
