import type * as v from "valibot";
import type { AnswerOf } from "./endpoint.ts";
import { toIso } from "./request.ts";

/** `created_at` as its column is named: `createdAt`. */
type ColumnOf<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<ColumnOf<Tail>>}` : Name;

/** Whether a column shows as a field of this type: as it is, a time as a string, a flag as 0 or 1. */
type Fits<Column, Field> = [Column] extends [Field]
  ? true
  : [Column] extends [number | null]
    ? [Exclude<Column, number>, string] extends [Field, Field]
      ? true
      : false
    : [Column] extends [boolean]
      ? [0 | 1] extends [Field]
        ? true
        : false
      : false;

/** The fields of a response that a row does not have. */
type OtherFields<Entries extends v.ObjectEntries, Row> = {
  [Name in keyof Entries]: Entries[Name] extends v.LiteralSchema<infer _Value, infer _Message>
    ? never
    : ColumnOf<Name> extends keyof Row
      ? Fits<Row[ColumnOf<Name>], v.InferOutput<Entries[Name] & v.GenericSchema>> extends true
        ? never
        : Name
      : Name;
}[keyof Entries];

type Answer<Entries extends v.ObjectEntries> = AnswerOf<v.ObjectSchema<Entries, undefined>>;

/** The parts of an entry that decide how its column is shown. */
interface EntryParts {
  readonly type: string;
  readonly literal?: unknown;
  readonly wrapped?: EntryParts;
}

/** The column of a field: `createdAt` for `created_at`. */
export const columnOf = (name: string): string =>
  name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** How a field is read of a row. */
function readerOf(name: string, { type, literal, wrapped }: EntryParts): (row: object) => unknown {
  if (type === "literal") return () => literal;
  const column = columnOf(name);
  const isText = (wrapped?.type ?? type) === "string";
  return (row) => {
    const value: unknown = Reflect.get(row, column);
    // a record that never changed shows when it was made
    if (name === "last_updated_at" && value === 0) return toIso(Number(Reflect.get(row, "createdAt")));
    if (typeof value === "number" && isText) return toIso(value);
    return typeof value === "boolean" && type === "picklist" ? Number(value) : value;
  };
}

/**
 * Creates what shows a row as its schema has it. Literals are the schema's, a field is the column of its name
 * (`created_at` is `createdAt`), times are ISO 8601, and flags may be 0 or 1.
 *
 * @param others Gives the fields that the row does not have so, and may replace others.
 */
export function shownBy<Entries extends v.ObjectEntries, Row extends object>(
  { entries }: { readonly entries: Entries },
  others: (
    row: Row,
  ) => Pick<Answer<Entries>, OtherFields<Entries, Row> & keyof Answer<Entries>> & Partial<Answer<Entries>>,
): (row: Row) => Answer<Entries> {
  // entries of responses have these parts
  const readers = Object.entries(entries).map(([name, entry]) => [name, readerOf(name, entry as EntryParts)] as const);
  return (row) => {
    const own = Object.fromEntries(readers.map(([name, read]) => [name, read(row)]));
    return { ...own, ...others(row) } as unknown as Answer<Entries>; // `others` gives what the columns do not
  };
}
