// npm run build: writes the files that are made from others. With --check it only says which are out of date.
//   src/db/migrations/migrations.ts  from src/db/migrations/*.sql, so that nothing reads files at run time
//   src/db/migrations/schema.ts      what the migrations amount to, for databases that have nothing yet
//   docs/providers.md                from the providers of src/providers/registry.ts
//   docs/model-facts.md              from the facts of these providers
//   docs/configuration.md            its tables, from src/settings/tables/variables.ts
// It also removes all snapshots of the schema but the newest, which is the one that drizzle-kit compares the tables with.

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createClient } from "@libsql/client/sqlite3";
import { configurationDocument } from "./configuration-document.ts";
import { modelFactsDocument } from "./model-facts-document.ts";
import { providersDocument } from "./providers-document.ts";

const root = resolve(import.meta.dirname, "..");

const header = "// Made by scripts/build.ts from the .sql files of this folder. Do not edit: run `npm run build`.\n\n";

/** A file of a migration. `-- readable since: <id>` in it says which earlier schema its programs must know. */
interface MigrationFile {
  id: string;
  readableSince: string | undefined;
  statements: string[];
}

/** The migrations in the order of their names, each split at drizzle's marker. */
function readMigrations(folder: string): MigrationFile[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
  return names.sort().map((name) => {
    const sql = readFileSync(join(folder, name), "utf8").replaceAll("\r\n", "\n");
    const mark = /^-- readable since: (\w+)\n/m;
    const readableSince = mark.exec(sql)?.[1];
    if (readableSince !== undefined && !names.includes(`${readableSince}.sql`)) {
      throw new Error(`${name} is readable since ${readableSince}, which is no migration`);
    }
    const statements = sql
      .replace(mark, "")
      .split("--> statement-breakpoint")
      .map((part) => part.trim());
    return { id: name.slice(0, -".sql".length), readableSince, statements: statements.filter((part) => part !== "") };
  });
}

const migrations = readMigrations(join(root, "src/db/migrations"));

/** Text of `schema.ts`: the tables and indexes of a database that every migration was applied to. */
async function schemaModule(): Promise<string> {
  const client = createClient({ url: ":memory:" });
  for (const { statements } of migrations) await client.batch(statements, "write");
  const { rows } = await client.execute(
    "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'",
  );
  const tables = await client.execute(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
  );
  for (const { name } of tables.rows) {
    const { rows: found } = await client.execute(`SELECT 1 FROM "${name}" LIMIT 1`);
    if (found.length > 0) throw new Error(`Cannot make schema.ts: a migration puts rows into the empty table ${name}`);
  }
  client.close();
  return [
    header,
    "/** Statements that give an empty database the schema that all migrations give it, at a fifth of their cost. */\n",
    `export const schema: readonly string[] = [\n${rows.map(({ sql }) => `  ${JSON.stringify(sql)},\n`).join("")}];\n`,
  ].join("");
}

/** Text of `migrations.ts`. */
function migrationsModule(): string {
  const entries = migrations.map(({ id, readableSince, statements }) => {
    const lines = statements.map((part) => `      ${JSON.stringify(part)},\n`);
    const since = readableSince === undefined ? "" : `    readableSince: ${JSON.stringify(readableSince)},\n`;
    return `  {\n    id: ${JSON.stringify(id)},\n${since}    statements: [\n${lines.join("")}    ],\n  },\n`;
  });
  return [
    header,
    "/** One step of the schema: its file's name and its statements, in order. */\n",
    "export interface Migration {\n  readonly id: string;\n",
    "  /** Programs that know this earlier one work with the schema too. Absent: they do not. */\n",
    "  readonly readableSince?: string;\n  readonly statements: readonly string[];\n}\n\n",
    "/** Every step, oldest first. */\n",
    `export const migrations: readonly Migration[] = [\n${entries.join("")}];\n`,
  ].join("");
}

function read(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), "utf8").replaceAll("\r\n", "\n");
  } catch {
    return undefined;
  }
}

const generated: readonly { path: string; text: string }[] = [
  { path: "src/db/migrations/migrations.ts", text: migrationsModule() },
  { path: "src/db/migrations/schema.ts", text: await schemaModule() },
  { path: "docs/providers.md", text: await providersDocument() },
  { path: "docs/model-facts.md", text: modelFactsDocument() },
  { path: "docs/configuration.md", text: configurationDocument(read("docs/configuration.md") ?? "") },
];

const stale = generated.filter(({ path, text }) => read(path) !== text);
const snapshots = readdirSync(join(root, "src/db/migrations/meta")).filter((name) => name.endsWith("_snapshot.json"));
const formerSnapshots = snapshots.sort().slice(0, -1);
if (!process.argv.includes("--check")) {
  for (const { path, text } of stale) {
    writeFileSync(join(root, path), text);
    console.log(`Wrote ${path}`);
  }
  for (const name of formerSnapshots) {
    rmSync(join(root, "src/db/migrations/meta", name));
    console.log(`Removed ${name}`);
  }
} else if (stale.length + formerSnapshots.length > 0) {
  for (const { path } of stale) console.error(`${path} is out of date: run \`npm run build\` and commit it`);
  for (const name of formerSnapshots) console.error(`${name} is not the newest: run \`npm run build\` and commit it`);
  process.exit(1);
}
