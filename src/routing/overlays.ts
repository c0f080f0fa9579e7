import type { InheritedSettings } from "./config.ts";

type Overlays = Pick<InheritedSettings, "defaultParams" | "overrideParams" | "dropParams">;

/** One step of a path: a member's name, an index, or every element of a list. */
type Step = string | number | "*";

/** Names no path reaches: they are no members of a body. */
const unreachable = new Set(["__proto__", "constructor", "prototype"]);

/** Steps of `tools[0].function.strict` or `tools[*].name`; undefined for what is no path. */
function readPath(path: string): Step[] | undefined {
  const steps: Step[] = [];
  for (const part of path.split(".")) {
    const [, name = "", indexes = ""] = /^([^[\]]+)((?:\[(?:\d{1,9}|\*)\])*)$/.exec(part) ?? [];
    if (name === "" || unreachable.has(name)) return undefined;
    steps.push(name);
    for (const [, index = ""] of indexes.matchAll(/\[(\d+|\*)\]/g)) steps.push(index === "*" ? "*" : Number(index));
  }
  return steps;
}

/** A copy of a value without what the steps lead to; the value itself when there is nothing. */
function without(value: unknown, steps: readonly Step[], at = 0): unknown {
  const step = steps[at];
  const isLast = at === steps.length - 1;
  if (Array.isArray(value)) {
    if (step === "*" && isLast) return [];
    if (typeof step === "number" && isLast) return value.filter((_, index) => index !== step);
    return value.map((item, index) => (step === "*" || step === index ? without(item, steps, at + 1) : item));
  }
  if (typeof value !== "object" || value === null || typeof step !== "string" || !Object.hasOwn(value, step))
    return value;
  const { [step]: member, ...others } = value as Record<string, unknown>; // an object that is no list
  return isLast ? others : { ...value, [step]: without(member, steps, at + 1) };
}

/**
 * A body with a node's parameters: defaults for members it lacks, overrides in any case, then without what is dropped. The
 * body given stays as it is; without overlays it is returned itself.
 */
export function applyOverlays<Body extends object>(
  body: Body,
  { defaultParams, overrideParams, dropParams }: Overlays,
): Body {
  const additions = Object.entries(defaultParams).filter(([name]) => !Object.hasOwn(body, name));
  const overrides = Object.entries(overrideParams);
  if (additions.length === 0 && overrides.length === 0 && dropParams.length === 0) return body;
  const members = [...additions, ...overrides].filter(([name]) => !unreachable.has(name));
  let result: unknown = { ...body, ...Object.fromEntries(members) };
  for (const path of dropParams) {
    const steps = readPath(path);
    if (steps) result = without(result, steps);
  }
  return result as Body; // members were added and removed; what it must hold is checked by whoever sends it
}
