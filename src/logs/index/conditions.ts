import type { Column, NumberColumn, StringColumn } from "../../lib/columns.ts";
import type { Dictionary } from "../../lib/dictionary.ts";
import { packedIdBytes, unpackId } from "../../lib/ids.ts";
import type { FieldName, NumberFieldName, StringFieldName } from "./fields.ts";

/** What a row must meet in one field. */
export type Condition =
  | { readonly field: StringFieldName; readonly oneOf: ReadonlySet<string>; readonly orNone?: boolean }
  /** Rows with any value. */
  | { readonly field: StringFieldName; readonly isGiven: true }
  | { readonly field: NumberFieldName; readonly oneOf: ReadonlySet<number> }
  /** Both bounds are inclusive. Rows without a value do not meet it. */
  | { readonly field: NumberFieldName; readonly least?: number | undefined; readonly most?: number | undefined };

/** The value of a row in a column of numbers; NaN where it has none. */
export function numberAt({ codes, base, scale }: NumberColumn, row: number): number {
  const code = codes[row] ?? 0;
  if (base === undefined) return code;
  return code === 0 ? Number.NaN : (code + base) / scale;
}

/** The value of a row in a column of strings; null where it has none. */
export function stringAt({ codes, values }: StringColumn, row: number): string | null {
  const code = codes[row] ?? 0;
  return code === 0 ? null : values.at(code - 1);
}

/** The id of a row. */
export function idAt(column: Column, row: number): string {
  if (column.kind !== "ids") throw new TypeError("Cannot read an id: this is another column");
  return unpackId(column.bytes, row * packedIdBytes);
}

/** Codes that a condition accepts: 1 in the place of each. */
type CodeTable = Uint8Array;

/** More strings than this are looked for all at once. */
const maxSearches = 8;

/** Places in the dictionary of the strings that meet a condition. */
function findStrings(values: Dictionary, condition: Condition): readonly number[] {
  if (!("oneOf" in condition)) return [];
  const wanted: ReadonlySet<unknown> = condition.oneOf;
  if (wanted.size > maxSearches) return values.findAll((text) => wanted.has(text));
  const places = [...wanted].map((text) => (typeof text === "string" ? values.indexOf(text) : -1));
  return places.filter((place) => place >= 0);
}

/** Undefined if no row of the column meets the condition. */
function toTable({ values }: StringColumn, condition: Condition): CodeTable | undefined {
  if ("isGiven" in condition) return values.size === 0 ? undefined : new Uint8Array(values.size + 1).fill(1, 1);
  const places = findStrings(values, condition);
  const acceptsNone = "orNone" in condition && condition.orNone === true;
  if (places.length === 0 && !acceptsNone) return undefined;
  const table = new Uint8Array(values.size + 1);
  for (const place of places) table[place + 1] = 1;
  if (acceptsNone) table[0] = 1;
  return table;
}

/** Rows whose code stands in a table. */
function filterByTable(rows: Uint32Array, { codes }: StringColumn, table: CodeTable): number {
  let count = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] ?? 0;
    if (table[codes[row] ?? 0] === 1) rows[count++] = row;
  }
  return count;
}

/** Bounds of the numbers that a condition may accept. */
function boundsOf(condition: Condition): { least: number; most: number } {
  if ("isGiven" in condition) return { least: Number.POSITIVE_INFINITY, most: Number.NEGATIVE_INFINITY };
  if (!("oneOf" in condition)) {
    const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY } = condition;
    return { least, most };
  }
  const wanted = [...condition.oneOf].filter((value) => typeof value === "number");
  return { least: Math.min(...wanted), most: Math.max(...wanted) };
}

/** Above every code. */
const beyondCodes = 2 ** 32;

/** The smallest code whose value is at least a number. */
function codeFrom(least: number, base: number, scale: number): number {
  let code = Math.ceil(least * scale) - base;
  if (!(code >= 1)) return 1;
  if (code > beyondCodes) return beyondCodes;
  // the product may be rounded
  while (code > 1 && (code - 1 + base) / scale >= least) code--;
  while ((code + base) / scale < least) code++;
  return code;
}

/** Rows whose number lies within bounds, both inclusive. */
function filterByBounds(rows: Uint32Array, { codes, base, scale }: NumberColumn, least: number, most: number): number {
  const from = base === undefined ? least : codeFrom(least, base, scale);
  let count = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] ?? 0;
    const code = codes[row] ?? 0;
    if (code >= from && (base === undefined ? code : (code + base) / scale) <= most) rows[count++] = row;
  }
  return count;
}

function filterNumbers(rows: Uint32Array, column: NumberColumn, condition: Condition): number {
  const { least, most } = boundsOf(condition);
  const count = filterByBounds(rows, column, least, most);
  if (!("oneOf" in condition) || least === most) return count;
  const wanted: ReadonlySet<unknown> = condition.oneOf;
  let left = 0;
  for (let index = 0; index < count; index++) {
    const row = rows[index] ?? 0;
    if (wanted.has(numberAt(column, row))) rows[left++] = row;
  }
  return left;
}

/** Moves the rows that meet a condition to the front; returns how many they are. */
function filterRows(rows: Uint32Array, column: Column, condition: Condition): number {
  if (column.kind === "numbers") return filterNumbers(rows, column, condition);
  const table = column.kind === "strings" ? toTable(column, condition) : undefined;
  return table && column.kind === "strings" ? filterByTable(rows, column, table) : 0;
}

/**
 * Rows that meet all conditions, in order.
 *
 * @param columnOf Column of a field.
 */
export function matchRows(
  { start, end }: { readonly start: number; readonly end: number },
  conditions: readonly Condition[],
  columnOf: (field: FieldName) => Column,
): Uint32Array {
  let rows = new Uint32Array(Math.max(0, end - start));
  for (let index = 0; index < rows.length; index++) rows[index] = start + index;
  for (const condition of conditions) {
    if (rows.length === 0) break;
    rows = rows.subarray(0, filterRows(rows, columnOf(condition.field), condition));
  }
  return rows;
}
