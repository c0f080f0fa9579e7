/** How a value is asked for. */
export type FieldKind =
  | "text"
  | "long"
  | "secret"
  | "number"
  /** Seconds, asked for in the unit that suits. */
  | "duration"
  | "switch"
  | "select"
  | "multi"
  | "tags"
  | "json"
  | "template"
  | "time"
  | "file"
  /** A list of small records: `columns` says what each holds. */
  | "rows"
  /** An object of strings: a name and a value a line. */
  | "pairs"
  /** Asked for by the field's own `input`. */
  | "own";
