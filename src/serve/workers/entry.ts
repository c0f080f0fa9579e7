// What Deno runs as a child process: with a default export, as in `mod.ts`, it would expect `deno serve`.

import { main } from "../host.ts";

await main();
