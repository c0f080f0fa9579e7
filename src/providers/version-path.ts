import { joinUrl } from "../lib/path.ts";

/** Whether a path below `/v1` begins with another version, such as `/v2/videos`. */
export function hasOwnVersion(path: string): boolean {
  return /^\/v[2-9]\//.test(path);
}

/** The address of a path: one that begins with a version takes the place of the base address's own. */
export function joinVersioned(base: string, path: string): string {
  return joinUrl(hasOwnVersion(path) ? base.replace(/\/v[0-9]+\/?$/, "") : base, path);
}
