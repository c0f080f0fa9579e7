import type { Services } from "../../context.ts";
import type { WorkspaceView } from "../../control/resources.ts";
import { readStoredName } from "../../control/stored-name.ts";
import { GatewayError } from "../../errors.ts";
import { stringOf } from "../../lib/json.ts";
import type { ConfigNode } from "../../routing/config.ts";
import type { ModelFacts } from "../../schemas/model-facts.ts";
import { listLeaves, storedNameOf } from "../target/config-target.ts";
import { fromSaved } from "../target/saved-config.ts";
import type { CatalogueModel } from "./catalogue.ts";
import { describeModel, type ListedModel } from "./listed-model.ts";

type Parts = Pick<Services, "providers" | "providerRules" | "routing">;

const inAll = <Item>(lists: readonly (readonly Item[] | undefined)[]): Item[] | undefined => {
  const [first, ...others] = lists;
  return lists.includes(undefined) ? undefined : first?.filter((item) => others.every((list) => list?.includes(item)));
};

const least = (values: readonly (number | undefined)[]): number | undefined => {
  const known = values.filter((value) => value !== undefined);
  return known.length < values.length ? undefined : Math.min(...known);
};

/** True where all say so, false where one denies it, else not known. */
const holds = (values: readonly (boolean | undefined)[]): boolean | undefined => {
  if (values.includes(false)) return false;
  return values.includes(undefined) ? undefined : true;
};

/** The value that all have, if it is one. */
const same = <Value>([first, ...others]: readonly Value[]): Value | undefined =>
  others.every((other) => other === first) ? first : undefined;

/** Effort levels that all take: a model without a list takes any. */
function commonEfforts(all: readonly ModelFacts[]): ModelFacts["efforts"] {
  return inAll(all.flatMap(({ efforts }) => (efforts ? [efforts] : [])));
}

/** What holds for each of some models: a request may reach any of them. */
function commonFacts(all: readonly ModelFacts[]): ModelFacts {
  const schemas = all.map(({ responseSchemas }) => responseSchemas);
  const common = {
    contextWindow: least(all.map(({ contextWindow }) => contextWindow)),
    maxInputTokens: least(all.map(({ maxInputTokens, contextWindow }) => maxInputTokens ?? contextWindow)),
    maxOutputTokens: least(all.map(({ maxOutputTokens }) => maxOutputTokens)),
    inputs: inAll(all.map(({ inputs }) => inputs)),
    outputs: inAll(all.map(({ outputs }) => outputs)),
    takesTools: holds(all.map(({ takesTools }) => takesTools)),
    reasons: holds(all.map(({ reasons }) => reasons)),
    efforts: commonEfforts(all),
    sampling: all.find(({ sampling }) => sampling === "none")?.sampling,
    refusedFields: [...new Set(all.flatMap(({ refusedFields = [] }) => refusedFields))],
    responseSchemas: schemas.includes("none") ? "none" : same(schemas),
    thinking: same(all.map(({ thinking }) => thinking)),
    canStopThinking: holds(all.map(({ canStopThinking = true }) => canStopThinking)),
  };
  return Object.fromEntries(Object.entries(common).filter(([, value]) => value !== undefined));
}

/** The target of a config as a model; undefined where the request decides on it. */
function toModel(leaf: ConfigNode, view: WorkspaceView) {
  const named = storedNameOf(leaf);
  const { overrideParams, defaultParams } = leaf.merged;
  const set = stringOf(overrideParams.model) ?? stringOf(defaultParams.model);
  const slug = (set?.startsWith("@") ? readStoredName(set)?.model : set) ?? named?.model;
  return named && slug !== undefined && view.providers.has(named.slug) ? { slug, provider: named.slug } : undefined;
}

/** The targets of a saved config; none where it cannot be read now. */
function listTargets(slug: string, view: WorkspaceView, services: Parts): ConfigNode[] {
  const saved = view.configs.get(slug);
  try {
    return saved ? listLeaves(fromSaved(saved, view, services).node) : [];
  } catch (error) {
    if (error instanceof GatewayError) return [];
    throw error;
  }
}

/** The models of an alias of a config or a pool; undefined for targets whose model the request decides. */
function modelsOfAlias({ id, alias_of: slug = "" }: CatalogueModel, view: WorkspaceView, services: Parts) {
  const target = view.modelAliases?.get(id)?.row.target;
  if (!target || !("pool" in target)) return listTargets(slug, view, services).map((leaf) => toModel(leaf, view));
  return target.pool.models.map(({ model }) => {
    const { slug: provider = "", model: name = "" } = readStoredName(model) ?? {};
    return { slug: name, provider };
  });
}

/** An alias of a config or a pool, with what holds for all of its targets. One target has a price, several may differ. */
function describePool(entry: CatalogueModel, view: WorkspaceView, services: Parts): ListedModel {
  const { id, created, owned_by: service } = entry;
  const models = modelsOfAlias(entry, view, services);
  const known = models.filter((model) => model !== undefined);
  const listed = known.map((model) => describeModel({ id, created, ...model }, view, services));
  const facts = known.length === 0 || known.length < models.length ? {} : commonFacts(listed.map((one) => one.facts));
  const [only] = models.length === 1 ? listed : [];
  return { id, name: id, created, service, facts, prices: only?.prices };
}

/** A model or alias of the catalogue with what is known of it. */
export function describeEntry(entry: CatalogueModel, view: WorkspaceView, services: Parts): ListedModel {
  const { id, slug, provider, alias_of } = entry;
  if (alias_of === undefined) return describeModel(entry, view, services);
  if (provider === null) return describePool(entry, view, services);
  return { ...describeModel(entry, view, services), name: id, served: slug };
}
