// Rules over every TypeScript file of the repository, tests and scripts included.

import type { Rule } from "./architecture.ts";
import { resolveImport, type SourceFile, type Token } from "./source-files.ts";

const openers: Readonly<Record<string, string>> = { "{": "}", "[": "]", "(": ")" };

/** Index of the sign that closes the one at `index`. */
function closing(tokens: readonly Token[], index: number): number {
  let depth = 0;
  for (let at = index; at < tokens.length; at++) {
    const { kind, text } = tokens[at] as Token; // below the length
    if (kind !== "sign") continue;
    if (openers[text] !== undefined) depth++;
    else if (Object.values(openers).includes(text) && --depth === 0) return at;
  }
  return tokens.length;
}

/** Literals spread into literals: `{ ...{ a, b } }` equals `{ a, b }`. */
export const literalSpreads: Rule = (files) =>
  files.flatMap(({ path, tokens }) =>
    tokens.flatMap(({ kind, text, line }, index) => {
      const next = tokens[index + 1];
      if (kind !== "sign" || text !== "..." || next?.kind !== "sign" || !["{", "["].includes(next.text)) return [];
      const after = tokens[closing(tokens, index + 1) + 1]?.text ?? "";
      return [",", "}", "]", ")"].includes(after) ? [`${path}:${line}: spreads a literal`] : [];
    }),
  );

const declared = /^(function|const|class|let|interface|type)$/;

/** Names a file exports where it declares them. */
function exportsOf({ tokens }: SourceFile): { readonly name: string; readonly line: number }[] {
  return tokens.flatMap(({ kind, text, line }, index) => {
    if (kind !== "word" || text !== "export") return [];
    const rest = tokens.slice(index + 1, index + 5).filter((token) => !["async", "*", "abstract"].includes(token.text));
    const [keyword, name] = rest;
    return keyword !== undefined && name !== undefined && declared.test(keyword.text)
      ? [{ name: name.text, line }]
      : [];
  });
}

/** Names that a file imports, `*` for all of them, by path. */
function namesTaken(file: SourceFile): string[] {
  const { tokens, path } = file;
  return tokens.flatMap(({ kind, text }, index) => {
    const target = kind === "string" ? resolveImport(path, text) : undefined;
    if (target === undefined) return [];
    if (tokens[index - 1]?.text === "(") return [`${target}#*`];
    if (tokens[index - 1]?.text !== "from") return [];
    if (tokens[index - 2]?.text !== "}") return [`${target}#*`];
    const start = tokens.findLastIndex((token, at) => at < index && token.text === "{");
    return tokens
      .slice(start + 1, index - 2)
      .filter((token, at, all) => token.kind === "word" && token.text !== "as" && all[at - 1]?.text !== "as")
      .map((token) => `${target}#${token.text}`);
  });
}

/** Exports that nothing imports. drizzle-kit reads the tables. */
export const unusedExports: Rule = (files) => {
  const taken = new Set(files.flatMap(namesTaken));
  return files
    .filter(({ path }) => /^(?:src|packages\/[^/]+\/src)\//.test(path) && !path.startsWith("src/db/tables/"))
    .flatMap((file) =>
      taken.has(`${file.path}#*`)
        ? []
        : exportsOf(file)
            .filter(({ name }) => !taken.has(`${file.path}#${name}`))
            .map(({ name, line }) => `${file.path}:${line}: nothing imports ${name}`),
    );
};
