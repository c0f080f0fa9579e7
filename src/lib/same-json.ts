import { isObject } from "./json.ts";

/** Deepest value that is compared: what lies deeper counts as different. */
const maxDepth = 64;

/** Whether two JSON values are equal, whatever the order of their members. */
export function isSameJson(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true;
  if (depth > maxDepth) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let index = 0; index < a.length; index++) if (!isSameJson(a[index], b[index], depth + 1)) return false;
    return true;
  }
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  for (const name of names) {
    const one = a[name];
    const other = b[name];
    if (one === other ? !Object.hasOwn(b, name) : !isSameJson(one, other, depth + 1)) return false;
  }
  return true;
}
