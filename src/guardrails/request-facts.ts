import { CheckError, type CheckInput } from "./types.ts";

/**
 * The models a request names, that of its body first; undefined where it calls none.
 *
 * @throws {CheckError} If it calls one that it does not name, or it cannot be seen which.
 */
export function readModels({ request }: CheckInput): [string, ...string[]] | undefined {
  const { body, isBare, otherModels } = request;
  if (isBare && body.model === undefined) return undefined;
  const named = typeof body.model === "string" && body.model !== "" ? [body.model] : [];
  const { names = [], isUnclear = false } = otherModels?.(body) ?? {};
  if (isUnclear) throw new CheckError("Cannot check the model: it cannot be seen which ones the request names");
  const [first, ...others] = new Set([...named, ...names]);
  if (first === undefined) throw new CheckError("Cannot check the model: the request names none");
  return [first, ...others];
}

/** The names a model goes by: as it was written, and without the stored provider written before it as `@slug/`. */
export function namesOfModel(model: string): string[] {
  const end = model.startsWith("@") ? model.indexOf("/") : -1;
  return end < 0 ? [model] : [model, model.slice(end + 1)];
}

/** A fact of the metadata; undefined where it is missing or null. */
export function factOf(metadata: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(metadata, key) ? (metadata[key] ?? undefined) : undefined;
}

/** How many of a list must hold. */
export const operators = ["all", "any", "none"] as const;

/** Whether as many hold as the operator wants. */
export function holdsBy(operator: (typeof operators)[number], held: number, total: number): boolean {
  return { all: held === total, any: held > 0, none: held === 0 }[operator];
}
