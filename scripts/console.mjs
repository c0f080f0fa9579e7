// npm run console:build: builds the console when its sources changed, as `npm start` does.

import { ensureConsole, ensureInstalled } from "./lib.mjs";

ensureInstalled();
process.exit((await ensureConsole()) === undefined ? 0 : 1);
