import { isJsonObject } from "../../lib/json.ts";

/** One place where two values differ. */
export interface Difference {
  /** Dotted path; empty: the values themselves. */
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Most differences that are looked for. */
const most = 200;

/** Where two JSON values differ, in the order of their members. */
export function findDifferences(before: unknown, after: unknown): readonly Difference[] {
  const found: Difference[] = [];
  compare(before, after, "", found);
  return found;
}

function compare(before: unknown, after: unknown, path: string, found: Difference[]): void {
  if (found.length >= most || Object.is(before, after)) return;
  const below = (name: string | number) => (path === "" ? String(name) : `${path}.${name}`);
  if (Array.isArray(before) && Array.isArray(after)) {
    for (let at = 0; at < Math.max(before.length, after.length); at++) {
      compare(before[at], after[at], below(at), found);
      if (found.length >= most) return;
    }
    return;
  }
  if (isJsonObject(before) && isJsonObject(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(before[name], after[name], below(name), found);
    }
    return;
  }
  found.push({ path, before, after });
}
