import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import { get } from "@/api/client.ts";
import { Spark } from "@/components/charts/spark.tsx";
import { Failure, Waiting } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDollars, formatNumber, formatTime } from "@/lib/format.ts";
import { useKept } from "@/lib/kept.ts";
import { periodQuery, readPeriod } from "@/lib/period.ts";
import type { Search } from "@/lib/search.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";
import { isAnalyticsFilter, toAnalyticsQuery } from "./analytics-filters.ts";
import { labelOf, readFilters } from "./filters.ts";
import classes from "./logs.module.css";

const words = text.logs;

/** Totals of the requests that the filters choose, and when they began. Without a range: of the last 30 days. */
export default function Totals({ search, now }: { readonly search: Search; readonly now: number }): ReactNode {
  const missing = readFilters(search).filter(([name]) => !isAnalyticsFilter(name));
  if (missing.length > 0) {
    return (
      <Text size="sm" c="dimmed">
        {words.totalsUnknown({ filters: missing.map(([name]) => labelOf(name)).join(", ") })}
      </Text>
    );
  }
  return <Known search={search} now={now} />;
}

function Known({ search, now }: { readonly search: Search; readonly now: number }): ReactNode {
  const scope = useLogScope();
  const period = readPeriod(search, now, "30d");
  const query = { ...toAnalyticsQuery(search), ...periodQuery(period), ...scope };
  const { data, error, refetch } = useKept({
    kind: ["log-totals", scope.workspace_slug],
    query,
    queryFn: ({ signal }) => get("/v1/analytics/summary/requests", { query, signal }),
  });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting />;
  const { summary, data_points: points } = data;
  const { requests, error_count: errors, cost, total_tokens: tokens } = summary;
  const { sessions } = text;
  const figures = [
    [sessions.requests, requests, formatNumber],
    [sessions.errors, errors, formatNumber],
    [sessions.tokens, tokens, formatNumber],
    [sessions.cost, cost === undefined ? undefined : cost / 100, formatDollars],
  ] as const;
  const shown = figures.flatMap(([label, value, format]) =>
    typeof value === "number" ? [`${label} ${format(value)}`] : [],
  );
  return (
    <Section title={words.totalsTitle} isPlain>
      <div className={classes.totals}>
        <div>
          <Text>{shown.join(" · ")}</Text>
          <Text size="xs" c="dimmed">
            {words.totalsSince({ from: formatTime(period.from), to: formatTime(period.to) })}
          </Text>
        </div>
        <Spark
          values={points.map((point) => point.requests ?? 0)}
          label={words.histogram}
          describe={(index) =>
            words.requestsAt({
              count: formatNumber(points[index]?.requests ?? 0),
              at: formatTime(points[index]?.timestamp ?? ""),
            })
          }
        />
      </div>
    </Section>
  );
}
