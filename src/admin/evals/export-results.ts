import type { EvalRunRow } from "../../db/tables/evals.ts";
import type { EvalAnswer, EvalResult } from "../../schemas/eval-runs.ts";

/** A value as a field of CSV (RFC 4180). One that a spreadsheet would take for a formula begins with an apostrophe. */
function csvField(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
  const plain = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}

const columns = ["variant", "status", "text", "error", "cost", "latency_ms", "input_tokens", "output_tokens"] as const;

/** A line for each answer: the example, the answer, and a column for each check. */
function csvLines({ checks }: Pick<EvalRunRow, "checks">, results: readonly EvalResult[]): string[] {
  const names = checks.map(({ name }) => name);
  const head = ["example", "input", "expected", ...columns, ...names, "rating", "log_id"];
  const toLine = ({ example, input, expected }: EvalResult, answer: EvalAnswer) => [
    example,
    input,
    expected,
    ...columns.map((name) => answer[name]),
    ...names.map((name) => answer.verdicts[name]),
    answer.rating,
    answer.log_id,
  ];
  const lines = results.flatMap((result) => result.answers.map((answer) => toLine(result, answer)));
  return [head, ...lines].map((line) => `${line.map(csvField).join(",")}\r\n`);
}

/** Results as a file. */
export function writeResults(
  row: Pick<EvalRunRow, "checks">,
  results: readonly EvalResult[],
  format: "jsonl" | "csv",
): { type: string; text: string } {
  if (format === "csv") return { type: "text/csv; charset=utf-8", text: csvLines(row, results).join("") };
  return {
    type: "application/x-ndjson",
    text: results.map((result) => `${JSON.stringify(result)}\n`).join(""),
  };
}
