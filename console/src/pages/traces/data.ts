import { useQueries, useQuery } from "@tanstack/react-query";
import { type AnswerOf, get } from "@/api/client.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { toLogRow } from "../logs/row.ts";
import type { SpanRow } from "./spans.ts";

/** Most rows of a trace that are read. */
const mostRows = 500;
const pageSize = 100;

type Listed = AnswerOf<"GET /v1/logs">["data"][number];

/** A row of a trace. */
export interface Span extends SpanRow {
  readonly listed: Listed;
}

function toSpan(listed: Listed): Span {
  const { id = "", span_id, parent_span_id, part_of, created_at, duration_ms } = listed;
  return {
    id,
    span: span_id ?? id,
    parent: part_of ?? parent_span_id ?? "",
    start: Date.parse(created_at ?? "") || 0,
    duration: duration_ms ?? 0,
    listed,
  };
}

/** Rows of a trace or a session, and whether it has more than are read. */
export function useSpans(filter: "trace_id" | "session_id", id: string) {
  const scope = useLogScope();
  return useQuery({
    queryKey: ["spans", filter, id, scope],
    queryFn: async ({ signal }) => {
      const rows: Span[] = [];
      let cursor: string | null = null;
      do {
        const query: Record<string, string | number | null> = { ...scope, [filter]: id, limit: pageSize, cursor };
        const page: AnswerOf<"GET /v1/logs"> = await get("/v1/logs", { query, signal });
        rows.push(...page.data.map(toSpan));
        cursor = page.next_cursor;
      } while (cursor !== null && rows.length < mostRows);
      return { rows, hasMore: cursor !== null };
    },
  });
}

/** Rows with their contents. Nothing of them stays once the page is left. */
export function useContents(ids: readonly string[]) {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ["logs", "row", id],
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 0,
      structuralSharing: false,
      queryFn: async ({ signal }: { signal: AbortSignal }) =>
        toLogRow(await get("/v1/logs/{id}", { path: { id }, signal })),
    })),
  });
}
