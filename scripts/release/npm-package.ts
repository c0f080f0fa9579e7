// The npm package: the sources as JavaScript, file by file, with declarations of what mod.ts exports and the console.

import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { createFolder } from "../../tests/support/process.ts";
import { requireTool } from "../lib.mjs";
import { author, megabytes, releaseFolder, requireServing, root, run, sizeOf, toolsFolder, version } from "./run.ts";

/** Name under which the package is published. */
export const packageName = "@gateway/gateway";
/** Largest size of the unpacked package. */
const maxUnpackedBytes = 15_000_000;

const folder = join(releaseFolder, "npm");
const typescript = join(root, "node_modules/typescript/bin/tsc");

/** Modules that nothing imports: the public one, the program, and the code of threads. */
const entries = [
  "mod.ts",
  ...["program", "log-worker", "token-worker", "log-reader-worker", "health-worker"].map(
    (name) => `src/serve/${name}.ts`,
  ),
];

/** Relative modules that a declaration file names. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const names = [...text.matchAll(/(?:from |import\()"(\.[^"]+)"/g)].map(([, name = ""]) => name);
  return names.map((name) => resolve(dirname(file), name.replace(/\.[jt]s$/, ".d.ts")));
}

/** Declaration files that one needs, itself included. */
function reachable(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file) || !existsSync(file)) return found;
  found.add(file);
  for (const next of importsOf(file)) reachable(next, found);
  return found;
}

/** Compiles the sources. Internal declarations may fail to be written: only those that `mod.d.ts` needs matter. */
async function compile(out: string): Promise<void> {
  const configuration = {
    extends: join(root, "tsconfig.node.json"),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      allowJs: false,
      outDir: out,
      rootDir: root,
      typeRoots: [join(root, "node_modules/@types"), join(root, "node_modules")],
    },
    include: [],
    files: [...entries, "src/serve/runtimes.d.ts"].map((name) => join(root, name)),
  };
  const path = join(createFolder(), "tsconfig.json");
  writeFileSync(path, JSON.stringify(configuration));
  const printed = await run("node", [typescript, "-p", path, "--pretty", "false"], { codes: [0, 1, 2] });
  const needed = reachable(join(out, "mod.d.ts"));
  const failed = printed.split("\n").filter((line) => {
    const [, file, code] = /^(\S+?)\(\d+,\d+\): error (TS\d+)/.exec(line) ?? [];
    if (file === undefined) return false;
    const isDeclaration = ["TS4023", "TS4058", "TS4082", "TS4094", "TS9005"].includes(code ?? "");
    return !isDeclaration || needed.has(join(out, file.replace(/\.ts$/, ".d.ts")));
  });
  assert.deepEqual(failed, [], "the sources do not compile");
}

/** Copies the compiled files that the package needs: all code, and the declarations behind `mod.d.ts`. */
function collect(out: string): void {
  const declarations = reachable(join(out, "mod.d.ts"));
  cpSync(out, folder, {
    recursive: true,
    filter: (path) => !path.endsWith(".d.ts") || declarations.has(path),
  });
  for (const path of declarations) {
    // TypeScript rewrites the endings of imports in code alone
    const text = readFileSync(path, "utf8").replaceAll(/((?:from |import\()"\.[^"]+)\.ts"/g, '$1.js"');
    writeFileSync(join(folder, relative(out, path)), text);
  }
}

/** The manifest: the dependencies are those of the repository, pinned. */
function manifest(): unknown {
  const { description, license, dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return {
    name: packageName,
    version,
    description,
    license,
    author,
    keywords: ["ai", "gateway", "llm", "openai", "anthropic", "mcp"],
    type: "module",
    bin: { gateway: "./src/serve/program.js" },
    exports: {
      ".": { types: "./mod.d.ts", default: "./mod.js" },
      "./package.json": "./package.json",
    },
    engines: { node: ">=24", bun: ">=1.3", deno: ">=2.5" },
    dependencies,
  };
}

/** Builds the package in `dist/release/npm` and packs it. Returns the path of the archive. */
export async function buildPackage(): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const out = createFolder();
  await compile(out);
  collect(out);
  cpSync(join(root, "dist/console"), join(folder, "dist/console"), {
    recursive: true,
    filter: (path) => !path.endsWith(".stamp"),
  });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest(), null, 2)}\n`);
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  cpSync(join(toolsFolder, "npm-readme.md"), join(folder, "README.md"));
  return pack(folder);
}

/** Packs the package of a folder. Returns the path of the archive. */
export async function pack(cwd: string): Promise<string> {
  const printed = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", releaseFolder], {
    cwd,
  });
  const [{ filename }] = JSON.parse(printed);
  return join(releaseFolder, filename);
}

/** A module that uses the package as a library. */
const library = `
import { createGateway, hostOptions } from "${packageName}";

const key = "an-obvious-fake-key";
for (const host of [{}, await hostOptions()]) {
  const gateway = createGateway({ ...host, database: ":memory:", bootstrap: { workspaceKey: key } });
  await gateway.start();
  const response = await gateway.fetch(
    new Request("http://127.0.0.1/v1/chat/completions", {
      method: "POST",
      headers: { "x-gateway-api-key": key, "x-gateway-provider": "echo", "content-type": "application/json" },
      body: JSON.stringify({ model: "echo-1", messages: [{ role: "user", content: "Hello" }] }),
    }),
  );
  const answer = await response.json();
  if (answer.choices[0].message.content !== "Hello") throw new Error(JSON.stringify(answer));
  await gateway.close();
}
console.log("the library answers");
process.exit(0);
`;

/** A module of a strict project that has no other types than those of Node. */
const typed = `
import host, { createGateway, defineProvider, type Gateway, type GatewayOptions, hostOptions } from "${packageName}";

const options: GatewayOptions = { ...(await hostOptions({ console: false })), database: ":memory:" };
export const gateway: Gateway = createGateway(options);
export const answer: Promise<Response> = host.fetch(new Request("http://127.0.0.1/health"));
export const define = defineProvider;
// @ts-expect-error: there is no such option
createGateway({ databases: 1 });
`;

/** Requires that an archive, installed into an empty project, works as a program and as a library on each runtime. */
async function checkInstalled(archive: string): Promise<void> {
  const project = createFolder();
  writeFileSync(join(project, "package.json"), '{ "name": "empty", "private": true, "type": "module" }');
  await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", archive], { cwd: project });
  writeFileSync(join(project, "library.ts"), `import process from "node:process";${library}`);
  writeFileSync(join(project, "typed.ts"), typed);
  const program = join(project, "node_modules", packageName, "src/serve/program.js");
  const runtimes = {
    node: [requireTool("node")],
    bun: [requireTool("bun"), "run"],
    deno: [requireTool("deno"), "run", "-A", "--unstable-no-legacy-abort"],
  };
  for (const [name, command] of Object.entries(runtimes)) {
    await requireServing({ command: [...command, program] });
    const [runner = "", ...args] = command;
    assert.match(await run(runner, [...args, "library.ts"], { cwd: project }), /the library answers/);
    assert.equal((await run(runner, [...args, program, "--version"], { cwd: project })).trim(), version);
    console.log(`  program and library work on ${name}`);
  }
  const path = [dirname(requireTool("node")), process.env.PATH].join(":");
  assert.equal(
    (await run("npx", ["--no", "--", "gateway", "--version"], { cwd: project, env: { PATH: path } })).trim(),
    version,
  );
  await checkTypes(project);
}

/** Requires that the declarations compile in a strict project that checks the declarations of its packages too. */
async function checkTypes(project: string): Promise<void> {
  const types = join(root, "node_modules/@types");
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: "es2024",
    lib: ["es2024", "dom", "dom.iterable"],
    module: "nodenext",
    noEmit: true,
    skipLibCheck: true,
    types: ["node"],
    typeRoots: [types],
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["typed.ts"] }));
  await run("node", [typescript, "-p", "tsconfig.json"], { cwd: project });
}

/** Builds the package and checks it as its users would. */
export async function checkPackage(): Promise<void> {
  const archive = await buildPackage();
  const tools = join(toolsFolder, "node_modules/.bin");
  await run(join(tools, "publint"), ["run", folder, "--strict"]);
  await run(join(tools, "attw"), [archive, "--profile", "esm-only", "--no-color"]);
  const bytes = sizeOf(folder);
  assert.ok(bytes < maxUnpackedBytes, `the unpacked package has ${megabytes(bytes)}`);
  console.log(
    `  ${relative(root, archive)}: ${megabytes(sizeOf(archive))}, unpacked ${megabytes(bytes)}, of which ${megabytes(sizeOf(join(folder, "dist/console")))} are the console`,
  );
  await checkInstalled(archive);
}
