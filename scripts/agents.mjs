// npm run test:agents [-- arguments of ok.mjs]: installs the coding agents of tests/agent-sessions and holds their sessions.

import { ensureInstalled, installAgents } from "./lib.mjs";

ensureInstalled();
console.error("Installing the coding agents where they are missing: about 1 GB of npm and PyPI packages ...");
const problem = await installAgents();
if (problem !== undefined) {
  console.error(`${problem}\nCannot install the coding agents. Their sessions need the npm and PyPI registries once.`);
  process.exit(1);
}
process.argv.splice(2, 0, "tests/agent-sessions");
await import("./ok.mjs");
