// Readers of JSON the gateway answered with and the OpenAPI document does not describe.

/** One record of a list. */
export type Row = Readonly<Record<string, unknown>>;

export function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Members under which list routes answer with their rows. */
const listMembers = ["data", "records", "models", "workspaces", "mappings"];

/** The rows of a list answer; the answer itself where it is an array. */
export function readList(answer: unknown): readonly Row[] {
  if (Array.isArray(answer)) return answer.filter(isRow);
  if (!isRow(answer)) return [];
  const rows = listMembers.map((name) => answer[name]).find(Array.isArray);
  return rows === undefined ? [] : rows.filter(isRow);
}

/** How many rows exist in all, where the answer says it; else those in the answer. */
export function readTotal(answer: unknown): number {
  if (isRow(answer)) {
    for (const name of ["total", "total_count", "count"]) {
      const total = answer[name];
      if (typeof total === "number") return total;
    }
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

/** A value as text; empty where it is missing or null. */
export function asText(value: unknown): string {
  return value === undefined || value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A text member; empty where it is missing or null. */
export function readText(row: unknown, path: string): string {
  return asText(readPath(row, path));
}

/** The records of a list. */
export function rowsOf(value: unknown): readonly Row[] {
  return Array.isArray(value) ? value.filter(isRow) : [];
}
