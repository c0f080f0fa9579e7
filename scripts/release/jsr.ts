// The sources as a package of JSR: what `deno publish` would send, without sending it.

import assert from "node:assert/strict";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFolder } from "../../tests/support/process.ts";
import { requireTool } from "../lib.mjs";
import { packageName } from "./npm-package.ts";
import { root, run, version } from "./run.ts";

/** What the package consists of. */
const published = ["mod.ts", "src", "packages", "LICENSE", "README.md"];

/** Checks the sources as a package of JSR. Types of schemas follow from their values, which JSR calls slow types. */
export async function checkJsr(): Promise<void> {
  const folder = createFolder();
  const isTest = (path: string) => /[\\/]tests(?:[\\/]|$)/.test(path.slice(root.length));
  for (const name of published) {
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: (path) => !isTest(path) });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const { dependencies, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const imports = Object.entries<string>(dependencies).flatMap(([name, exact]) => [
    [name, `npm:${name}@${exact}`],
    [`${name}/`, `npm:/${name}@${exact}/`],
  ]);
  const settings = {
    ...JSON.parse(readFileSync(join(root, "deno.json"), "utf8")),
    name: packageName,
    version,
    license,
    exports: "./mod.ts",
    imports: Object.fromEntries(imports),
    publish: { include: published },
  };
  writeFileSync(join(folder, "deno.json"), JSON.stringify(settings, null, 2));
  const options = ["--dry-run", "--allow-dirty", "--allow-slow-types", "--no-check"];
  const printed = await run(requireTool("deno"), ["publish", ...options], {
    cwd: folder,
    env: { NO_COLOR: "1" },
    withErrors: true,
  });
  assert.match(printed, /Dry run complete/);
  console.log("  deno publish takes the sources");
}
