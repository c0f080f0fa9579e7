// npm start [-- arguments]: installs what is missing, builds the console when its sources changed, and serves the gateway on Bun.

import { join } from "node:path";
import { beginConsole, ensureConsole, ensureInstalled, requireTool, root, runForeground } from "./lib.mjs";

// commands show no page
const servesPages = process.argv.length <= 2;
if (servesPages) beginConsole();
ensureInstalled();
if (servesPages) await ensureConsole();
runForeground(requireTool("bun"), ["run", join(root, "mod.ts"), ...process.argv.slice(2)], {
  cleanOnSignal: true,
  // Bun reads this once, when it starts: without it, it runs at most 256 calls at once and queues the rest.
  env: { BUN_CONFIG_MAX_HTTP_REQUESTS: "65336", ...process.env },
});
