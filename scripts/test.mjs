// npm test [-- arguments of ok.mjs]: installs what is missing, then checks and tests everything CI does.

import { ensureInstalled } from "./lib.mjs";

ensureInstalled();
await import("./ok.mjs");
