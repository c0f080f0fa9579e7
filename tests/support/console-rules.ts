// Rules over the sources of the console.

import type { Rule } from "./architecture.ts";
import { importsOf, resolveImport } from "./source-files.ts";

/**
 * Folders of `console/src`, lowest first: a file imports from its own folder and from lower ones. Files beside the folders
 * come last. A folder of pages may use another one below it.
 */
const order = [
  "text",
  "api",
  "lib",
  "components",
  "session",
  "layout",
  "chat",
  "resources",
  "resources/checks",
  "resources/schema-form",
  "resources/settings",
  "resources/sections",
  "records",
  "pages/playground",
  "pages/configs",
  "pages/prompts",
  "pages/overview",
  "pages/logs/conversation",
  "pages/logs",
  "pages/analytics",
  "pages/organisation",
  "pages",
  "shell",
];

/**
 * Place of a file in the order; undefined: its folder has none. Folders that are not named stand where their parent does.
 */
function rankOf(path: string): number | undefined {
  let folder = path.replace(/^console\/src\//, "").replace(/\/?[^/]+$/, "");
  if (folder === "") return order.length;
  while (!order.includes(folder) && folder.includes("/")) folder = folder.replace(/\/[^/]+$/, "");
  const rank = order.indexOf(folder);
  return rank < 0 ? undefined : rank;
}

/** Imports of code against the order of the folders of the console, and folders without a place in it. */
export const consoleLayers: Rule = (files) =>
  files.flatMap((file) => {
    const rank = rankOf(file.path);
    if (rank === undefined) return [`${file.path}: its folder has no place in the console`];
    return importsOf(file).flatMap(({ specifier, line }) => {
      const target = resolveImport(file.path, specifier);
      if (target === undefined || !/^console\/src\/.*\.tsx?$/.test(target)) return [];
      const targetRank = rankOf(target) ?? order.length;
      return targetRank <= rank ? [] : [`${file.path}:${line}: imports ${specifier}, a higher folder of the console`];
    });
  });
