import { RpcError } from "../errors.ts";
import { isObject, stringOf } from "../lib/json.ts";
import type { McpCall } from "./mcp-call.ts";
import type { Message } from "./message.ts";
import { codes } from "./protocol.ts";

type Definition = Readonly<Record<string, unknown>>;

/** The tools that stand for all others. */
export const searchTools: readonly Definition[] = [
  {
    name: "find_tools",
    title: "Find tools",
    description: "Finds tools of this server by words of what they do. Call this before call_tool.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "Words of what the tool should do" },
        limit: { type: "integer", minimum: 1, maximum: 50, description: "Most tools to return; default 10" },
      },
      required: ["query"],
    },
    annotations: { readOnlyHint: true },
  },
  {
    name: "call_tool",
    title: "Call a tool",
    description: "Calls a tool that find_tools returned, by its name and with arguments of its inputSchema.",
    inputSchema: {
      type: "object",
      properties: { name: { type: "string" }, arguments: { type: "object" } },
      required: ["name"],
    },
  },
];

/** Whether a caller sees the tools that stand for all others: as the server's settings or the request say. */
export function searchesTools({ server, context }: McpCall): boolean {
  const asked = context.header("tool-mode");
  return asked === null ? server.settings.tool_mode === "search" : asked.toLowerCase() === "search";
}

function refuse(problem: string): never {
  throw new RpcError(200, `Cannot call the tool: ${problem}`, { rpcCode: codes.invalidParams, code: "invalid_params" });
}

/** Longest query, and most words of it. */
const maxQuery = 1_000;
const maxWords = 10;

/** The words of a text in small letters; names in camel case are several. */
function wordsOf(text: string): string[] {
  const parts = text.replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, " ");
  return parts.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

/** What is searched of a definition, by how much a word in it counts: its description, title and name. Blanks surround words. */
type Searched = readonly [string, string, string];

/** Most characters of a description that are searched: a search looks at all tools at once. */
const maxSearched = 1_000;
const searchedOf = new WeakMap<Definition, Searched>();

function toSearched(definition: Definition): Searched {
  const known = searchedOf.get(definition);
  if (known) return known;
  const { name, title, description } = definition;
  const plain = (value: unknown) => ` ${wordsOf(String(value ?? "").slice(0, maxSearched)).join(" ")} `;
  const searched: Searched = [plain(description), plain(title), plain(name)];
  searchedOf.set(definition, searched);
  return searched;
}

/** Scripts without blanks between words: their words are found anywhere. */
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** How well a word fits a text: 2 as a whole word, 1 as the beginning of one. */
function fitOf(word: string, text: string): number {
  if (text.includes(` ${word} `)) return 2;
  return text.includes(unspaced.test(word) ? word : ` ${word}`) ? 1 : 0;
}

/** How well a tool fits words: how many of them it has, and where; a word in its name counts most. */
function scoreOf(definition: Definition, words: readonly string[]): { words: number; places: number } {
  const searched = toSearched(definition);
  let [found, places] = [0, 0];
  for (const word of words) {
    let fits = 0;
    for (const [index, text] of searched.entries()) fits += fitOf(word, text) * (index + 1);
    if (fits > 0) found++;
    places += fits;
  }
  return { words: found, places };
}

/**
 * The result of `find_tools`.
 *
 * @throws {RpcError} -32602 for invalid arguments.
 */
export function findTools(given: unknown, tools: readonly Definition[]): Record<string, unknown> {
  const { query, limit = 10 } = isObject(given) ? given : {};
  if (typeof query !== "string" || query.length > maxQuery) refuse("query must be a string of at most 1000 characters");
  if (typeof limit !== "number" || !Number.isInteger(limit) || limit < 1 || limit > 50) {
    refuse("limit must be a whole number from 1 to 50");
  }
  const words = [...new Set(wordsOf(query))].slice(0, maxWords);
  const found = tools
    .map((tool) => ({ tool, score: scoreOf(tool, words) }))
    .filter(({ score }) => score.words > 0 || words.length === 0)
    .toSorted(({ score: a }, { score: b }) => b.words - a.words || b.places - a.places)
    .slice(0, limit)
    .map(({ tool: { name, title, description, inputSchema } }) => ({ name, title, description, inputSchema }));
  const structuredContent = { tools: found };
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
}

/**
 * The call that `call_tool` asks for.
 *
 * @throws {RpcError} -32602 for invalid arguments.
 */
export function toInnerCall(message: Message): Message {
  const given = message.params.arguments;
  const name = isObject(given) ? stringOf(given.name) : undefined;
  const inner = isObject(given) ? (given.arguments ?? {}) : {};
  if (name === undefined) refuse("name must be a string");
  if (!isObject(inner)) refuse("arguments must be an object");
  return withParams(message, { ...message.params, name, arguments: inner });
}

/** A message with other parameters. */
export function withParams(message: Message, params: Record<string, unknown>): Message {
  return { ...message, params, value: { ...message.value, params } };
}
