import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";
import { repository } from "../support/source-files.ts";
import { readPage, readPages } from "./pages.ts";

const pages = readPages();
const readme = pages[0]?.text ?? "";

/** The anchor GitHub makes of a heading. */
function toAnchor(heading: string): string {
  const letters = heading.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "");
  return letters.replaceAll(" ", "-");
}

function anchorsOf(path: string): string[] {
  const text = readFileSync(join(repository, path), "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => toAnchor(heading));
}

for (const { path, text } of [...pages, readPage("CONTRIBUTING.md")]) {
  test(`links of ${path} lead to files and headings that exist`, () => {
    for (const [, link = ""] of text.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? path : posix.join(posix.dirname(path), file);
      assert.ok(existsSync(join(repository, target)), `${path}: ${link}`);
      if (anchor !== undefined) assert.ok(anchorsOf(target).includes(anchor), `${path}: ${link}`);
    }
  });
}

test("the README lists every page under More", () => {
  const more = readme.slice(readme.indexOf("## More"));
  for (const { path } of pages.slice(1)) assert.ok(more.includes(`- [${path}](${path}): `), path);
});
