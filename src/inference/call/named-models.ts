import type { CallRecord } from "../../context/call-record.ts";
import type { Subject } from "../../policies/conditions.ts";
import type { NamedModels } from "../../providers/core/model-names.ts";
import type { BoundProvider } from "../../providers/core/types.ts";

/** Most models a call may name, and the longest name. A call beyond them may name any model. */
const maxModels = 100;
const maxLength = 1_024;

/** What limits read of a provider. */
export interface NamedProvider {
  readonly slug: string;
  readonly models: Pick<BoundProvider["models"], "canonical">;
}

/** A call whose models are asked for. */
export interface NamedCall {
  readonly provider: NamedProvider;
  /** Lists the models that the call names anywhere but in the record of its request. Absent: none. */
  readonly listModels?: ListModels | undefined;
}

/** Lists the models that a call names. It runs only where a limit depends on models. */
type ListModels = () => NamedModels;

const noNames: readonly string[] = [];

/**
 * The models a call names, for the conditions of policies: the one the provider is called with first, each by its
 * canonical name and as it was written.
 *
 * @returns Undefined where the call may name any model.
 */
export function modelsOfCall(
  { provider: { models }, listModels }: NamedCall,
  { model, requestedModel, stored }: CallRecord,
): Subject["models"] {
  const further = listModels?.();
  if (further?.isUnclear) return undefined;
  const given: string[] = [];
  // most calls name one model, in several places
  if (model !== null) given.push(model);
  if (requestedModel !== null && requestedModel !== model) given.push(requestedModel);
  for (const name of further?.names ?? noNames) if (name !== given[0]) given.push(name);
  if (given.length > maxModels || given.some(({ length }) => length > maxLength)) return undefined;
  const found: [canonical: string, ...string[]][] = [];
  for (const name of given) {
    if (name === "") continue;
    const plain = plainName(name, stored);
    const canonical = models.canonical(plain);
    const known = found.find(([one]) => one === canonical);
    if (!known) found.push(plain === canonical ? [canonical] : [canonical, plain]);
    else if (!known.includes(plain)) known.push(plain);
  }
  return found;
}

/**
 * What the models of a call that names one or two follow from: the one that the provider is called with, the one that was
 * asked for, and their canonical names.
 *
 * @returns Undefined for calls that name others, or may name any.
 */
export function fewModelsOfCall(
  { provider: { models }, listModels }: NamedCall,
  { model, requestedModel, stored }: CallRecord,
): readonly [string | null, string | null, string, string] | undefined {
  const further = listModels?.();
  if (further) {
    if (further.isUnclear) return undefined;
    for (const name of further.names) if (name !== model && name !== requestedModel) return undefined;
  }
  const canonical = model === null ? "" : models.canonical(plainName(model, stored));
  if (requestedModel === null || requestedModel === model) return [model, requestedModel, canonical, canonical];
  return [model, requestedModel, canonical, models.canonical(plainName(requestedModel, stored))];
}

/** A model's name without that of the stored provider. */
function plainName(name: string, stored: CallRecord["stored"]): string {
  if (!stored || !name.startsWith("@")) return name;
  const prefix = `@${stored.slug}/`;
  return name.startsWith(prefix) ? name.slice(prefix.length) : name;
}
