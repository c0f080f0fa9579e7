import type { CallerContext } from "../../context.ts";
import { modelsOfTarget, type StoredAlias } from "../../control/alias-library.ts";
import type { StoredProvider } from "../../control/provider-library.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { readStoredName } from "../../control/stored-name.ts";
import { InvalidRequestError } from "../../errors.ts";
import { listModels as listPricedModels } from "../../pricing/prices.ts";
import { limitOfKey } from "../target/key-models.ts";
import { listAliases } from "../target/named-config.ts";
import { allowsModel, isUsableProvider } from "../target/stored-provider.ts";

/** A model the workspace may call. */
export interface CatalogueModel {
  /** The name a request uses for it: `@provider/model`. */
  id: string;
  object: "model";
  /** Unix seconds. */
  created: number;
  owned_by: string;
  /** The provider's own name of the model. */
  slug: string;
  /** Slug of the stored provider; null for an alias of a config or a pool. */
  provider: string | null;
  /** Slug of the service behind it; null as above. */
  ai_service: string | null;
  /** What an alias leads to: models as `@provider/model`, or the slug of a config. Absent for models. */
  alias_of?: string;
}

/** Models of one provider: those named in settings, and where all models are allowed, those with known facts. */
function modelsOf(stored: StoredProvider): CatalogueModel[] {
  const { row, integration, models } = stored;
  const known = integration.allowAllModels ? listPricedModels(integration.aiProviderId) : [];
  const names = new Set([...models.keys(), ...known]);
  return [...names]
    .filter((name) => allowsModel(stored, name))
    .map((name) => ({
      id: `@${row.slug}/${name}`,
      object: "model",
      created: Math.floor(row.createdAt / 1000),
      owned_by: integration.aiProviderId,
      slug: name,
      provider: row.slug,
      ai_service: integration.aiProviderId,
    }));
}

function toAliasModel({ row: { name, target, createdAt } }: StoredAlias, view: WorkspaceView): CatalogueModel {
  const named = "model" in target ? readStoredName(target.model) : undefined;
  const stored = view.providers.get(named?.slug ?? "");
  const service = stored?.integration.aiProviderId ?? null;
  return {
    id: name,
    object: "model",
    created: Math.floor(createdAt / 1000),
    owned_by: service ?? "gateway",
    slug: named?.model ?? name,
    provider: stored?.row.slug ?? null,
    ai_service: service,
    alias_of: "config" in target ? target.config : modelsOfTarget(target).join(", "),
  };
}

/** The aliases that a caller may use now, as models; then every model its workspace may call, as far as its key may. */
export function listCatalogue(view: WorkspaceView, context: CallerContext): CatalogueModel[] {
  const now = context.services.clock.now();
  const aliases = listAliases(context, view).map((alias) => toAliasModel(alias, view));
  const providers = [...new Set(view.providers.values())].filter((stored) => isUsableProvider(stored, now));
  const models = [...aliases, ...providers.flatMap(modelsOf)];
  const limit = limitOfKey(context);
  return limit ? models.filter(({ id }) => limit.allows(id)) : models;
}

/**
 * The model of a name: an alias, `@provider/model`, or the provider's own name. If several match, the first in order of
 * ids.
 */
export function findModel(models: readonly CatalogueModel[], name: string): CatalogueModel | undefined {
  const exact = models.find(({ id }) => id === name);
  const isNamed = ({ slug, alias_of }: CatalogueModel) => slug === name && alias_of === undefined;
  return exact ?? models.filter(isNamed).sort((a, b) => (a.id < b.id ? -1 : 1))[0];
}

const sortKeys = { name: "slug", provider: "provider", ai_service: "ai_service" } as const;

function readNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (/^[0-9]{1,6}$/.test(text)) return Number(text);
  throw new InvalidRequestError(`Cannot use ${name}: it must be a whole number`, {
    param: name,
    code: "invalid_query",
  });
}

/** The part of the catalogue a query selects: `ai_service`, `provider`, `sort`, `order`, `limit`, `offset`. */
export function selectModels(models: readonly CatalogueModel[], { url }: Pick<CallerContext, "url">): CatalogueModel[] {
  const query = url.searchParams;
  const sort = query.get("sort") ?? "name";
  const order = query.get("order") ?? "asc";
  if (!Object.hasOwn(sortKeys, sort) || !["asc", "desc"].includes(order)) {
    const param = Object.hasOwn(sortKeys, sort) ? "order" : "sort";
    throw new InvalidRequestError(`Cannot use ${param}: sort is name, provider or ai_service, order is asc or desc`, {
      param,
      code: "invalid_query",
    });
  }
  const key = sortKeys[sort as keyof typeof sortKeys]; // checked above
  const sign = order === "asc" ? 1 : -1;
  const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
  const service = query.get("ai_service");
  const provider = query.get("provider")?.replace(/^@/, "");
  const offset = readNumber(query, "offset") ?? 0;
  return models
    .filter((model) => service === null || model.ai_service === service)
    .filter((model) => provider === undefined || model.provider === provider)
    .sort((a, b) => sign * (compare(a[key] ?? "", b[key] ?? "") || compare(a.id, b.id)))
    .slice(offset, offset + (readNumber(query, "limit") ?? models.length));
}
