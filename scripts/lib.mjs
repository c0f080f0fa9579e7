// Shared by the scripts of this folder: installing what is missing, finding the pinned tools, running them.
// Plain JavaScript for Node 20, because it runs before anything is installed.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib";
import { installPython } from "./python.mjs";

/** Folder of the repository. */
export const root = resolve(fileURLToPath(import.meta.url), "../..");

const modules = join(root, "node_modules");
const exe = process.platform === "win32" ? ".exe" : "";

/** True on Linux with musl instead of glibc. */
function isMusl() {
  if (process.platform !== "linux") return false;
  return process.report.getReport().header.glibcVersionRuntime === undefined;
}

/** Where each tool's program lies below node_modules on this platform, best first. */
const places = {
  bun() {
    const system = { win32: "windows" }[process.platform] ?? process.platform;
    const arch = { arm64: "aarch64" }[process.arch] ?? process.arch;
    const plain = `@oven/bun-${system}-${arch}/bin/bun${exe}`;
    const musl = `@oven/bun-${system}-${arch}-musl/bin/bun`;
    return isMusl() ? [musl, plain] : [plain, musl];
  },
  deno() {
    const libc = process.platform === "linux" ? "-glibc" : "";
    return [`@deno/${process.platform}-${process.arch}${libc}/deno${exe}`];
  },
  node() {
    const system = { win32: "win" }[process.platform] ?? process.platform;
    return [`node-${system}-${process.arch}/bin/node${exe}`];
  },
  biome() {
    const plain = `@biomejs/cli-${process.platform}-${process.arch}`;
    return (isMusl() ? [`${plain}-musl`, plain] : [plain, `${plain}-musl`]).map((name) => `${name}/biome${exe}`);
  },
  tsc() {
    return [`@typescript/typescript-${process.platform}-${process.arch}/lib/tsc${exe}`];
  },
};

/** Names `findTool` knows. */
export const tools = Object.keys(places);

/**
 * The program of a tool, or undefined when this platform has none.
 *
 * @param {string} name One of `tools`.
 * @returns {string | undefined}
 */
export function findTool(name) {
  for (const place of places[name]()) {
    const file = join(modules, place);
    if (existsSync(file)) return file;
  }
  // A Node that strips types by itself serves where no pinned one is published.
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (name === "node" && (major > 22 || (major === 22 && minor >= 18))) return process.execPath;
  return undefined;
}

/** Like `findTool`, but ends the process with a message when there is none. */
export function requireTool(name) {
  const file = findTool(name);
  if (file === undefined) {
    console.error(`Cannot find ${name}: no program for ${process.platform}-${process.arch} in node_modules`);
    process.exit(1);
  }
  return file;
}

function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8")).packages ?? {};
  } catch {
    return undefined;
  }
}

/**
 * True when a folder's node_modules holds what its package-lock.json asks for. Compares versions, not times: git does not
 * keep times. An optional package may be absent, since most are for other platforms.
 */
function holdsLocked(folder) {
  const wanted = readLock(join(folder, "package-lock.json"));
  const present = readLock(join(folder, "node_modules/.package-lock.json"));
  if (present === undefined) return false;
  return Object.entries(wanted ?? {}).every(([path, entry]) => {
    // the project, and its workspaces, which are folders of it
    if (entry.link || !path.includes("node_modules/")) return true;
    const found = present[path];
    if (found === undefined) return entry.optional === true || entry.devOptional === true || entry.peer === true;
    return found.version === entry.version;
  });
}

/** True when the project's own dependencies are there. */
function isInstalled() {
  return findTool("bun") !== undefined && holdsLocked(root);
}

/** What npm is started with: without node_modules/.bin on PATH, so that it never replaces the Node it runs on. */
function npmCommand(args, cwd) {
  const path = (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => !folder.includes(join("node_modules", ".bin")) && !folder.includes("node-gyp-bin"))
    .join(delimiter);
  return [
    "npm",
    [...args, "--loglevel=error", "--no-progress"],
    {
      cwd,
      encoding: "utf8",
      env: { ...process.env, PATH: path },
      shell: process.platform === "win32",
      stdio: ["ignore", "pipe", "pipe"],
    },
  ];
}

function npm(args) {
  return spawnSync(...npmCommand(args, root));
}

/**
 * Installs dependencies when they are missing or differ from package-lock.json; else returns at once.
 * Ends the process when that fails.
 */
export function ensureInstalled() {
  if (isInstalled()) return;
  const started = Date.now();
  console.error("Installing dependencies (npm) ...");
  // `npm ci` empties node_modules first; where one exists, `npm install` changes only what differs. The latter also
  // serves when the lock lacks optional packages that the registry in use did not have.
  let result = existsSync(modules) ? undefined : npm(["ci"]);
  if (result?.status !== 0) result = npm(["install", "--no-save"]);
  if (result.status !== 0 || findTool("bun") === undefined) {
    console.error(`${result.error ?? ""}${result.stdout}${result.stderr}`.trim());
    console.error("Cannot install dependencies: npm install failed or left no bun for this platform");
    process.exit(1);
  }
  console.error(`Installed in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

/** Folders whose packages only the tests use: coding agents, what reads the OpenAPI document, a libSQL server. */
const clientFolders = ["tests/agents", "tests/openapi-client", "tests/libsql-server"];

/** @returns {Promise<string | undefined>} What npm printed where it failed. */
function runNpm(args, folder) {
  return new Promise((done) => {
    const child = spawn(...npmCommand(args, folder));
    let printed = "";
    const add = (part) => {
      printed += part;
    };
    for (const stream of [child.stdout, child.stderr]) stream.on("data", add);
    child.on("error", (error) => done(String(error)));
    child.on("close", (code) => done(code === 0 ? undefined : printed.trim() || `npm ended with ${code}`));
  });
}

/** @returns {Promise<string | undefined>} What npm printed where it failed. */
function installIn(folder) {
  if (holdsLocked(folder)) return Promise.resolve(undefined);
  return runNpm(["ci", "--ignore-scripts", "--no-fund", "--no-audit"], folder);
}

/**
 * Installs the clients the tests run the gateway with; does nothing when they are there.
 *
 * @returns {Promise<string | undefined>} What npm printed where it failed.
 */
export async function installClients() {
  for (const folder of clientFolders) {
    const problem = await installIn(join(root, folder));
    if (problem !== undefined) return problem;
  }
  for (const folder of ["tests/clients", "tests/emulators"]) {
    const problem = installPython(join(root, folder));
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The folder of coding agents that only `npm run test:agents` and `npm run test:all` need, with the packages of both registries. */
const sessionsFolder = "tests/agent-sessions";

/** The examples of clients. */
const examplesFolder = "examples/clients";

/**
 * Installs the packages of the examples of clients, which `npm run test:all` runs; does nothing when they are there.
 *
 * @returns {Promise<string | undefined>} What npm or pip printed where it failed.
 */
export async function installExamples() {
  const folder = join(root, examplesFolder);
  return (await installIn(folder)) ?? installPython(folder);
}

/**
 * Installs the coding agents that hold sessions; does nothing when they are there.
 *
 * @returns {Promise<string | undefined>} What npm or pip printed where it failed.
 */
export async function installAgents() {
  const folder = join(root, sessionsFolder);
  const problem = await installIn(join(root, "tests/agents"));
  if (problem !== undefined) return problem;
  if (!holdsLocked(folder)) {
    // not `npm ci`: the lock lacks programs for other platforms that the registry in use did not have
    const missing = await runNpm(["install", "--no-save", "--ignore-scripts", "--no-fund", "--no-audit"], folder);
    if (missing !== undefined) return missing;
  }
  return installPython(folder);
}

/**
 * Installs what `npm run release:check` alone needs; does nothing when it is there.
 *
 * @returns {Promise<string | undefined>} What npm printed where it failed.
 */
export async function installReleaseTools() {
  for (const folder of ["scripts/release", "tests/libsql-server", "tests/openapi-client"]) {
    const problem = await installIn(join(root, folder));
    if (problem !== undefined) return problem;
  }
  return installPython(join(root, "clients/python"));
}

/**
 * Installs what makes the site of the documentation; does nothing when it is there.
 *
 * @returns {Promise<string | undefined>} What npm printed where it failed.
 */
export async function installSite() {
  return installIn(join(root, "site"));
}

/** The package of the console, and where its build goes. */
const consoleFolder = join(root, "console");
const consoleBuild = join(root, "dist/console");
/** Holds the digest of what the build was made from. The gateway serves no file whose name begins with a dot. */
const consoleStamp = join(consoleBuild, ".stamp");

/** What the console is built from: its package, and the API whose types, scopes and schemas it uses. */
const consoleSources = [
  "console",
  ..."admin auth console inference/routes mcp openapi schemas".split(" ").map((name) => `src/${name}`),
];

/** Files below a folder in a fixed order, without packages, made files and hidden ones. */
function listFiles(folder) {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true }).toSorted((one, other) =>
    one.name < other.name ? -1 : 1,
  );
  return entries.flatMap((entry) => {
    const isLeftOut = entry.name === "node_modules" || entry.name.startsWith(".") || /\.gen\.ts$/.test(entry.name);
    const path = join(folder, entry.name);
    if (isLeftOut) return [];
    return entry.isDirectory() ? listFiles(path) : [path];
  });
}

function digestConsoleSources() {
  const digest = createHash("sha256");
  const below = consoleSources.flatMap((folder) => listFiles(join(root, folder)));
  for (const file of [...below, join(root, "src/openapi.ts")]) {
    digest
      .update(`${file.slice(root.length)}\0`)
      .update(readFileSync(file))
      .update("\0");
  }
  return digest.digest("hex");
}

/** Smallest file that is worth compressing, in bytes. */
const smallestCompressed = 1_024;

/** Writes the compressed forms of each text file of the build beside it: each client gets the smallest that it takes. */
function compressConsole() {
  for (const file of listFiles(consoleBuild)) {
    if (!/\.(?:css|html|js|json|svg|txt|webmanifest)$/.test(file) || statSync(file).size < smallestCompressed) continue;
    const bytes = readFileSync(file);
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
    // the highest quality, 11, takes ten times as long for 7 % less
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params: { [zlib.BROTLI_PARAM_QUALITY]: 9 } }));
  }
}

let consoleInstallation;

/** Begins to install the packages of the console, where there is one: they can arrive while other packages do. */
export function beginConsole() {
  if (existsSync(join(consoleFolder, "package-lock.json"))) consoleInstallation ??= installIn(consoleFolder);
}

async function buildConsole(sources) {
  beginConsole();
  const problem = (await consoleInstallation) ?? (await runNpm(["run", "build", "--silent"], consoleFolder));
  if (problem !== undefined) return problem;
  compressConsole();
  writeFileSync(consoleStamp, sources);
  return undefined;
}

/**
 * Builds the console when its sources changed; does nothing when it is built, or there is no package of it. A failed build is
 * printed: the gateway serves without a console, or with the former one.
 *
 * @returns {Promise<string | undefined>} What failed.
 */
export async function ensureConsole() {
  if (!existsSync(join(consoleFolder, "package-lock.json"))) return undefined;
  const sources = digestConsoleSources();
  if (existsSync(consoleStamp) && readFileSync(consoleStamp, "utf8") === sources) return undefined;
  const started = Date.now();
  console.error("Building the console ...");
  const problem = await buildConsole(sources);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.error(problem === undefined ? `Built in ${seconds} s` : `${problem}\nCannot build the console`);
  return problem;
}

/** Exit code of an ended child, the way shells number signals. */
export function exitCode(code, signal) {
  return code ?? 128 + (constants.signals[signal] ?? 0);
}

/**
 * Runs a program in the foreground, hands it the first signal this process gets and ends with its exit code. Further signals
 * are not handed on: who signals a whole group of processes has reached the program already.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cleanOnSignal?: boolean, env?: NodeJS.ProcessEnv }} [options] cleanOnSignal: a child ended by the very
 *   signal it was handed counts as success.
 */
export function runForeground(command, args, options = {}) {
  const child = spawn(command, args, { stdio: "inherit", env: options.env ?? process.env });
  let handed;
  const hand = (signal) => {
    if (handed !== undefined) return;
    handed = signal;
    child.kill(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      // A terminal sends its interrupt to the whole group: the child has it already.
      if (signal !== "SIGINT" || !process.stdin.isTTY) hand(signal);
    });
  }
  // Asked to end, npm tells only the shell between it and this process, and some shells die without passing it on.
  if (process.env.npm_lifecycle_event !== undefined && process.platform !== "win32") {
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      hand("SIGTERM");
    }, 200);
  }
  child.on("error", (error) => {
    console.error(`Cannot run ${command}: ${error.message}`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => {
    if (options.cleanOnSignal && signal !== null && signal === handed) process.exit(0);
    process.exit(exitCode(code, signal));
  });
}
