import { isObject } from "../../lib/json.ts";

/** Deepest value that is compared: what lies deeper counts as different. */
const maxDepth = 64;

/** Whether two JSON values are equal, whatever the order of their members. */
export function isSameJson(a: unknown, b: unknown, depth = 0): boolean {
  if (a === b) return true;
  if (depth > maxDepth) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    return a.every((one, index) => isSameJson(one, b[index], depth + 1));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name], b[name], depth + 1));
}
