import type { Column, NumberColumn, StringColumn } from "../../lib/columns.ts";
import { type Dictionary, noStrings } from "../../lib/dictionary.ts";
import type { FieldName, NumberFieldName, StringFieldName } from "./fields.ts";

/** Strings of some rows. */
interface BlockStrings {
  /** For each row one more than its place in the dictionary; 0 where it has none. */
  readonly codes: Uint32Array;
  /** More strings than these rows have. */
  readonly values: Dictionary;
}

/** Wanted rows that lie together: the fields that were asked for, by column. */
export interface RowBlock {
  readonly length: number;
  /** A number for each row; NaN where it has none. */
  numbers(field: NumberFieldName): Float64Array;
  strings(field: StringFieldName): BlockStrings;
  /** The block of some of its rows, by their place. */
  pick(isWanted: (place: number) => boolean): RowBlock;
}

/** A test of rows that concerns several fields. */
export interface RowTest {
  readonly fields: readonly (NumberFieldName | StringFieldName)[];
  /** The test of one row by its place in a block. */
  of(block: RowBlock): (place: number) => boolean;
}

/** The values of some rows among those from the first to the last of them. Changes the array. */
function gather<Values extends Float64Array | Uint32Array>(all: Values, rows: Uint32Array): Values {
  if (all.length === rows.length) return all;
  const first = rows[0] ?? 0;
  // moved to the front: each stands at or behind its place
  for (let place = 0; place < rows.length; place++) all[place] = all[(rows[place] ?? 0) - first] ?? 0;
  return all.subarray(0, rows.length) as Values; // of the same kind
}

/** The codes of the rows from the first to the last. Codes of several widths in one loop would be slow. */
function codesBetween({ codes }: NumberColumn | StringColumn, rows: Uint32Array) {
  return codes.subarray(rows[0] ?? 0, (rows.at(-1) ?? 0) + 1);
}

function readNumbers(column: Column, rows: Uint32Array): Float64Array {
  if (column.kind !== "numbers") return new Float64Array(rows.length).fill(Number.NaN);
  const values = gather(new Float64Array(codesBetween(column, rows)), rows);
  const { base, scale } = column;
  if (base === undefined) return values;
  for (let place = 0; place < values.length; place++) {
    const code = values[place] ?? 0;
    values[place] = code === 0 ? Number.NaN : (code + base) / scale;
  }
  return values;
}

function readStrings(column: Column, rows: Uint32Array): BlockStrings {
  if (column.kind !== "strings") return { codes: new Uint32Array(rows.length), values: noStrings };
  return { codes: gather(new Uint32Array(codesBetween(column, rows)), rows), values: column.values };
}

/** Gives each value once it is made. */
function once<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  const made = new Map<Key, Value>();
  return (key) => {
    const known = made.get(key);
    if (known !== undefined) return known;
    const value = make(key);
    made.set(key, value);
    return value;
  };
}

/** The block of some rows, in order. */
export function toBlock(rows: Uint32Array, columnOf: (field: FieldName) => Column): RowBlock {
  return {
    length: rows.length,
    numbers: once((field) => readNumbers(columnOf(field), rows)),
    strings: once((field) => readStrings(columnOf(field), rows)),
    pick: (isWanted) =>
      toBlock(
        rows.filter((_, place) => isWanted(place)),
        columnOf,
      ),
  };
}

function testRowsOnce(rows: Uint32Array, passes: (place: number) => boolean): Uint32Array {
  const passed = new Uint32Array(rows.length);
  let count = 0;
  for (let place = 0; place < rows.length; place++) if (passes(place)) passed[count++] = rows[place] ?? 0;
  return passed.subarray(0, count);
}

/** The rows that pass all tests. */
export function testRows(
  rows: Uint32Array,
  columnOf: (field: FieldName) => Column,
  tests: readonly RowTest[],
): Uint32Array {
  let passed = rows;
  for (const test of tests) {
    if (passed.length === 0) break;
    passed = testRowsOnce(passed, test.of(toBlock(passed, columnOf)));
  }
  return passed;
}
