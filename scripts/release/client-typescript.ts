// The typed client for TypeScript: clients/typescript with types that openapi-typescript makes of the API.

import assert from "node:assert/strict";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createFolder, withGateway } from "../../tests/support/process.ts";
import { requireTool } from "../lib.mjs";
import { clientOf, periodValues, type Read, readDocument, readsOf } from "./client-document.ts";
import { pack } from "./npm-package.ts";
import { author, megabytes, releaseFolder, root, run, sizeOf, toolsFolder, version } from "./run.ts";

const folder = join(releaseFolder, "client-typescript");
const sources = join(root, "clients/typescript");
const typescript = join(root, "node_modules/typescript/bin/tsc");
/** The generator's packages, which tests use too. */
const generator = join(root, "tests/openapi-client/node_modules");

/** Builds the package in a folder and packs it. Returns the path of the archive and the reads to check it with. */
async function buildClient(): Promise<{ archive: string; reads: Read[] }> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(sources, folder, { recursive: true });
  cpSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  const manifest = JSON.parse(readFileSync(join(sources, "package.json"), "utf8"));
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ ...manifest, version, author }, null, 2)}\n`);
  const document = await readDocument();
  const file = join(createFolder(), "openapi.json");
  writeFileSync(file, JSON.stringify(document));
  const made = [file, "-o", join(folder, "schema.d.ts")];
  await run(requireTool("node"), [join(generator, "openapi-typescript/bin/cli.js"), ...made]);
  return { archive: await pack(folder), reads: readsOf(document) };
}

/** A program that calls each read and uses a field of its response, in types that the client gives. */
function programOf(reads: readonly Read[]): string {
  const calls = reads.map(({ path, period, operation, field, recordField }) => {
    const query = Object.fromEntries(period.map((name, index) => [name, periodValues[index]]));
    const init = period.length > 0 ? `, ${JSON.stringify({ params: { query } })}` : "";
    const record = recordField === undefined ? "" : `?.[0]?.${recordField}`;
    return `{
  const { data, error, response } = await ${clientOf(operation)}.GET(${JSON.stringify(path)}${init});
  if (data === undefined) throw new Error(\`${path}: \${response.status} \${JSON.stringify(error)}\`);
  if (data.${field} === undefined) throw new Error("${path} has no ${field}");
  fields.push(data.${field}${record});
  // @ts-expect-error: there is no such field
  data.no_such_field;
}`;
  });
  return `
import { createGatewayClient } from "@gateway/client";

const { GATEWAY: baseUrl = "", GATEWAY_KEY = "", ADMIN_KEY = "" } = process.env;
const client = createGatewayClient({ baseUrl, apiKey: GATEWAY_KEY });
const admin = createGatewayClient({ baseUrl, apiKey: ADMIN_KEY });
const fields: unknown[] = [];
${calls.join("\n")}
const made = await client.POST("/v1/configs", { body: { name: "Typed", config: { retry: { attempts: 2 } } } });
if (made.data === undefined) throw new Error(JSON.stringify(made.error));
const slug: string = made.data.data.slug;
const list = await client.GET("/v1/configs", { params: { query: { page_size: "100" } } });
if (!list.data?.data.some((config) => config.slug === slug)) throw new Error("the config is not listed");
const { error } = await client.GET("/v1/configs/{slug}", { params: { path: { slug: "none" } } });
if (typeof error?.message !== "string") throw new Error("no message");
const chat = await client.POST("/v1/chat/completions", {
  params: { header: { "x-gateway-provider": "echo" } },
  body: { model: "echo-1", messages: [{ role: "user", content: "Hello" }] },
});
if (chat.error) throw new Error(JSON.stringify(chat.error));
console.log(\`\${fields.length} resources\`);
`;
}

/** Requires that the example of the page compiles, and the program does, and that it runs against a gateway. */
async function checkInstalled(archive: string, reads: readonly Read[]): Promise<void> {
  const project = createFolder();
  writeFileSync(join(project, "package.json"), '{ "name": "empty", "private": true, "type": "module" }');
  await run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", archive], { cwd: project });
  writeFileSync(join(project, "program.ts"), programOf(reads));
  const [, example = ""] = /```ts\n([\s\S]+?)```/.exec(readFileSync(join(sources, "README.md"), "utf8")) ?? [];
  writeFileSync(join(project, "example.ts"), example);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: "es2024",
    lib: ["es2024", "dom", "dom.iterable"],
    module: "nodenext",
    noEmit: true,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
  };
  const files = ["program.ts", "example.ts"];
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files }));
  await run("node", [typescript, "-p", "tsconfig.json"], { cwd: project });
  await withGateway({}, async ({ url, adminKey, workspaceKey }) => {
    const runtimes = { node: [], bun: ["run"], deno: ["run", "-A"] };
    for (const [name, args] of Object.entries(runtimes)) {
      const env = { GATEWAY: url, GATEWAY_KEY: workspaceKey, ADMIN_KEY: adminKey };
      await run(requireTool(name), [...args, "example.ts"], { cwd: project, env });
      const printed = await run(requireTool(name), [...args, "program.ts"], { cwd: project, env });
      assert.equal(printed.trim(), `${reads.length} resources`);
    }
  });
}

/** Builds the client and checks it as its users would. */
export async function checkTypescriptClient(): Promise<void> {
  const { archive, reads } = await buildClient();
  const tools = join(toolsFolder, "node_modules/.bin");
  await run(join(tools, "publint"), ["run", folder, "--strict"]);
  await run(join(tools, "attw"), [archive, "--profile", "esm-only", "--no-color"]);
  await checkInstalled(archive, reads);
  const sizes = `${megabytes(sizeOf(archive))}, unpacked ${megabytes(sizeOf(folder))}`;
  console.log(`  ${archive.slice(root.length + 1)}: ${sizes}; ${reads.length} resources read on Node, Bun and Deno`);
}
