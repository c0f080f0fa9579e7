import type { CallRecord } from "../../context/call-record.ts";
import type { Subject } from "../../policies/conditions.ts";
import type { BoundProvider } from "../../providers/core/types.ts";

/** Most models a call may name, and the longest name. A call beyond them may name any model. */
const maxModels = 100;
const maxLength = 1_024;

/** What limits read of a provider. */
export interface NamedProvider {
  readonly slug: string;
  readonly models: Pick<BoundProvider["models"], "canonical">;
}

/**
 * The models a call names, for the conditions of policies: the one the provider is called with first, each by its
 * canonical name and as it was written.
 *
 * @returns Undefined where the call may name any model.
 */
export function modelsOfCall(
  { models }: Pick<NamedProvider, "models">,
  { model, requestedModel, names, stored }: CallRecord,
): Subject["models"] {
  const further = names?.();
  if (further?.isUnclear) return undefined;
  const given = [model, requestedModel, ...(further?.names ?? [])].filter((name) => name !== null);
  if (given.length > maxModels || given.some((name) => name.length > maxLength)) return undefined;
  const prefix = stored ? `@${stored.slug}/` : "";
  const found = new Map<string, Set<string>>();
  for (const name of given.filter((one) => one !== "")) {
    const plain = name.startsWith(prefix) ? name.slice(prefix.length) : name;
    const canonical = models.canonical(plain);
    found.set(canonical, (found.get(canonical) ?? new Set([canonical])).add(plain));
  }
  return [...found.values()].map((spellings) => [...spellings]);
}
