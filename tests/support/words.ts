// The word list: words that readers of this field do not expect, and what to write instead.
// It holds in pages, comments, messages of the sources and titles of tests.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repository, type SourceFile, tokenize } from "./source-files.ts";

/** A word and what stands in its place. */
interface Word {
  readonly found: RegExp;
  readonly instead: string;
}

export const wordList: readonly Word[] = [
  { found: /\btexts\b/i, instead: "text, strings" },
  { found: /\b(?:told|tells?|telling)\b/i, instead: "reports, returns, says, shows, distinguishes" },
  { found: /\bkept\b/i, instead: "stored, preserved, unchanged" },
  { found: /\bpictures?\b/i, instead: "image" },
  { found: /\bsounds?\b/i, instead: "audio" },
  { found: /\bthoughts\b/i, instead: "reasoning" },
  { found: /\btries\b/i, instead: "attempts, retries" },
  { found: /\b(?:is|are|was|were) none\b/i, instead: "say what it is not: is not a number" },
  { found: /\b(?<!circuit[ -])breakers?\b/i, instead: "circuit breaker" },
  { found: /\bways? in\b(?! which)/i, instead: "entry point" },
  { found: /\bwhole (?:answers?|repl(?:y|ies))\b/i, instead: "non-streaming response" },
  { found: /\blent\b/i, instead: "shared" },
  { found: /\bpeople\b/i, instead: "users" },
  { found: /\bupkeep\b/i, instead: "cleanup" },
  { found: /\bpassed (?:over|on)\b/i, instead: "ignored; forwarded" },
  { found: /\bhand(?:s|ed)? through\b/i, instead: "forwarded" },
  { found: /\bprice (?:books?|ladders?)\b|\bladders?\b/i, instead: "price list, price tiers" },
  { found: /\bdoors?\b/i, instead: "gateway, entry point" },
  { found: /\bof (?:one's|its|their|our) own\b/i, instead: "custom, own, separate" },
  { found: /\bin words of\b/i, instead: "native" },
  { found: /\bhouses?\b/i, instead: "gateway, repository" },
];

/** Words of the list in a piece of prose, with the line they stand in. */
function inProse(path: string, line: number, prose: string): string[] {
  return prose.split("\n").flatMap((text, index) =>
    wordList.flatMap(({ found, instead }) => {
      const word = found.exec(text)?.[0];
      return word === undefined ? [] : [`${path}:${line + index}: "${word}" (${instead}): ${text.trim()}`];
    }),
  );
}

/** Words of the list in a page; fenced blocks and code spans are left out. */
export function wordsInPage(path: string): string[] {
  const text = readFileSync(join(repository, path), "utf8");
  const blank = (code: string) => code.replaceAll(/[^\n]/g, " ");
  return inProse(path, 1, text.replaceAll(/^```[\s\S]*?^```/gm, blank).replaceAll(/`[^`\n]*`/g, blank));
}

const titled = new Set(["test", "it", "describe"]);

/** Words of the list in comments, in messages of the sources and in titles of tests. */
export function wordsInSource({ path, text, tokens }: SourceFile): string[] {
  const found: string[] = [];
  tokenize(text, (comment, line) => found.push(...inProse(path, line, comment.replaceAll(/`[^`\n]*`/g, ""))));
  const isProse = (content: string) => /[a-z] | {1,2}[a-z]/i.test(content) && !/https?:/.test(content);
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== "string" || !isProse(token.text)) continue;
    const isTitle = tokens[index - 1]?.text === "(" && titled.has(tokens[index - 2]?.text ?? "");
    if (isTitle || /^(?:packages\/[^/]+\/)?src\//.test(path)) found.push(...inProse(path, token.line, token.text));
  }
  return found;
}
