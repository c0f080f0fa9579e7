import { isObject } from "../lib/json.ts";
import type { InheritedSettings } from "./config.ts";

type ParamOverrides = Pick<InheritedSettings, "defaultParams" | "overrideParams" | "dropParams">;

/** Every element of a list. */
const everyElement = Symbol("every element");
/** One step of a path: a field name, an index, or every element of a list. */
type Step = string | number | typeof everyElement;

/** Names that no path can reach: they are not fields of a body. */
const unreachable = new Set(["__proto__", "constructor", "prototype"]);

/** Steps of `tools[0].function.strict` or `tools[*].name`; undefined for an invalid path. */
function readPath(path: string): Step[] | undefined {
  const steps: Step[] = [];
  for (const part of path.split(".")) {
    const [, name = "", indexes = ""] = /^([^[\]]+)((?:\[(?:\d{1,9}|\*)\])*)$/.exec(part) ?? [];
    if (name === "" || unreachable.has(name)) return undefined;
    steps.push(name);
    for (const [, index = ""] of indexes.matchAll(/\[(\d+|\*)\]/g))
      steps.push(index === "*" ? everyElement : Number(index));
  }
  return steps;
}

/** A copy of a value without what the paths point to; indices refer to the original. Without paths, the value itself. */
function without(value: unknown, paths: readonly (readonly Step[])[], at = 0): unknown {
  if (paths.length === 0) return value;
  const keep = (item: unknown, leadsHere: (step: Step | undefined) => boolean): [unknown] | undefined => {
    const here = paths.filter((steps) => leadsHere(steps[at]));
    return here.some((steps) => steps.length === at + 1) ? undefined : [without(item, here, at + 1)];
  };
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => keep(item, (step) => step === everyElement || step === index) ?? []);
  }
  if (!isObject(value)) return value;
  const members = Object.entries(value).flatMap(([name, member]) => {
    const kept = keep(member, (step) => step === name);
    return kept ? [[name, kept[0]] as const] : [];
  });
  return Object.fromEntries(members);
}

function isEmpty(members: object): boolean {
  for (const _ in members) return false;
  return true;
}

/** Whether parameters change bodies. */
export function changesBody({ defaultParams, overrideParams, dropParams }: ParamOverrides): boolean {
  return dropParams.length > 0 || !isEmpty(defaultParams) || !isEmpty(overrideParams);
}

/**
 * A body with a node's parameters: adds defaults for missing fields, sets overrides, then removes dropped fields. The
 * given body is not modified; without parameters it is returned itself.
 */
export function applyParamOverrides<Body extends object>(
  body: Body,
  { defaultParams, overrideParams, dropParams }: ParamOverrides,
): Body {
  const additions = Object.entries(defaultParams).filter(([name]) => !Object.hasOwn(body, name));
  const overrides = Object.entries(overrideParams);
  if (additions.length === 0 && overrides.length === 0 && dropParams.length === 0) return body;
  const members = [...additions, ...overrides].filter(([name]) => !unreachable.has(name));
  const paths = dropParams.map(readPath).filter((path) => path !== undefined);
  const result = without({ ...body, ...Object.fromEntries(members) }, paths);
  return result as Body; // the sender checks the required fields of the resulting body
}
