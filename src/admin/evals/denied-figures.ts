import type { DeniedFields } from "../../logs/denied-fields.ts";

const tokens = ["input_tokens", "output_tokens"];

/** Figures of runs, totals and answers that show a denied field of the log. */
const figuresOf: Readonly<Record<string, readonly string[]>> = {
  cost: ["cost", "mean_cost"],
  response_time: ["latency_ms", "p50_latency", "p95_latency"],
  req_units: tokens,
  res_units: tokens,
  total_units: tokens,
};

/** Null in place of the figures of an answer, of totals or of a run that the organisation denies. */
export function withoutDeniedFigures<Figures extends object>(figures: Figures, denied: DeniedFields): Figures {
  const hidden = [...denied].flatMap((field) => figuresOf[field] ?? []).filter((name) => name in figures);
  return hidden.length === 0 ? figures : { ...figures, ...Object.fromEntries(hidden.map((name) => [name, null])) };
}
