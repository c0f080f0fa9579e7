import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../support/source-files.ts";

/** A fenced block of a page. */
export interface Block {
  /** The page and the line of its fence. */
  place: string;
  /** What stands behind the fence, such as `sh`. */
  language: string;
  text: string;
  /** The paragraph below it. */
  after: string;
  /** What the block directly below it shows, which is its output. */
  shows: { readonly language: string; readonly text: string } | undefined;
}

/** A page and its blocks in order. */
export interface Page {
  path: string;
  text: string;
  blocks: Block[];
}

/** The block with which a paragraph begins. */
function readShown(paragraph: string): Block["shows"] {
  const [, language, text] = /^```(json|)\n([\s\S]*?)^```$/m.exec(paragraph) ?? [];
  const isFirst = paragraph.startsWith("```");
  return isFirst && language !== undefined && text !== undefined ? { language, text } : undefined;
}

/** A page by its path. */
export function readPage(path: string): Page {
  const text = readFileSync(join(repository, path), "utf8");
  const blocks = [...text.matchAll(/^( *)```([a-z]*)\n([\s\S]*?)^\1```\n+((?:.+\n)*)/gm)].map(
    ({ index, 1: indent = "", 2: language = "", 3: code = "", 4: after = "" }) => ({
      place: `${path}:${text.slice(0, index).split("\n").length}`,
      language,
      // a block of a list
      text: code.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      after: after.trimStart(),
      shows: readShown(after.trimStart()),
    }),
  );
  return { path, text, blocks };
}

/** The README, then the pages of `docs/` by name. */
export function readPages(): Page[] {
  const names = readdirSync(join(repository, "docs")).filter((name) => name.endsWith(".md"));
  return ["README.md", ...names.sort().map((name) => `docs/${name}`)].map(readPage);
}
