#!/usr/bin/env node
// Program of the npm package: it listens by itself on every runtime.

import process from "node:process";
import { main } from "./host.ts";

await main(process.argv.slice(2), false);
