import { InvalidRequestError } from "../errors.ts";
import { Budget, ExcessError } from "../lib/budget.ts";
import { decodeUtf8 } from "../lib/json.ts";

/** Bounds of a file: an installation with a thousand records has some hundred kB. */
const maxBytes = 4 * 2 ** 20;
/** What its anchors and aliases may make of it. */
const maxExpanded = 16 * 2 ** 20;
/** Most aliases, those that aliases contain counted each time. */
const maxAliases = 100;

/** Loaded on first use: starts without a file do not need it. */
const loadLibrary = () => import("yaml");

async function parse(text: string, what: string): Promise<unknown> {
  const { parseDocument } = await loadLibrary();
  const document = parseDocument(text, { uniqueKeys: true, merge: false, version: "1.2", schema: "core" });
  const [error] = document.errors;
  if (error) throw new InvalidRequestError(`Cannot read ${what}: ${error.message.split("\n")[0]}`, { code: "AB01" });
  return document.toJS({ maxAliasCount: maxAliases });
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
    const value = await parse(decodeUtf8(bytes), what);
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
