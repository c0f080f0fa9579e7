// npm run build: writes the files that are made from others. With --check it only says which are out of date.
//   src/db/migrations/migrations.ts  from src/db/migrations/*.sql, so that nothing reads files at run time
//   docs/providers.md                from the providers of src/providers/registry.ts

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { providersDocument } from "./providers-document.ts";

const root = resolve(import.meta.dirname, "..");

/** Text of `migrations.ts`: the migrations in the order of their names, each split at drizzle's marker. */
function migrationsModule(folder: string): string {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  const entries = names.sort().map((name) => {
    const sql = readFileSync(join(folder, name), "utf8").replaceAll("\r\n", "\n");
    const statements = sql.split("--> statement-breakpoint").map((part) => part.trim());
    const lines = statements.filter((part) => part !== "").map((part) => `      ${JSON.stringify(part)},\n`);
    return `  {\n    id: ${JSON.stringify(name.slice(0, -".sql".length))},\n    statements: [\n${lines.join("")}    ],\n  },\n`;
  });
  return [
    "// Made by scripts/build.ts from the .sql files of this folder. Do not edit: run `npm run build`.\n\n",
    "/** One step of the schema: its file's name and its statements, in order. */\n",
    "export interface Migration {\n  readonly id: string;\n  readonly statements: readonly string[];\n}\n\n",
    "/** Every step, oldest first. */\n",
    `export const migrations: readonly Migration[] = [\n${entries.join("")}];\n`,
  ].join("");
}

const generated: readonly { path: string; text: string }[] = [
  { path: "src/db/migrations/migrations.ts", text: migrationsModule(join(root, "src/db/migrations")) },
  { path: "docs/providers.md", text: providersDocument() },
];

function read(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8").replaceAll("\r\n", "\n");
  } catch {
    return undefined;
  }
}

const stale = generated.filter(({ path, text }) => read(path) !== text);
if (!process.argv.includes("--check")) {
  for (const { path, text } of stale) {
    writeFileSync(join(root, path), text);
    console.log(`Wrote ${path}`);
  }
} else if (stale.length > 0) {
  for (const { path } of stale) console.error(`${path} is out of date: run \`npm run build\` and commit it`);
  process.exit(1);
}
