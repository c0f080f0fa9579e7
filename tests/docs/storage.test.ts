import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { schema } from "../../src/db/migrations/schema.ts";
import { requireListed } from "../support/listed.ts";
import { repository } from "../support/source-files.ts";

const page = "docs/storage.md";

test(`${page} has each table of the database in a row of its first table`, () => {
  const tables = schema.flatMap((statement) => /^CREATE TABLE [`"](\w+)[`"]/.exec(statement)?.[1] ?? []);
  const [, list = ""] = readFileSync(join(repository, page), "utf8").split(/^## Tables$|^## Encrypted secrets$/m);
  const described = [...list.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, names = ""]) => names.match(/\w+/g) ?? []);
  requireListed([...tables, "migrations"], described, page);
});
