// The examples of examples/hosts, each installed with the npm package and started as its page says.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BunPlugin } from "bun";
import { createFolder, fakeWorkspaceKey, waitFor, withGateway } from "../../tests/support/process.ts";
import { requireTool } from "../lib.mjs";
import { packageName } from "./npm-package.ts";
import { CannotCheckError, releaseFolder, requireAnswer, root, run, toolsFolder, version } from "./run.ts";

/** Modules of Node, with or without their prefix. */
const nodeModules =
  /^(?:node:.*|assert|async_hooks|buffer|child_process|crypto|diagnostics_channel|dns|events|fs|http|http2|https|net|os|path|perf_hooks|querystring|stream|string_decoder|timers|tls|tty|url|util|worker_threads|zlib)$/;

/** What wrangler does with modules: those of Node are the runtime's, and aliases stand for others. */
function likeWrangler(folder: string, aliases: Readonly<Record<string, string>>): BunPlugin {
  return {
    name: "like-wrangler",
    setup(build) {
      build.onResolve({ filter: nodeModules }, ({ path, kind }) => {
        const name = path.startsWith("node:") ? path : `node:${path}`;
        return kind === "require-call" ? { path: name, namespace: "required" } : { path: name, external: true };
      });
      build.onLoad({ filter: /.*/, namespace: "required" }, ({ path }) => ({
        contents: `import * as all from ${JSON.stringify(path)}; module.exports = all.default ?? all;`,
        loader: "js",
      }));
      for (const [name, file] of Object.entries(aliases)) {
        build.onResolve({ filter: new RegExp(`^${name}$`) }, () => ({ path: join(folder, file) }));
      }
    },
  };
}

/** A worker of Miniflare, which is installed for releases alone. */
interface Worker {
  readonly ready: Promise<URL>;
  dispose(): Promise<void>;
}

async function startWorker(options: Readonly<Record<string, unknown>>): Promise<Worker> {
  const { Miniflare } = await import(join(toolsFolder, "node_modules/miniflare/dist/src/index.js"));
  return new Miniflare(options);
}

/** Runs the worker in Cloudflare's runtime, with a libSQL server, and requires calls and their rows in the log. */
async function checkCloudflare(project: string): Promise<void> {
  // not before: its packages are installed after this module is loaded
  const { startLibsqlServer, withoutLibsqlServer } = await import("../../tests/support/libsql-server.ts");
  if (withoutLibsqlServer) throw new CannotCheckError(withoutLibsqlServer);
  const folder = join(project, "cloudflare");
  const settings = JSON.parse(readFileSync(join(folder, "wrangler.jsonc"), "utf8").replaceAll(/^\s*\/\/.*$/gm, ""));
  const result = await Bun.build({
    entrypoints: [join(folder, settings.main)],
    outdir: join(folder, "dist"),
    target: "browser",
    format: "esm",
    conditions: ["workerd", "worker", "browser"],
    plugins: [likeWrangler(folder, settings.alias)],
  });
  assert.ok(result.success, result.logs.join("\n"));
  const server = await startLibsqlServer();
  const worker = await startWorker({
    modules: [{ type: "ESModule", path: "worker.js", contents: readFileSync(join(folder, "dist/worker.js"), "utf8") }],
    compatibilityDate: settings.compatibility_date,
    compatibilityFlags: settings.compatibility_flags,
    durableObjects: { GATEWAY: settings.durable_objects.bindings[0].class_name },
    bindings: {
      DATABASE_URL: server.url,
      GATEWAY_MASTER_KEYS: `v1:${randomBytes(32).toString("base64url")}`,
      BOOTSTRAP_ADMIN_KEY: "fake-admin-key-for-tests",
      BOOTSTRAP_WORKSPACE_KEY: fakeWorkspaceKey,
    },
  });
  try {
    const url = (await worker.ready).origin;
    for (const _ of [1, 2, 3]) await requireAnswer(url, fakeWorkspaceKey, false);
    let rows = 0;
    const look = setInterval(() => {
      fetch(`${url}/v1/logs`, { headers: { "x-gateway-api-key": fakeWorkspaceKey } })
        .then((response) => response.json())
        .then(
          ({ data }) => {
            rows = data.length;
          },
          () => {},
        );
    }, 300);
    await waitFor("the rows of three calls", 30_000, () => rows === 3).finally(() => clearInterval(look));
  } finally {
    await worker.dispose();
    await server.kill();
  }
}

/** Starts a host and sends it the first call below a path. */
async function checkProcess(command: readonly string[], cwd: string, path: string): Promise<void> {
  const env = { WORKSPACE_KEY: fakeWorkspaceKey };
  await withGateway({ command, cwd, env }, ({ url }) => requireAnswer(url + path, fakeWorkspaceKey, false));
}

/** Installs the examples with the package, and runs each. */
export async function checkHosts(): Promise<void> {
  const archive = join(releaseFolder, `gateway-gateway-${version}.tgz`);
  if (!existsSync(archive)) throw new CannotCheckError("build the npm package first: the step npm");
  const project = createFolder();
  cpSync(join(root, "examples/hosts"), project, { recursive: true });
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["install", ...quiet, archive], { cwd: project });
  await checkCloudflare(project);
  console.log("  Cloudflare Workers answer, and their calls are in the log");
  await checkProcess([requireTool("node"), join(project, "hono/server.ts")], project, "/ai");
  console.log("  Hono answers");
  // it prints its address as the gateway does
  writeFileSync(join(project, "deno/start.ts"), startOnDeno);
  await checkProcess([requireTool("deno"), "run", "-A", join(project, "deno/start.ts")], project, "");
  console.log("  Deno answers");
  await checkNext(project);
  console.log("  Next answers");
  assert.ok(existsSync(join(project, "node_modules", packageName)));
}

/** Serves the default export as `deno serve` does, and prints its address in the words of the gateway. */
const startOnDeno = `
import entry from "./main.ts";
const onListen = ({ port }: { port: number }) => console.log(\`serving on http://127.0.0.1:\${port}\`);
Deno.serve({ port: 0, hostname: "127.0.0.1", onListen }, (request, info) => entry.fetch(request, info));
`;

/** Builds and starts the application of Next. */
async function checkNext(project: string): Promise<void> {
  const folder = join(project, "next");
  const next = join(project, "node_modules/next/dist/bin/next");
  const env = { NEXT_TELEMETRY_DISABLED: "1" };
  await run(requireTool("node"), [next, "build"], { cwd: folder, env });
  // `next start` in a process that prints its address as the gateway does
  const script = `
    const next = require(${JSON.stringify(join(project, "node_modules/next"))});
    const app = next({ dev: false, dir: ${JSON.stringify(folder)} });
    app.prepare().then(() => {
      const server = require("node:http").createServer(app.getRequestHandler());
      server.listen(0, "127.0.0.1", () => console.log("serving on http://127.0.0.1:" + server.address().port));
    });`;
  await checkProcess([requireTool("node"), "-e", script], folder, "/ai");
}
