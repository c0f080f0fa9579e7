import type { CST, Document, LineCounter } from "yaml";
import { InvalidRequestError } from "../errors.ts";
import { Budget, ExcessError } from "../lib/budget.ts";
import { decodeUtf8, hasRepeatedName } from "../lib/json.ts";

/** Bounds of a file: an installation with a thousand records has some hundred kB. */
const maxBytes = 4 * 2 ** 20;
/** What its anchors and aliases may make of it. */
const maxExpanded = 16 * 2 ** 20;
/** Most aliases, those that aliases contain counted each time. */
const maxAliases = 100;

/** Most tokens of YAML: indents, names, marks and values. A thousand records have some 50,000; JSON has other bounds. */
const maxTokens = 1_000_000;

/** Most anchors: the library looks for the anchor of an alias among all of them. */
const maxAnchors = 1_000;

/** Loaded on first use: starts without a file do not need it. */
const loadLibrary = () => import("yaml");

/** The value of a text that is JSON, where no object repeats a name; undefined for any other. */
function readJson(text: string, budget: Budget): unknown {
  if (!/^\s*[{[]/.test(text)) return undefined;
  try {
    const value = budget.json(text);
    return hasRepeatedName(text) ? undefined : value;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Counts tokens before a tree is made of them, which needs a hundred times their memory. */
async function checkTokens(text: string, budget: Budget): Promise<void> {
  const { Lexer } = await loadLibrary();
  let [count, anchors] = [0, 0];
  for (const token of new Lexer().lex(text)) {
    if (++count > maxTokens) throw budget.excess(`more than ${maxTokens} tokens`);
    if (token.startsWith("&") && ++anchors > maxAnchors) throw budget.excess(`more than ${maxAnchors} anchors`);
  }
}

/** Something that is no YAML, or none that is taken, and where. */
interface Problem {
  readonly message: string;
  readonly offset: number;
}

/** The first name that a map repeats. The library compares each name with all others, which takes minutes for a long map. */
async function findRepeated(document: Document.Parsed): Promise<Problem | undefined> {
  const { isScalar, visit } = await loadLibrary();
  let found: Problem | undefined;
  visit(document, {
    Map(_, { items }) {
      const names = new Set<string>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const name = String(key.value);
        if (names.has(name)) found = { message: `"${name}" stands twice in one object`, offset: key.range?.[0] ?? 0 };
        names.add(name);
      }
      return found && visit.BREAK;
    },
  });
  return found;
}

/** The document of a text, or its first problem. The library describes all problems, each with its whole line. */
async function compose(text: string, counter: LineCounter): Promise<Document.Parsed | Problem> {
  const { Composer, Parser } = await loadLibrary();
  const tokens: CST.Token[] = [];
  for (const token of new Parser(counter.addNewLine).parse(text)) {
    if (token.type === "error") return token;
    tokens.push(token);
  }
  const composer = new Composer({
    uniqueKeys: false,
    merge: false,
    version: "1.2",
    schema: "core",
    prettyErrors: false,
  });
  const [document, other] = composer.compose(tokens, true, text.length);
  if (!document) return { message: "it is empty", offset: 0 };
  const [error] = document.errors;
  if (error) return { message: error.message, offset: error.pos[0] };
  if (other) return { message: "it contains multiple documents", offset: other.range[0] };
  return (await findRepeated(document)) ?? document;
}

async function parse(text: string, what: string): Promise<unknown> {
  const { LineCounter: Counter } = await loadLibrary();
  const counter = new Counter();
  const document = await compose(text, counter);
  if (!("offset" in document)) return document.toJS({ maxAliasCount: maxAliases });
  const { line, col } = counter.linePos(document.offset);
  const [message] = document.message.split("\n");
  throw new InvalidRequestError(`Cannot read ${what}: ${message} at line ${line}, column ${col}`, { code: "AB01" });
}

/**
 * The value of a YAML file; JSON is YAML too.
 *
 * @param what Its name in messages.
 * @throws {InvalidRequestError} If it is not YAML, or exceeds its bounds.
 */
export async function readYaml(bytes: Uint8Array, what: string): Promise<unknown> {
  const budget = new Budget({ source: "caller", what, bytes: maxExpanded });
  try {
    if (bytes.length > maxBytes) throw budget.excess(`more than ${maxBytes} bytes`);
    const text = decodeUtf8(bytes);
    const json = readJson(text, budget);
    if (json !== undefined) return json;
    await checkTokens(text, budget);
    const value = await parse(text, what);
    return budget.json(JSON.stringify(value ?? null));
  } catch (cause) {
    if (cause instanceof InvalidRequestError) throw cause;
    const reason = cause instanceof ExcessError ? `it has ${cause.excess}` : "it is not YAML, or nested too deep";
    throw new InvalidRequestError(`Cannot read ${what}: ${reason}`, { code: "AB01", cause });
  }
}

/** A value as YAML. */
export async function writeYaml(value: unknown): Promise<string> {
  const { stringify } = await loadLibrary();
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });
}
