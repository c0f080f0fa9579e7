// Writes the documentation as a site into dist/site. Ends with 1 where a link is dead, a table is broken or the first page is too large.

import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import MiniSearch from "minisearch";
import { findProblems } from "./checks.ts";
import { readText, repository } from "./files.ts";
import { layOut } from "./layout.ts";
import { navigation } from "./navigation.ts";
import { makeReference } from "./reference.ts";
import { type RenderedPage, renderPage, siteFileOf } from "./render.ts";

const out = join(repository, "dist/site");
const here = import.meta.dirname;

const entries = navigation.flatMap(({ pages }) => pages);
const paths = new Set(entries.map(({ path }) => path));
const written = entries.map(({ path }) => ({
  file: siteFileOf(path),
  page: renderPage(path, readText(path), paths),
}));
const reference = await makeReference();
const all: { file: string; page: RenderedPage }[] = [...written, ...reference];
const files = new Map(all.map(({ file, page }) => [file, layOut(file, page, reference)]));

const options = { fields: ["heading", "page", "text"], storeFields: ["heading", "page"] };
const search = new MiniSearch(options);
search.addAll(
  all.flatMap(({ file, page }) =>
    page.parts.map(({ anchor, heading, text }) => ({ id: `${file}#${anchor}`, heading, page: page.title, text })),
  ),
);

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
cpSync(join(here, "assets"), out, { recursive: true });
cpSync(join(here, "node_modules/minisearch/dist/umd/index.js"), join(out, "minisearch.js"));
const data = JSON.stringify({ options, data: JSON.stringify(search) });
writeFileSync(join(out, "search-index.js"), `window.searchIndex = ${data};\n`);
for (const [file, html] of files) writeFileSync(join(out, file), html);

const assets = ["style.css", "site.js"].reduce((sum, name) => sum + readFileSync(join(out, name)).length, 0);
const problems = findProblems(files, assets);
for (const problem of problems) console.error(problem);
const first = Buffer.byteLength(files.get("index.html") ?? "") + assets;
console.log(`Wrote ${files.size} pages to dist/site; the first one loads ${Math.ceil(first / 1_000)} KB`);
process.exitCode = problems.length > 0 ? 1 : 0;
