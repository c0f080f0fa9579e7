import { CheckError, type CheckInput } from "./types.ts";

/**
 * The models a request names, starting with that of its body; undefined where it calls no model.
 *
 * @throws {CheckError} If it calls a model that it does not name or that cannot be determined.
 */
export function readModels({ request }: CheckInput): [string, ...string[]] | undefined {
  const { body, isBare, otherModels } = request;
  if (isBare && body.model === undefined) return undefined;
  const named = typeof body.model === "string" && body.model !== "" ? [body.model] : [];
  const { names = [], isUnclear = false } = otherModels?.(body) ?? {};
  if (isUnclear) throw new CheckError("Cannot check the model: the models of the request cannot be determined");
  const [first, ...others] = new Set([...named, ...names]);
  if (first === undefined) throw new CheckError("Cannot check the model: the request does not name one");
  return [first, ...others];
}

/** Names of a model: as written, and without a leading `@slug/` of an integration. */
export function namesOfModel(model: string): string[] {
  const end = model.startsWith("@") ? model.indexOf("/") : -1;
  return end < 0 ? [model] : [model, model.slice(end + 1)];
}

/** What a model of a request is also called: the alias by which the request names the model of its body. */
export function aliasesOf(model: string, { request: { body, alias } }: CheckInput): readonly string[] {
  return alias !== undefined && model === body.model ? [alias] : [];
}

/** A metadata value; undefined where it is missing or null. */
export function factOf(metadata: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(metadata, key) ? (metadata[key] ?? undefined) : undefined;
}

/** How many entries of a list must match. */
export const operators = ["all", "any", "none"] as const;

/** Whether enough entries match for an operator. */
export function holdsBy(operator: (typeof operators)[number], held: number, total: number): boolean {
  return { all: held === total, any: held > 0, none: held === 0 }[operator];
}
