// node scripts/run.mjs <bun|deno|node|biome|tsc> [arguments]: runs a pinned tool, installing first what is missing.

import { ensureInstalled, requireTool, runForeground, tools } from "./lib.mjs";

const [name, ...args] = process.argv.slice(2);
if (name === undefined || !tools.includes(name)) {
  console.error(`usage: node scripts/run.mjs <${tools.join("|")}> [arguments]`);
  process.exit(2);
}
ensureInstalled();
runForeground(requireTool(name), args);
