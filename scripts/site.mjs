// npm run docs: installs what makes the site of the documentation, and writes it into dist/site.

import { join } from "node:path";
import { ensureInstalled, installSite, requireTool, root, runForeground } from "./lib.mjs";

ensureInstalled();
const problem = await installSite();
if (problem !== undefined) {
  console.error(problem);
  process.exit(1);
}
runForeground(requireTool("bun"), [join(root, "site/build.ts")]);
