// Single programs for all platforms, from Bun's runtimes of the npm registry: no other download is needed.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createFolder, runCommand, startAndFail } from "../../tests/support/process.ts";
import { requireTool } from "../lib.mjs";
import {
  digestOf,
  findProgram,
  megabytes,
  releaseFolder,
  requireServing,
  root,
  run,
  sizeOf,
  sourceDate,
  version,
} from "./run.ts";

/** Packages of each platform: Bun's runtime and libSQL's module. */
const platforms: Readonly<Record<string, { runtime: string; library: string; format: RegExp }>> = {
  "linux-x64": { runtime: "bun-linux-x64", library: "linux-x64-gnu", format: /^\x7fELF/ },
  "linux-x64-musl": { runtime: "bun-linux-x64-musl", library: "linux-x64-musl", format: /^\x7fELF/ },
  "linux-arm64": { runtime: "bun-linux-aarch64", library: "linux-arm64-gnu", format: /^\x7fELF/ },
  "linux-arm64-musl": { runtime: "bun-linux-aarch64-musl", library: "linux-arm64-musl", format: /^\x7fELF/ },
  "darwin-x64": { runtime: "bun-darwin-x64", library: "darwin-x64", format: /^\xcf\xfa\xed\xfe/ },
  "darwin-arm64": { runtime: "bun-darwin-aarch64", library: "darwin-arm64", format: /^\xcf\xfa\xed\xfe/ },
  "windows-x64": { runtime: "bun-windows-x64", library: "win32-x64-msvc", format: /^MZ/ },
};

/** Largest program. Bun's runtime is 101 to 117 MB of it. */
const maxBytes = 180_000_000;

/** Installs the packages of all platforms in a separate folder; returns its node_modules. */
async function installTargets(): Promise<string> {
  const folder = join(root, "dist/targets");
  const bun = JSON.parse(readFileSync(join(root, "node_modules/bun/package.json"), "utf8")).version;
  const libsql = createRequire(join(root, "mod.ts"))("libsql/package.json").version;
  const wanted = Object.values(platforms).flatMap(({ runtime, library }) => [
    { name: `@oven/${runtime}`, version: bun },
    { name: `@libsql/${library}`, version: libsql },
  ]);
  const isThere = wanted.every(({ name, version: exact }) => {
    const file = join(folder, "node_modules", name, "package.json");
    return existsSync(file) && JSON.parse(readFileSync(file, "utf8")).version === exact;
  });
  if (!isThere) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{ "private": true }');
    const names = wanted.map(({ name, version: exact }) => `${name}@${exact}`);
    // --force: they are for other platforms
    const options = ["--no-save", "--force", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
    await run("npm", ["install", ...options, ...names], { cwd: folder });
  }
  return join(folder, "node_modules");
}

interface CompileOptions {
  platform: string;
  /** Compiled code beside the sources: a start takes a fifth of the time, and the program is a fifth larger. */
  bytecode?: boolean;
}

/** Compiles the program of a platform into a new folder. The name is always the same: it is part of the program. */
export async function compileFor({ platform, bytecode = true }: CompileOptions): Promise<string> {
  const outfile = join(createFolder(), platform.startsWith("windows") ? "gateway.exe" : "gateway");
  const packages = await installTargets();
  const options = ["--target", `bun-${platform}`, "--packages", packages, "--outfile", outfile];
  if (!bytecode) options.push("--no-bytecode");
  await run(requireTool("bun"), [join(root, "scripts/compile.ts"), ...options]);
  return outfile;
}

/** Packs a program with its licence, so that equal programs give equal archives. */
async function pack(program: string, platform: string): Promise<string> {
  const folder = createFolder();
  const name = platform.startsWith("windows") ? "gateway.exe" : "gateway";
  await run("cp", [program, join(root, "LICENSE"), folder]);
  const archive = join(releaseFolder, `gateway-${version}-${platform}.tar.gz`);
  const order = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", `--mtime=@${sourceDate}`];
  await run("tar", [...order, "-I", "gzip -9n", "-cf", archive, "-C", folder, name, "LICENSE"]);
  return archive;
}

/** Requires that the program of this machine serves from an empty folder, in one that cannot be written only with a reason. */
async function checkProgram(program: string): Promise<void> {
  await requireServing({ command: [program] });
  const { stdout } = await runCommand(["--version"], { command: [program] });
  assert.equal(stdout.trim(), version);
  const missing = join(createFolder(), "missing");
  const { code, output } = await startAndFail({ command: [program], env: { TMPDIR: missing } });
  assert.equal(code, 1);
  assert.match(output, /^Cannot write the temporary folder .+ set TMPDIR to .+\n$/);
}

/** Whether programs of a platform run here. */
function runsHere(platform: string): boolean {
  return platform === `${process.platform}-${process.arch}`;
}

/** A command that runs a program for Linux on arm64 by emulation; undefined if this machine cannot. */
function emulated(platform: string, program: string): string[] | undefined {
  const [emulator, libraries] = [findProgram("qemu-aarch64-static"), "/usr/aarch64-linux-gnu"];
  const canRun = platform === "linux-arm64" && emulator !== undefined && existsSync(libraries);
  return canRun ? [emulator, "-L", libraries, program] : undefined;
}

/** Builds the programs, each twice where it runs here, and checks them. */
export async function checkBinaries(): Promise<void> {
  for (const [platform, { format }] of Object.entries(platforms)) {
    const program = await compileFor({ platform });
    assert.match(readFileSync(program, "latin1").slice(0, 4), format);
    const bytes = sizeOf(program);
    assert.ok(bytes < maxBytes, `${platform} has ${megabytes(bytes)}`);
    if (runsHere(platform)) {
      await checkProgram(program);
      const again = await compileFor({ platform });
      assert.equal(await digestOf(again), await digestOf(program), "two builds of equal sources differ");
      console.log(`  ${platform} serves; two builds are equal`);
      rmSync(again);
    }
    const command = emulated(platform, program);
    if (command && !runsHere(platform)) {
      // the emulator cannot replace a program by itself, which the program does without this variable
      await requireServing({ command, env: { BUN_CONFIG_MAX_HTTP_REQUESTS: "65336" } });
      console.log(`  ${platform} serves by emulation`);
    }
    const archive = await pack(program, platform);
    console.log(`  ${archive.slice(root.length + 1)}: ${megabytes(sizeOf(archive))}, unpacked ${megabytes(bytes)}`);
    rmSync(program);
  }
}
