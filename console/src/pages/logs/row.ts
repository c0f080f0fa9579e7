import { isRow, type Row, readText } from "@/lib/read.ts";

/** What the list shows of a log row. Nothing else of it stays in memory. */
export interface LogLine {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly status: number;
  readonly operation: string;
  readonly provider: string;
  readonly model: string;
  readonly key: string;
  /** Its id. */
  readonly workspace: string;
  readonly tokens: number | undefined;
  /** As `costOf` says. */
  readonly cost: number | undefined;
  /** Milliseconds. */
  readonly duration: number;
  readonly cache: string;
  readonly error: string;
  readonly stream: boolean;
}

/** Words that many rows share are stored once. */
const words = new Map<string, string>();

function intern(word: string): string {
  const known = words.get(word);
  if (known !== undefined) return known;
  if (words.size > 5000) words.clear();
  words.set(word, word);
  return word;
}

const numberOr = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);

/** US cents that a row cost; undefined: unknown, or nothing was counted and no price applied. */
export function costOf(row: Row): number | undefined {
  const isPriced = readText(row, "price_source") !== "" || isRow(row.usage);
  return isPriced || row.cost !== 0 ? numberOr(row.cost) : undefined;
}

export function toLine(row: Row): LogLine {
  const usage = isRow(row.usage) ? row.usage : {};
  const error = isRow(row.error) ? readText(row.error, "code") || readText(row.error, "type") : "";
  return {
    id: readText(row, "id"),
    at: Date.parse(readText(row, "created_at")),
    status: Number(row.status ?? 0),
    operation: intern(readText(row, "operation")),
    provider: intern(readText(row, "virtual_key") || readText(row, "provider")),
    model: intern(readText(row, "model")),
    key: intern(readText(row, "api_key_id")),
    workspace: intern(readText(row, "workspace_id")),
    tokens: numberOr(usage.total_tokens),
    cost: costOf(row),
    duration: Number(row.duration_ms ?? 0),
    cache: intern(readText(row, "cache_status")),
    error: intern(error),
    stream: row.stream === true,
  };
}
