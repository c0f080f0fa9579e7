// The unit of systemd: its syntax, and how much it may do.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFolder } from "../../tests/support/process.ts";
import { requirePrograms, root, run } from "./run.ts";

/** Largest exposure, on systemd's scale from 0 (none) to 10. */
const maxExposure = 3;

/** Checks the unit with systemd's own tools. */
export async function checkUnit(): Promise<void> {
  requirePrograms("systemd-analyze");
  const unit = join(root, "deploy/systemd/gateway.service");
  const copy = join(createFolder(), "gateway.service");
  // a program that exists here stands for the installed one
  writeFileSync(
    copy,
    readFileSync(unit, "utf8").replace("ExecStart=/usr/bin/gateway", `ExecStart=${process.execPath}`),
  );
  await run("systemd-analyze", ["verify", "--man=no", copy]);
  const printed = await run("systemd-analyze", ["security", "--offline=true", "--no-pager", unit]);
  const exposure = Number(/exposure level for \S+: ([\d.]+)/.exec(printed)?.[1]);
  assert.ok(exposure < maxExposure, printed);
  console.log(`  valid; exposure ${exposure} of 10`);
}
