import { isObject, stringOf } from "../lib/json.ts";
import { fileSearchMembers, searchToolMembers, webSearchMembers } from "../schemas/server-tools.ts";

type Members = Record<string, unknown>;

/** Where a search runs: a model of `POST /search`, or a tool of an MCP server of the workspace. */
type SearchSource =
  | { readonly model: string }
  | { readonly server: string; readonly tool: string; readonly argument: string };

/** How the gateway searches the web for models. */
export interface WebSearchSettings {
  readonly source: SearchSource;
  /** Also for targets that can search themselves. */
  readonly isAlways: boolean;
  readonly maxUses: number;
  readonly maxResults: number;
  readonly maxCharacters: number;
  readonly timeoutMs: number;
}

/** What new vector stores of the gateway are made with. */
export interface FileSearchSettings {
  /** What makes vectors; undefined where requests say it. */
  readonly embeddings: string | undefined;
  readonly dimensions: number | undefined;
}

/** The tools that the gateway runs for models without them. */
export interface ServerToolSettings {
  readonly webSearch: WebSearchSettings | undefined;
  readonly fileSearch: FileSearchSettings | undefined;
}

/** What reading a part of a config needs of its reader. */
interface Reading {
  /** The fields of an object; those without a schema are reported unless `others` has them. */
  check(
    value: unknown,
    path: string,
    schemas: typeof webSearchMembers | typeof searchToolMembers | typeof fileSearchMembers | Record<never, never>,
    others?: (name: string) => boolean,
  ): Members;
  note(path: string, message: string): undefined;
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function readSource(members: Members, path: string, reading: Reading): SearchSource | undefined {
  const { model, mcp } = members;
  if ((model === undefined) === (mcp === undefined)) {
    return reading.note(path, "must have model or mcp, and not both");
  }
  if (mcp === undefined) return typeof model === "string" ? { model } : undefined;
  if (!isObject(mcp)) return undefined;
  const { server, tool, argument } = reading.check(mcp, `${path}.mcp`, searchToolMembers);
  for (const [name, value] of Object.entries({ server, tool })) {
    if (value === undefined) reading.note(`${path}.mcp.${name}`, "must be given");
  }
  if (typeof server !== "string" || typeof tool !== "string") return undefined;
  return { server, tool, argument: stringOf(argument) ?? "query" };
}

function readWebSearch(value: unknown, path: string, reading: Reading): WebSearchSettings | undefined {
  if (value === undefined) return undefined;
  const members = reading.check(value, path, webSearchMembers);
  const source = readSource(members, path, reading);
  return (
    source && {
      source,
      isAlways: members.run === "always",
      maxUses: numberOr(members.max_uses, 8),
      maxResults: numberOr(members.max_results, 5),
      maxCharacters: numberOr(members.max_characters, 3_000),
      timeoutMs: numberOr(members.timeout, 10_000),
    }
  );
}

function readFileSearch(value: unknown, path: string, reading: Reading): FileSearchSettings | undefined {
  if (value === undefined) return undefined;
  const { embeddings, dimensions } = reading.check(value, path, fileSearchMembers);
  return {
    embeddings: stringOf(embeddings),
    dimensions: typeof dimensions === "number" ? dimensions : undefined,
  };
}

/** Reads `server_tools` of a config, at its root. */
export function readServerTools(
  value: unknown,
  { path, isRoot, reading }: { path: string; isRoot: boolean; reading: Reading },
): ServerToolSettings | undefined {
  if (value === undefined) return undefined;
  if (!isRoot) return reading.note(path, "must be at the root");
  const members = reading.check(value, path, {}, () => true);
  const { web_search: webSearch, file_search: fileSearch, code_interpreter: code, ...others } = members;
  if (code !== undefined) reading.note(`${path}.code_interpreter`, "is a tool that the gateway cannot run");
  for (const name of Object.keys(others)) reading.note(`${path}.${name}`, "is not a server tool");
  return {
    webSearch: readWebSearch(webSearch, `${path}.web_search`, reading),
    fileSearch: readFileSearch(fileSearch, `${path}.file_search`, reading),
  };
}
