import type { ReactNode } from "react";
import type { AnswerOf } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { RecordTable } from "@/components/record-table.tsx";
import { formatNumber } from "@/lib/format.ts";
import type { SectionProps } from "@/resources/types.ts";
import { text } from "@/text/text.ts";

const words = text.resources.evalRuns;

type Run = AnswerOf<"GET /v1/eval-runs/{id}">;
type Totals = Run["totals"][number];

const inDollars = (cents: number | null): number | null => (cents === null ? null : cents / 100);

const figures: readonly Attribute<Totals>[] = [
  { label: words.variant, of: ({ variant }) => variant },
  { label: words.passed, of: (row) => row.pass_rate, kind: "share" },
  { label: words.errors, of: ({ errors }) => errors, kind: "number" },
  { label: words.meanCost, of: (row) => inDollars(row.mean_cost), kind: "dollars" },
  { label: words.p50, of: (row) => row.p50_latency, kind: "duration", wide: true },
  { label: words.p95, of: (row) => row.p95_latency, kind: "duration" },
];

const ratings: Attribute<Totals> = {
  label: words.rating,
  of: ({ rating }) => rating,
  render: ({ rating, ratings: count }) => (count === 0 ? "—" : `${formatNumber(rating ?? 0)} (${formatNumber(count)})`),
};

/** What each variant came to, and the share of each check. */
export default function EvalTotals({ record }: SectionProps<Run>): ReactNode {
  const { checks, totals } = record;
  const ofChecks =
    checks.length < 2
      ? []
      : checks.map(
          ({ name }): Attribute<Totals> => ({
            label: name,
            of: (row) => row.checks[name],
            kind: "share",
            wide: true,
          }),
        );
  return (
    <RecordTable
      label={words.totals}
      columns={[...figures, ...ofChecks, ratings]}
      rows={totals}
      idOf={({ variant }) => variant}
      empty={words.none}
      isStacked
    />
  );
}
