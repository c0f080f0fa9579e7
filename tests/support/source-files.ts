import { readdirSync, readFileSync } from "node:fs";
import { join, posix, resolve } from "node:path";

/** Folder of the repository. */
export const repository = resolve(import.meta.dirname, "../..");

/** A source file as the checks see it. */
export interface SourceFile {
  /** From the repository's folder, with forward slashes: `src/lib/json.ts`. */
  readonly path: string;
  readonly text: string;
  readonly tokens: readonly Token[];
}

/** A piece of code. Comments and white space are left out. */
export interface Token {
  /** A string's text is its content; pieces of a template are strings too. */
  readonly kind: "word" | "string" | "regex" | "sign";
  readonly text: string;
  readonly line: number;
}

/** One file from its path and text. */
export function toSourceFile(path: string, text: string): SourceFile {
  return { path, text, tokens: tokenize(text) };
}

/** `mod.ts` where there is one, and every TypeScript file below the folders, that of components too. */
export function readSourceFiles(...folders: readonly string[]): SourceFile[] {
  const below = (folder: string): string[] =>
    readdirSync(join(repository, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return entry.name === "node_modules" ? [] : below(path);
      return /\.tsx?$/.test(path) ? [path] : [];
    });
  const top = readdirSync(repository).filter((name) => name === "mod.ts");
  const paths = [...top, ...folders.flatMap(below)];
  return paths.sort().map((path) => toSourceFile(path, readFileSync(join(repository, path), "utf8")));
}

/** Words after which a slash begins a regular expression. */
const beforeRegex = new Set(
  "return typeof case in of void delete throw new else do await yield instanceof extends".split(" "),
);

/** Blanks, comments, numbers' and words' characters, and signs; strings, templates and slashes are handled apart. */
const pattern =
  /(\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)|([\p{ID_Start}$_#@\d][\p{ID_Continue}$\u200c\u200d]*)|(\?\.(?!\d)|\?\?|=>|\.\.\.|.)/suy;

/**
 * Splits TypeScript into tokens, well enough to distinguish code, comments, strings and regular expressions.
 * A slash after `)` counts as division.
 *
 * @param onComment Called with each comment and the line it begins in.
 */
export function tokenize(text: string, onComment?: (comment: string, line: number) => void): Token[] {
  const tokens: Token[] = [];
  /** Per open `${`, how many braces are open in it. */
  const braces: number[] = [];
  let line = 1;
  let position = 0;

  function add(kind: Token["kind"], end: number, content: string): void {
    tokens.push({ kind, text: content, line });
    advance(end);
  }

  function advance(end: number): void {
    for (let index = position; index < end; index++) if (text[index] === "\n") line++;
    position = end;
  }

  /** End of a piece that runs to an unescaped character of `stops`. */
  function endOf(start: number, stops: (index: number) => boolean): number {
    let index = start;
    while (index < text.length && !stops(index)) index += text[index] === "\\" ? 2 : 1;
    return index;
  }

  function template(start: number): void {
    const end = endOf(start, (index) => text[index] === "`" || text.startsWith("${", index));
    const opens = text[end] === "$";
    add("string", end + (opens ? 2 : 1), text.slice(start, end));
    if (opens) braces.push(0);
  }

  function startsRegex(): boolean {
    const last = tokens.at(-1);
    if (last === undefined) return true;
    if (last.kind === "word") return beforeRegex.has(last.text);
    return last.kind === "sign" && last.text !== ")" && last.text !== "]";
  }

  function regex(): void {
    let inClass = false;
    const end = endOf(position + 1, (index) => {
      if (text[index] === "[") inClass = true;
      if (text[index] === "]") inClass = false;
      return text[index] === "\n" || (text[index] === "/" && !inClass);
    });
    add("regex", end + 1, text.slice(position + 1, end));
  }

  while (position < text.length) {
    pattern.lastIndex = position;
    const [whole = "", blank, word] = pattern.exec(text) ?? [];
    const depth = braces.at(-1);
    if (blank !== undefined) {
      if (blank.startsWith("/")) onComment?.(blank, line);
      advance(position + whole.length);
    } else if (word !== undefined) add("word", position + whole.length, word);
    else if (whole === '"' || whole === "'") {
      const end = endOf(position + 1, (index) => text[index] === whole || text[index] === "\n");
      add("string", end + 1, text.slice(position + 1, end));
    } else if (whole === "`") template(position + 1);
    else if (whole === "}" && depth === 0) {
      braces.pop();
      template(position + 1);
    } else if (whole === "/" && startsRegex()) regex();
    else {
      if (depth !== undefined && whole === "{") braces[braces.length - 1] = depth + 1;
      if (depth !== undefined && whole === "}") braces[braces.length - 1] = depth - 1;
      add("sign", position + whole.length, whole);
    }
  }
  return tokens;
}

/** An import, a re-export, a dynamic import or an import type. */
export interface Import {
  readonly specifier: string;
  readonly line: number;
}

/** Every module a file names. */
export function importsOf({ tokens }: SourceFile): Import[] {
  const found: Import[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.kind !== "string") continue;
    const before = tokens[index - 1]?.text;
    const isFrom = before === "from" || before === "import";
    const isCall = before === "(" && ["import", "require"].includes(tokens[index - 2]?.text ?? "");
    if (isFrom || isCall) found.push({ specifier: token.text, line: token.line });
  }
  return found;
}

/** Path an import leads to, undefined for a package. `@/` is the folder of the console's sources. */
export function resolveImport(from: string, specifier: string): string | undefined {
  if (specifier.startsWith("@/")) return `console/src/${specifier.slice(2)}`;
  return specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : undefined;
}
