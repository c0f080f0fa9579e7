import { type AnswerOf, ApiError } from "@/api/client.ts";
import { text } from "@/text/text.ts";

/** A row of the log with its contents, as far as they are stored and the viewer may read them. */
export type LogRow = Extract<AnswerOf<"GET /v1/logs/{id}">, { object: "log" }>;

/** The row of an answer that may also be results of guardrails, which have no page. */
export function toLogRow(answer: AnswerOf<"GET /v1/logs/{id}">): LogRow {
  if (answer.object !== "log") throw new ApiError(text.common.notFound, { status: 404, code: "", traceId: "" });
  return answer;
}

/** A row as lists and the tail have it. */
type ListedRow = AnswerOf<"GET /v1/logs">["data"][number];

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
  readonly trace: string;
  readonly session: string;
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

/** US cents that a row cost; undefined: unknown, or nothing was counted and no price applied. */
export function costOf({ price_source: source, usage, cost }: ListedRow): number | undefined {
  const isPriced = source !== undefined || (usage !== undefined && usage !== null);
  return isPriced || cost !== 0 ? (cost ?? undefined) : undefined;
}

export function toLine(row: ListedRow): LogLine {
  return {
    id: row.id ?? "",
    at: Date.parse(row.created_at ?? ""),
    status: row.status ?? 0,
    operation: intern(row.operation ?? ""),
    provider: intern(row.virtual_key || (row.provider ?? "")),
    model: intern(row.model ?? ""),
    key: intern(row.api_key_id ?? ""),
    workspace: intern(row.workspace_id ?? ""),
    tokens: row.usage?.total_tokens,
    cost: costOf(row),
    duration: row.duration_ms ?? 0,
    cache: intern(row.cache_status ?? ""),
    error: intern(row.error?.code || (row.error?.type ?? "")),
    trace: row.trace_id ?? "",
    session: row.session_id ?? "",
    stream: row.stream === true,
  };
}
