import { CheckError, type CheckInput } from "./types.ts";

/**
 * The model a request names; undefined where it calls none.
 *
 * @throws {CheckError} If it calls one that it does not name.
 */
export function readModel({ request }: CheckInput): string | undefined {
  const { model } = request.body;
  if (typeof model === "string" && model !== "") return model;
  if (request.isBare) return undefined;
  throw new CheckError("Cannot check the model: the request names none");
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
