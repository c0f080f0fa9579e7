// npm run release:check [-- step ...]: builds what a release publishes into dist/release, and checks it as its users would.
// A step that this machine cannot do says what is missing and counts as left out; with --complete it fails.

import { mkdirSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { checkMaterials } from "./bill-of-materials.ts";
import { checkBinaries } from "./binaries.ts";
import { checkChart } from "./charts.ts";
import { checkPythonClient } from "./client-python.ts";
import { checkTypescriptClient } from "./client-typescript.ts";
import { checkCompose } from "./compose.ts";
import { checkDebianPackage } from "./debian-package.ts";
import { checkHosts } from "./hosts.ts";
import { checkImage } from "./image.ts";
import { checkJsr } from "./jsr.ts";
import { checkPackage } from "./npm-package.ts";
import { checkCaddy, checkNginx } from "./proxy.ts";
import { author, CannotCheckError, releaseFolder } from "./run.ts";
import { checkUnit } from "./unit.ts";

/** Requires that packages name who publishes them. */
async function checkPublisher(): Promise<void> {
  if (author.includes("@example.")) throw new CannotCheckError("set `author` in package.json to your name and address");
}

/** What a release consists of, in the order in which it is built. */
const steps: Readonly<Record<string, () => Promise<void>>> = {
  publisher: checkPublisher,
  npm: checkPackage,
  jsr: checkJsr,
  "client-typescript": checkTypescriptClient,
  "client-python": checkPythonClient,
  binaries: checkBinaries,
  image: checkImage,
  unit: checkUnit,
  debian: checkDebianPackage,
  chart: checkChart,
  compose: checkCompose,
  nginx: checkNginx,
  caddy: checkCaddy,
  hosts: checkHosts,
  materials: checkMaterials,
};

const { values, positionals } = parseArgs({ allowPositionals: true, options: { complete: { type: "boolean" } } });
const unknown = positionals.filter((name) => steps[name] === undefined);
if (unknown.length > 0) {
  console.error(`Cannot check "${unknown.join(", ")}": the steps are ${Object.keys(steps).join(", ")}`);
  process.exit(2);
}

mkdirSync(releaseFolder, { recursive: true });

const results = { passed: 0, failed: 0, skipped: 0 };
for (const [name, step] of Object.entries(steps)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const startedAt = performance.now();
  console.log(name);
  try {
    await step();
    results.passed++;
    console.log(`  passed in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  } catch (error) {
    const isLeftOut = error instanceof CannotCheckError && !values.complete;
    results[isLeftOut ? "skipped" : "failed"]++;
    console.error(isLeftOut ? `  left out: ${error.message}` : error);
  }
}
console.log(`${results.passed} passed, ${results.failed} failed, ${results.skipped} skipped`);
process.exit(results.failed > 0 ? 1 : 0);
