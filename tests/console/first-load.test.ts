// What a browser loads before the first page of the console stands, by the files of the build.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { languageNames } from "../../console/src/text/locale.ts";
import { repository } from "../support/source-files.ts";

const build = join(repository, "dist/console");
const skip = existsSync(join(build, "index.html")) ? false : "the console is not built";

/** Files that a file of the build loads at once, and those that these load. */
function staticFiles(name: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(name)) return found;
  found.add(name);
  const code = readFileSync(join(build, "assets", name), "utf8");
  for (const [, other = ""] of code.matchAll(/(?:^|[;}\s])(?:import|from)\s*"\.\/([\w.-]+\.js)"/g))
    staticFiles(other, found);
  return found;
}

test("the first page is one script of at most 220 KB in gzip and one style sheet", { skip }, () => {
  const page = readFileSync(join(build, "index.html"), "utf8");
  const loaded = [...page.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, name = ""]) => name);
  assert.deepEqual(
    loaded.map((name) => name.replace(/^.*\./, "")).toSorted(),
    ["css", "js"],
    "each further file is a request more",
  );
  const script = loaded.find((name) => name.endsWith(".js")) ?? "";
  const scripts = [...staticFiles(script.replace("assets/", ""))];
  assert.equal(scripts.length, 1, "the page loads further scripts at once");
  const bytes = gzipSync(readFileSync(join(build, script)), { level: 9 }).length;
  assert.ok(bytes <= 220_000, `${bytes} bytes`);
});

test("another language is one more script, which needs no other", { skip }, () => {
  const files = readdirSync(join(build, "assets"));
  for (const language of Object.keys(languageNames).filter((name) => name !== "en")) {
    const names = files.filter((name) => new RegExp(`^${language}-[\\w-]+\\.js$`).test(name));
    assert.equal(names.length, 1, language);
    assert.doesNotMatch(readFileSync(join(build, "assets", names[0] ?? ""), "utf8"), /\bimport\b|\bfrom\s*["'`]/);
  }
});
