import { builtinModules } from "node:module";
import { credentialHeaders } from "../../src/lib/secret-names.ts";
import { importsOf, resolveImport, type SourceFile, type Token } from "./source-files.ts";

/** `packages`, and folders and files of `src`, lowest layer first: a file imports from its own folder and from lower layers. */
const layers = [
  "packages",
  "version",
  "lib",
  "errors schemas",
  "db providers routing guardrails cache pricing policies logs dialects observability prompts",
  "auth log-index",
  "control log-tail log-reader",
  "context",
  "endpoint",
  "upstream",
  "inference admin mcp console",
  "handler openapi",
  "gateway",
  "declared moving",
  "settings",
  "serve",
].map((names) => names.split(" "));

/** A rule: every breach as one line that begins with the place. */
export type Rule = (files: readonly SourceFile[]) => string[];

const isIn = (path: string, ...folders: string[]): boolean => folders.some((folder) => path.startsWith(`${folder}/`));

/**
 * Rooms of a feature that stand on another floor than the feature itself, by their folder: the part of `src` with whose layer
 * they are built. So a feature lies in one folder, although its tables, its state and its endpoints are layers apart.
 */
const rooms: Readonly<Record<string, string>> = {
  "logs/index": "log-index",
  "logs/follow": "log-tail",
  "logs/read": "log-reader",
  "mcp/registry": "control",
  "mcp/admin": "admin",
};

/** The part a path belongs to: `packages`, or of `src` a folder's name, a file's without ending, or the part of a room. */
function partOf(path: string): string | undefined {
  if (path.startsWith("packages/")) return "packages";
  const room = /^src\/([^/]+\/[^/]+)\//.exec(path)?.[1];
  return rooms[room ?? ""] ?? /^src\/([^/]+?)(?:\.ts$|\/)/.exec(path)?.[1];
}

function rankOf(part: string | undefined): number {
  return layers.findIndex((names) => part !== undefined && names.includes(part));
}

/** Imports against the layers, between siblings of one layer, or out of `src`. */
export const layering: Rule = (files) =>
  files.flatMap((file) => {
    const part = partOf(file.path);
    if (part === undefined) return []; // mod.ts imports what it likes
    const rank = rankOf(part);
    if (rank < 0) return [`${file.path}: "${part}" has no layer`];
    return importsOf(file).flatMap(({ specifier, line }) => {
      const target = resolveImport(file.path, specifier);
      if (target === undefined && specifier !== "gateway") return [];
      const targetPart = partOf(target ?? "mod.ts");
      if (targetPart === part) return [];
      const edge = `${file.path}:${line}: ${part} imports ${targetPart ?? "from outside src"} (${specifier})`;
      const targetRank = rankOf(targetPart);
      if (targetRank < 0) return [edge];
      return targetRank < rank ? [] : [`${edge}, ${targetRank === rank ? "its sibling" : "a higher layer"}`];
    });
  });

/** Folders of a part of `src`, lowest first. A file imports from its own folder, from lower ones and from outside the part. */
const folderOrders: Readonly<Record<string, readonly string[]>> = {
  inference:
    "facts target call stream adapt guard cache choice shadow pipeline passthrough realtime files batches records vectors ingest tools routes".split(
      " ",
    ),
  admin:
    "core saved analytics alert-rules log-exports evals guardrails integrations mcp/admin prompts policies api-keys users scim organisation".split(
      " ",
    ),
  // every other folder is a provider's, which may build on another provider
  providers: "core auth shared openai-compatible".split(" "),
};

/** Place of a file in the order of its part's folders: files beside the folders come last. */
function folderRank(path: string, part: string): number {
  const order = folderOrders[part] ?? [];
  const room = /^src\/([^/]+\/[^/]+)\//.exec(path)?.[1] ?? "";
  const folder = Object.hasOwn(rooms, room) ? room : /^src\/[^/]+\/([^/]+)\//.exec(path)?.[1];
  if (folder === undefined) return order.length + 1;
  const rank = order.indexOf(folder);
  return rank < 0 ? order.length : rank;
}

/** Imports against the order of the folders of a part, and folders without a place in it. */
export const folderOrder: Rule = (files) =>
  files.flatMap((file) => {
    const part = partOf(file.path) ?? "";
    const order = folderOrders[part];
    if (order === undefined) return [];
    const rank = folderRank(file.path, part);
    if (rank === order.length && part !== "providers") return [`${file.path}: its folder has no place in ${part}`];
    return importsOf(file).flatMap(({ specifier, line }) => {
      const target = resolveImport(file.path, specifier);
      if (target === undefined || partOf(target) !== part || folderRank(target, part) <= rank) return [];
      return [`${file.path}:${line}: imports ${specifier}, a higher folder of ${part}`];
    });
  });

/** Cycles of imports, type imports included; each once. */
export const cycles: Rule = (files) => {
  const edges = new Map(
    files.map((file) => [
      file.path,
      importsOf(file).flatMap(({ specifier }) => resolveImport(file.path, specifier) ?? []),
    ]),
  );
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) found.push([...trail.slice(start), path].join(" -> "));
    if (start >= 0 || done.has(path)) return;
    for (const next of edges.get(path) ?? []) visit(next, [...trail, path]);
    done.add(path);
  };
  for (const path of edges.keys()) visit(path, []);
  return found;
};

const globals = new Set(["globalThis", "self", "window"]);

/** True where a word is a free name or a member of the global object, not a member, a key or a method's name. */
function isFree(tokens: readonly Token[], index: number): boolean {
  if (tokens[index]?.kind !== "word") return false;
  const before = tokens[index - 1]?.text;
  const after = tokens[index + 1]?.text;
  if (before === "." || before === "?.") return globals.has(tokens[index - 2]?.text ?? "");
  const isKey = after === ":" && ["{", ",", ";", "readonly", "}"].includes(before ?? ";");
  return !isKey && !isMethod(tokens, index);
}

/** True where a word is followed by parameters and a body or a return type: a declaration, not a call. */
function isMethod(tokens: readonly Token[], index: number): boolean {
  if (tokens[index + 1]?.text !== "(") return false;
  let depth = 0;
  let end = index + 1;
  for (; end < tokens.length; end++) {
    const { kind, text } = tokens[end] as Token; // end is in range
    if (kind === "sign" && text === "(") depth++;
    if (kind === "sign" && text === ")" && --depth === 0) break;
  }
  const before = tokens[index - 1]?.text ?? ";";
  const after = tokens[end + 1]?.text;
  if (after === "{") return true;
  return after === ":" && ["{", "}", ";", ",", "async", "readonly", "static", "function"].includes(before);
}

const runtimeNames = new Set(["Bun", "Deno", "process", "Buffer", "__dirname", "__filename", "require"]);
const runtimeModules = new Set([...builtinModules, "bun"]);
const isRuntimeModule = (name: string): boolean => /^(node|bun|deno|jsr):/.test(name) || runtimeModules.has(name);

/** Names and modules of a runtime outside `src/serve`. */
export const runtimeUse: Rule = (files) =>
  files
    .filter(({ path }) => !isIn(path, "src/serve"))
    .flatMap((file) => {
      const modules = importsOf(file).filter(({ specifier }) => isRuntimeModule(specifier));
      const names = file.tokens.filter(({ text }, index) => runtimeNames.has(text) && isFree(file.tokens, index));
      return [
        ...modules.map(({ line, specifier }) => `${file.path}:${line}: imports "${specifier}"`),
        ...names.map(({ line, text }) => `${file.path}:${line}: names ${text}`),
      ];
    });

const networkModules = /^(node:)?(http|https|http2|net|tls|dgram|dns)(\/.*)?$|^(undici|ioredis)$/;
const networkClasses = new Set(["WebSocket", "EventSource", "XMLHttpRequest"]);

function isOutbound(tokens: readonly Token[], index: number): boolean {
  const { text } = tokens[index] as Token; // called with indexes of tokens
  const before = tokens[index - 1]?.text ?? "";
  if (networkClasses.has(text)) return before === "new";
  if (text !== "fetch" || !isFree(tokens, index)) return false;
  // Called, taken from the global object, or the fallback of an injected one.
  return tokens[index + 1]?.text === "(" || before === "." || before === "?." || ["=", "??", "|"].includes(before);
}

/** Network calls that do not go through the one outbound function. */
export const outboundCalls: Rule = (files) =>
  files
    // the driver of the database calls the one address that the operator set
    .filter(({ path }) => !["src/lib/outbound.ts", "src/db/remote-client.ts"].includes(path))
    .filter(({ path }) => !isIn(path, "src/serve"))
    .flatMap((file) => {
      const modules = importsOf(file).filter(({ specifier }) => networkModules.test(specifier));
      const calls = file.tokens.filter((_, index) => isOutbound(file.tokens, index));
      return [
        ...modules.map(({ line, specifier }) => `${file.path}:${line}: imports "${specifier}"`),
        ...calls.map(({ line, text }) => `${file.path}:${line}: uses ${text}`),
      ];
    });

/** Words between an import and where it comes from; a type import begins with `type`. */
function importsValues(file: SourceFile, specifier: string): boolean {
  const end = file.tokens.findIndex(({ kind, text }) => kind === "string" && text === specifier);
  const start = file.tokens.findLastIndex(({ text }, index) => index < end && text === "import");
  return file.tokens[start + 1]?.text !== "type";
}

/** Tables used outside the data layer: there, statements name their tenant; elsewhere nobody would see that they do not. */
export const tablesInStores: Rule = (files) =>
  files
    .filter(({ path }) => !isIn(path, "src/db"))
    .flatMap((file) =>
      importsOf(file)
        .filter(({ specifier }) => /\/db\/tables\//.test(specifier) || /^drizzle-orm/.test(specifier))
        .filter(({ specifier }) => importsValues(file, specifier))
        .map(({ line, specifier }) => `${file.path}:${line}: imports "${specifier}"`),
    );

const mayBeLong = /^src\/schemas\/|\/(tables|migrations|catalog)\/|\/(catalog|registry)\.ts$/;

/** Files over 500 lines; schemas, tables, migrations, catalogs and registries may be. */
export const longFiles: Rule = (files) =>
  files.flatMap(({ path, text }) => {
    const lines = text.replace(/\n$/, "").split("\n").length;
    return lines > 500 && !mayBeLong.test(path) ? [`${path}: ${lines} lines`] : [];
  });

/** Index after an import or a re-export that begins at `index`; undefined where something else begins. */
function skipReexport(tokens: readonly Token[], index: number): number | undefined {
  const text = (offset: number): string | undefined => tokens[offset]?.text;
  if (text(index) === ";") return index + 1;
  const first = text(index + 1) === "type" ? index + 2 : index + 1;
  if (text(index) === "import") {
    const end = tokens.findIndex(({ kind }, at) => at > index && kind === "string");
    return end < 0 || text(index + 1) === "(" || text(index + 1) === "." ? undefined : end + 1;
  }
  if (text(index) !== "export" || (text(first) !== "{" && text(first) !== "*")) return undefined;
  let end = first;
  while (end < tokens.length && text(end) !== ";" && tokens[end]?.kind !== "string") end++;
  return end + 1;
}

/** Files that hold nothing but re-exports; `mod.ts` at the top is meant to. */
export const barrels: Rule = (files) =>
  files.flatMap(({ path, tokens }) => {
    if (path === "mod.ts" || !tokens.some(({ text }) => text === "export")) return [];
    let index: number | undefined = 0;
    while (index !== undefined && index < tokens.length) index = skipReexport(tokens, index);
    return index === undefined ? [] : [`${path}: only re-exports`];
  });

/** Default exports outside `mod.ts` at the top. */
export const defaultExports: Rule = (files) =>
  files.flatMap(({ path, tokens }) =>
    path === "mod.ts"
      ? []
      : tokens.flatMap(({ kind, text, line }, index) => {
          const before = tokens[index - 1]?.text;
          const isExport =
            before === "export" || (before === "as" && ["}", ","].includes(tokens[index + 1]?.text ?? ""));
          return kind === "word" && text === "default" && isExport ? [`${path}:${line}: default export`] : [];
        }),
  );

/** Words before a parenthesis that holds no parameters. */
const statements = new Set(["if", "for", "while", "switch", "catch", "with", "return", "await", "typeof", "new", "of"]);

/** A list of parameters: of a function, a method or a function type. */
interface Parameters {
  readonly line: number;
  /** Tokens of each parameter. */
  readonly list: readonly (readonly Token[])[];
}

const brackets: Readonly<Record<string, number>> = {
  "(": 1,
  "[": 1,
  "{": 1,
  "<": 1,
  ")": -1,
  "]": -1,
  "}": -1,
  ">": -1,
};

/** The parts between the commas of the parenthesis at `start`, and where it ends. */
function partsOf(tokens: readonly Token[], start: number): { list: Token[][]; end: number } {
  const list: Token[][] = [[]];
  let depth = 0;
  for (let index = start; index < tokens.length; index++) {
    const token = tokens[index] as Token; // below the length
    const isSign = token.kind === "sign";
    depth += isSign ? (brackets[token.text] ?? 0) : 0;
    if (depth === 0) return { list: list.filter((part) => part.length > 0), end: index };
    if (isSign && token.text === "," && depth === 1) list.push([]);
    else if (index > start) list.at(-1)?.push(token);
  }
  return { list: [], end: tokens.length };
}

/** Every list of parameters of a file. */
function parametersOf({ tokens }: SourceFile): Parameters[] {
  return tokens.flatMap(({ kind, text, line }, index) => {
    const before = tokens[index - 1];
    if (kind !== "sign" || text !== "(" || (before && statements.has(before.text))) return [];
    const { list, end } = partsOf(tokens, index);
    const after = tokens[end + 1]?.text;
    // a type behind a colon, a body or an arrow
    const isList = after === "{" || after === "=>" || (after === ":" && before?.text !== "?");
    return isList ? [{ line, list }] : [];
  });
}

/** Lists of more than four parameters: an options object says which is which. */
export const longParameterLists: Rule = (files) =>
  files.flatMap((file) =>
    parametersOf(file)
      .filter(({ list }) => list.length > 4)
      .map(({ line, list }) => `${file.path}:${line}: ${list.length} parameters`),
  );

/** All services as a parameter below the rows: what serves a request finds them in its context, others name a few. */
export const servicesBelowRows: Rule = (files) =>
  files
    .filter(({ path }) => isIn(path, "src/inference", "src/admin", "src/endpoint"))
    .flatMap((file) =>
      parametersOf(file)
        .filter(({ list }) => list.some((part) => part.at(-1)?.text === "Services" && part.at(-2)?.text === ":"))
        .map(({ line }) => `${file.path}:${line}: takes all services`),
    );

/** Whether an expression that begins at `start` is a function. */
function isFunctionAt(tokens: readonly Token[], start: number): boolean {
  const first = tokens[start]?.text === "async" ? start + 1 : start;
  const text = tokens[first]?.text;
  if (text === "function" || tokens[first + 1]?.text === "=>") return true;
  if (text !== "(") return false;
  const after = tokens[partsOf(tokens, first).end + 1]?.text;
  return after === "=>" || after === ":";
}

/** Whether an expression that begins at `start` is a name with members, such as `reader.read.bind(reader)`, that binds a method. */
function bindsAt(tokens: readonly Token[], start: number): boolean {
  let index = start;
  while (tokens[index + 1]?.text === "." || tokens[index + 1]?.text === "?.") index += 2;
  return tokens[index]?.text === "bind" && tokens[index + 1]?.text === "(";
}

/**
 * Functions that are assigned to a member of another object than `this`: who calls the method cannot see what it does. An
 * object has its methods where it is made; what several look at is a list.
 */
export const replacedMethods: Rule = (files) =>
  files
    .filter(({ path }) => isIn(path, "src"))
    .flatMap(({ path, tokens }) =>
      tokens.flatMap(({ kind, text, line }, index) => {
        const isMember = kind === "word" && tokens[index - 1]?.text === "." && tokens[index - 2]?.text !== "this";
        if (!isMember) return [];
        const sign = tokens[index + 1]?.text === "??" ? index + 2 : index + 1;
        if (tokens[sign]?.text !== "=" || tokens[sign]?.kind !== "sign") return [];
        const isFunction = isFunctionAt(tokens, sign + 1) || bindsAt(tokens, sign + 1);
        return isFunction ? [`${path}:${line}: assigns a function to ${text}`] : [];
      }),
    );

const credentials = new Set(
  [...credentialHeaders].filter((name) => name.startsWith("x-") || name.startsWith("proxy-")),
);

/** Lists of headers that hold credentials beside that of `lib/secret-names.ts`; providers name the headers of their APIs. */
export const credentialLists: Rule = (files) =>
  files
    .filter(({ path }) => path !== "src/lib/secret-names.ts" && !isIn(path, "src/providers", "src/guardrails/partners"))
    .flatMap(({ path, tokens }) => {
      const named = new Set(
        tokens.flatMap(({ kind, text }) => (kind === "string" && credentials.has(text) ? text : [])),
      );
      return named.size > 1 ? [`${path}: lists ${[...named].join(", ")} instead of using lib/secret-names.ts`] : [];
    });
