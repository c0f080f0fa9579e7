import { useQuery } from "@tanstack/react-query";
import { type AnswerOf, get } from "@/api/client.ts";
import { useKept } from "@/lib/kept.ts";
import { type Period, periodQuery } from "@/lib/period.ts";
import { useSearchParams } from "@/lib/search.ts";
import { sourceOf } from "@/lib/source.ts";
import { useSession } from "@/session/context.tsx";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/frame.ts";
import { type GroupSource, readGroups } from "./groups.ts";

/** Figures of a period over time, and those of the period before. */
export function useSummary(period: Period) {
  const scope = useLogScope();
  const query = { ...periodQuery(period), ...scope, source: sourceOf(useSearchParams()) };
  return useKept({
    kind: ["summary", scope.workspace_slug],
    query,
    queryFn: ({ signal }) => get("/v1/analytics/summary/requests", { query, signal }),
  });
}

export type Summary = NonNullable<ReturnType<typeof useSummary>["data"]>;
export type Figures = Summary["summary"];

/** The greatest groups of a period. */
export function useGroups(groups: GroupSource, period: Period, columns: string) {
  const scope = useLogScope();
  const source = sourceOf(useSearchParams());
  const query = { ...periodQuery(period), ...scope, source, columns, page_size: 6, include_total: "false" };
  return useKept({
    kind: ["groups", groups.route, groups.key, scope.workspace_slug],
    query,
    queryFn: ({ signal }) => readGroups(groups, query, signal),
  });
}

/** Keys of the metadata that recent requests carry, the most used first. */
export function useMetadataKeys(isAsked = true): readonly string[] {
  const scope = useLogScope();
  const { can } = useSession();
  const { data } = useQuery({
    queryKey: ["logs", "metadata-keys", scope],
    enabled: isAsked && can("GET /v1/logs"),
    staleTime: 300_000,
    queryFn: async ({ signal }) => countKeys((await get("/v1/logs", { query: { ...scope, limit: 100 }, signal })).data),
  });
  return data ?? [];
}

function countKeys(rows: AnswerOf<"GET /v1/logs">["data"]): readonly string[] {
  const counts = new Map<string, number>();
  for (const { metadata = {} } of rows) {
    for (const key of Object.keys(metadata)) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].sort(([, a], [, b]) => b - a).map(([key]) => key);
}

/** What stands for requests that have no value to group them by. */
export const noValueOf = (member: string): string => text.overview.noValues[member] ?? text.overview.noValue;
