import { isObject } from "../lib/json.ts";

/** Most rows of a table, and most columns. */
const maxRows = 100_000;
const maxColumns = 200;

/** The cells of each line of a text with commas (RFC 4180). */
function readCells(text: string): string[][] {
  const rows: string[][] = [[]];
  const form = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  while (form.lastIndex < text.length && rows.length <= maxRows) {
    const [, quoted, plain = "", end] = form.exec(text) ?? [];
    if (end === undefined) throw new Error("Cannot read the table: a quote is not closed");
    rows.at(-1)?.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end !== ",") rows.push([]);
  }
  return rows.filter((cells) => cells.length > 0);
}

/**
 * The rows of an export: CSV with a line of names, or JSON, a list or an object with the list.
 *
 * @throws {Error} If it is neither.
 */
export function readTable(text: string, parse: (text: string) => unknown): Record<string, unknown>[] {
  const value = parse(text);
  const list: unknown = isObject(value) ? (value.keys ?? value.teams ?? value.data) : value;
  if (Array.isArray(list)) return list.filter(isObject);
  const [names = [], ...rows] = readCells(text);
  if (names.length < 2) throw new Error("Cannot read the table: it is neither JSON nor CSV with a line of names");
  if (names.length > maxColumns) throw new Error(`Cannot read the table: it has more than ${maxColumns} columns`);
  return rows.map((cells) => {
    const entries = names.map((name, index) => [name.trim(), cells[index] ?? ""] as const);
    return Object.fromEntries(entries.filter(([, cell]) => cell !== ""));
  });
}
