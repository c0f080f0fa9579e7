// npm start [-- arguments]: installs what is missing and serves the gateway on Bun.

import { join } from "node:path";
import { ensureInstalled, requireTool, root, runForeground } from "./lib.mjs";

ensureInstalled();
runForeground(requireTool("bun"), ["run", join(root, "mod.ts"), ...process.argv.slice(2)], { cleanOnSignal: true });
