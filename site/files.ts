import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

/** Folder of the repository. */
export const repository = resolve(import.meta.dirname, "..");

export function readText(path: string): string {
  return readFileSync(join(repository, path), "utf8");
}
