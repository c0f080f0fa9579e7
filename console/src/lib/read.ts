// Readers of JSON the gateway answered with and the OpenAPI document does not describe.

/** One record of a list. */
export type Row = Readonly<Record<string, unknown>>;

export function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The rows of a list answer: its `data`, or the answer itself where it is an array. */
export function readList(answer: unknown): readonly Row[] {
  const rows = Array.isArray(answer) ? answer : isRow(answer) ? answer.data : undefined;
  return Array.isArray(rows) ? rows.filter(isRow) : [];
}

/** How many rows exist in all: `total`, else `count`, else those in the answer. */
export function readTotal(answer: unknown): number {
  if (isRow(answer)) {
    for (const name of ["total", "count", "totalResults"]) if (typeof answer[name] === "number") return answer[name];
  }
  return readList(answer).length;
}

/** The record of an answer: its `data` where that is one record, else the answer itself. */
export function readRecord(answer: unknown): Row {
  if (!isRow(answer)) return {};
  return isRow(answer.data) ? answer.data : answer;
}

/** The value at a dotted path, for example `usage_limits.credit_limit`. */
export function readPath(row: unknown, path: string): unknown {
  let value: unknown = row;
  for (const name of path.split("."))
    value = isRow(value) ? value[name] : Array.isArray(value) ? value[Number(name)] : undefined;
  return value;
}

/** A text member; empty where it is missing or null. */
export function readText(row: unknown, path: string): string {
  const value = readPath(row, path);
  return value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
}
