import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { get } from "@/api/client.ts";
import { Failure } from "@/components/states.tsx";
import { Facts } from "@/layout/facts.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDuration, formatNumber, formatShare } from "@/lib/format.ts";
import { type Period, periodQuery } from "@/lib/period.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";

const words = text.analytics.cache;

interface CacheSummaryProps {
  readonly period: Period;
  readonly filters: Readonly<Record<string, string>>;
}

/** What the cache served, and how much faster that was. */
export function CacheSummary({ period, filters }: CacheSummaryProps): ReactNode {
  const query = { ...periodQuery(period), ...useLogScope(), ...filters };
  const { data, error, refetch } = useQuery({
    queryKey: ["analytics", "cache", query],
    queryFn: ({ signal }) => get("/v1/analytics/summary/cache", { query, signal }),
  });
  if (error !== null) return <Failure error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return null;
  const { hits, avg_latency, total_requests, cache_speedup } = data.summary;
  return (
    <Section title={words.title}>
      <Facts
        rows={[
          [words.hits, formatNumber(hits)],
          [words.requests, formatNumber(total_requests)],
          [words.latency, formatDuration(avg_latency)],
          [words.speedup, formatShare(cache_speedup / 100)],
        ]}
      />
    </Section>
  );
}
