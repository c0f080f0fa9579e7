// A Debian system in a folder, made by debootstrap: the base of the container image, and where the package is installed.

import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { requirePrograms, root, run } from "./run.ts";

const folder = join(root, "dist/targets/debian");
const finished = `${folder}.finished`;

/** The release whose libraries the image has. */
const suite = "bookworm";

/** A Debian with systemd; made once. Nothing may change it: use a copy. */
export async function debianSystem(): Promise<string> {
  if (existsSync(finished)) return folder;
  requirePrograms("debootstrap");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(dirname(folder), { recursive: true });
  await run("debootstrap", ["--variant=minbase", "--include=systemd,systemd-sysv,dbus", suite, folder]);
  writeFileSync(finished, suite);
  return folder;
}
