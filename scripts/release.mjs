// npm run release:check [-- steps]: installs what a release needs, and builds and checks it. The packages are installed before Bun
// starts, because it takes a folder without packages to stay so.

import { join } from "node:path";
import { ensureConsole, ensureInstalled, installReleaseTools, requireTool, root, runForeground } from "./lib.mjs";

ensureInstalled();
const problem = (await ensureConsole()) ?? (await installReleaseTools());
if (problem !== undefined) {
  console.error(problem);
  process.exit(1);
}
runForeground(requireTool("bun"), [join(root, "scripts/release/check.ts"), ...process.argv.slice(2)]);
