// npm run compile [-- options]: one program that needs nothing beside it, by default dist/gateway.
//   --target NAME   bun-linux-x64 (-musl), bun-linux-arm64 (-musl), bun-darwin-x64, bun-darwin-arm64, bun-windows-x64;
//                   default: this machine. Another machine's needs its database library once:
//                   npm install --no-save --force @libsql/<platform>@<version of libsql>
//   --packages PATH the folder of packages with that library. Bun's own program of the target is used from there
//                   too if @oven/bun-<platform> is in it; else Bun downloads it (default: node_modules)
//   --outfile PATH  where the program goes
//   --entry PATH    the module to compile (default: src/serve/binary.ts)
//   --no-minify, --no-bytecode
// undici, which only Node uses, costs the program nothing: Bun answers to that name itself.

import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { BunPlugin } from "bun";
import { ensureConsole } from "./lib.mjs";

const root = resolve(import.meta.dirname, "..");

/** libSQL's package of each target. */
const nativePackages: Readonly<Record<string, string>> = {
  "bun-linux-x64": "@libsql/linux-x64-gnu",
  "bun-linux-x64-musl": "@libsql/linux-x64-musl",
  "bun-linux-arm64": "@libsql/linux-arm64-gnu",
  "bun-linux-arm64-musl": "@libsql/linux-arm64-musl",
  "bun-darwin-x64": "@libsql/darwin-x64",
  "bun-darwin-arm64": "@libsql/darwin-arm64",
  "bun-windows-x64": "@libsql/win32-x64-msvc",
};

function hostTarget(): string {
  const system = process.platform === "win32" ? "windows" : process.platform;
  const musl =
    process.platform === "linux" && existsSync(`/lib/ld-musl-${process.arch === "x64" ? "x86_64" : "aarch64"}.so.1`);
  const glibc = existsSync("/lib64/ld-linux-x86-64.so.2") || existsSync("/lib/ld-linux-aarch64.so.1");
  return `bun-${system}-${process.arch}${musl && !glibc ? "-musl" : ""}`;
}

/** Bun's package of each target. */
const runtimePackages: Readonly<Record<string, string>> = {
  "bun-linux-x64": "@oven/bun-linux-x64",
  "bun-linux-x64-musl": "@oven/bun-linux-x64-musl",
  "bun-linux-arm64": "@oven/bun-linux-aarch64",
  "bun-linux-arm64-musl": "@oven/bun-linux-aarch64-musl",
  "bun-darwin-x64": "@oven/bun-darwin-x64",
  "bun-darwin-arm64": "@oven/bun-darwin-aarch64",
  "bun-windows-x64": "@oven/bun-windows-x64",
};

/** Names libSQL's native module outright: the bundler cannot follow the `require` of a name put together at run time. */
function nativeLibsql(nativeModule: string): BunPlugin {
  return {
    name: "native-libsql",
    setup(build) {
      build.onLoad({ filter: /[\\/]node_modules[\\/]libsql[\\/](index|promise)\.js$/ }, async ({ path }) => {
        const source = await Bun.file(path).text();
        const contents = source
          .replace(/const \{ load, currentTarget \} = require\("@neon-rs\/load"\);\n/, "")
          .replace(/const \{ familySync, GLIBC, MUSL \} = require\("detect-libc"\);\n/, "")
          .replace(
            /function requireNative\(\) \{[\s\S]*?\n\}\n/,
            `function requireNative() {\n  return require(${JSON.stringify(nativeModule)});\n}\n`,
          );
        if (!contents.includes(JSON.stringify(nativeModule)) || contents.includes("currentTarget")) {
          throw new Error(`Cannot compile libsql: ${path} changed its way of loading the native module`);
        }
        return { contents, loader: "js" };
      });
    },
  };
}

/** Names of the files below a folder, with slashes; without hidden ones. */
function listFiles(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.startsWith("."));
  return files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).replaceAll("\\", "/")).sort();
}

/** Puts the files of the console into the program, where `src/serve/console-files.ts` names them. */
function embeddedConsole(folder: string): BunPlugin {
  return {
    name: "embedded-console",
    setup(build) {
      build.onLoad({ filter: /[\\/]src[\\/]serve[\\/]console-files\.ts$/ }, () => {
        const files = listFiles(folder);
        const imports = files.map(
          (name, index) => `import file${index} from ${JSON.stringify(join(folder, name))} with { type: "file" };\n`,
        );
        const entries = files.map((name, index) => `[${JSON.stringify(name)}, file${index}]`);
        const contents = `${imports.join("")}export const embeddedFiles = new Map([${entries.join(", ")}]);\n`;
        return { contents, loader: "js" };
      });
    },
  };
}

const { values } = parseArgs({
  allowNegative: true,
  options: {
    target: { type: "string", default: hostTarget() },
    outfile: { type: "string" },
    packages: { type: "string", default: join(root, "node_modules") },
    entry: { type: "string", default: join(root, "src/serve/binary.ts") },
    minify: { type: "boolean", default: true },
    bytecode: { type: "boolean", default: true },
  },
});

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

const { target } = values;
const nativePackage = nativePackages[target];
if (nativePackage === undefined)
  fail(`Cannot compile for "${target}": known are ${Object.keys(nativePackages).join(", ")}`);
const packages = resolve(values.packages);
if (!existsSync(join(packages, nativePackage))) {
  const { version } = createRequire(join(root, "mod.ts"))("libsql/package.json");
  fail(`Cannot compile for "${target}": run \`npm install --no-save --force ${nativePackage}@${version}\` first`);
}
const bunProgram = join(packages, runtimePackages[target] ?? "", "bin", target.includes("windows") ? "bun.exe" : "bun");
const name = target === hostTarget() ? "gateway" : `gateway-${target.replace(/^bun-/, "")}`;
const outfile = resolve(values.outfile ?? join(root, "dist", name + (target.includes("windows") ? ".exe" : "")));
mkdirSync(dirname(outfile), { recursive: true });

await ensureConsole();
const startedAt = performance.now();
const result = await Bun.build({
  // threads are started by the names of their files, which nothing else would bring along
  entrypoints: [
    resolve(values.entry),
    join(root, "src/serve/log-worker.ts"),
    join(root, "src/serve/token-worker.ts"),
    join(root, "src/serve/log-reader-worker.ts"),
    join(root, "src/serve/health-worker.ts"),
  ],
  root,
  compile: {
    outfile,
    ...(target !== hostTarget() && { target }),
    ...(target !== hostTarget() && existsSync(bunProgram) && { executablePath: bunProgram }),
    // Settings come from the real environment alone.
    autoloadBunfig: false,
  },
  // Names stay, for readable stack traces; shortening them would save a thousandth.
  minify: values.minify && { whitespace: true, syntax: true, identifiers: false },
  bytecode: values.bytecode,
  format: "esm",
  // the threads share most of their code with the program
  splitting: true,
  sourcemap: "none",
  plugins: [nativeLibsql(join(packages, nativePackage, "index.node")), embeddedConsole(join(root, "dist/console"))],
  throw: false,
});
if (!result.success) fail(result.logs.map(String).join("\n"));
const megabytes = (statSync(outfile).size / 1e6).toFixed(1);
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
console.log(`${relative(process.cwd(), outfile)}: ${megabytes} MB for ${target} in ${seconds} s`);
