import { Alert, Button, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { get } from "@/api/client.ts";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { DetailPage, Section } from "@/layout/page.tsx";
import { formatDuration, formatNumber, formatTime } from "@/lib/format.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";
import { costOf } from "../logs/row.ts";
import { type Span, useSpans } from "../traces/data.ts";
import { FigureList, failedOf, sumOf } from "../traces/figures.tsx";
import { nameOfSpan, targetOfSpan } from "../traces/names.ts";
import { extentOf, toTree } from "../traces/spans.ts";
import classes from "../traces/trace.module.css";
import { dollarsOf, type Session, timeOf } from "./sessions.tsx";

const words = text.sessions;

/** The totals of a session, of all its requests that the log still counts. */
function useTotals(id: string) {
  const scope = useLogScope();
  return useQuery({
    queryKey: ["sessions", "totals", id, scope],
    queryFn: async ({ signal }) => {
      const query = { ...scope, session_id: id, from: "1970-01-01", page_size: 100 };
      const { data } = await get("/v1/sessions", { query, signal });
      // the id may also be read as a list
      return data.find((one) => one.id === id) ?? null;
    },
  });
}

/** One session: its totals, and its traces in the order of time. */
export default function SessionPage(): ReactNode {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useSpans("session_id", id);
  const { data: totals } = useTotals(id);
  const rows = data?.rows.filter(({ listed }) => listed.session_id === id) ?? [];
  return (
    <DetailPage
      title={words.name({ id })}
      back={{ to: "/sessions", label: words.title }}
      actions={
        <Button component={Link} to="/logs" search={{ session_id: id } as never} variant="default">
          {words.showRequests}
        </Button>
      }
    >
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && rows.length === 0 && <Empty title={words.none} hint={text.traces.emptyHint} />}
      {totals != null && <FigureList title={words.figures} figures={figuresOf(totals)} />}
      {data?.hasMore === true && (
        <Alert color="yellow" variant="light">
          {words.cut({ rows: formatNumber(rows.length) })}
        </Alert>
      )}
      {rows.length > 0 && <Traces rows={rows} />}
    </DetailPage>
  );
}

function figuresOf({ requests, errors, total_tokens: tokens, cost, first_at, last_at }: Session) {
  const figures: readonly (readonly [string, string])[] = [
    [words.requests, formatNumber(requests)],
    [words.errors, errors === undefined ? "" : formatNumber(errors)],
    [words.tokens, tokens === undefined ? "" : formatNumber(tokens)],
    [words.cost, dollarsOf(cost)],
    [words.first, timeOf(first_at)],
    [words.last, timeOf(last_at)],
  ];
  return figures.filter(([, value]) => value !== "");
}

/** Traces in the order in which they began, each with its totals. */
function Traces({ rows }: { readonly rows: readonly Span[] }): ReactNode {
  const traces = [...Map.groupBy(rows, ({ listed }) => listed.trace_id ?? "")].map(([id, spans]) => ({
    id,
    spans: toTree(spans).map(({ row }) => row),
    ...extentOf(spans),
  }));
  // ids of rows are in the order of time, also within a millisecond
  const firstOf = ({ spans }: (typeof traces)[number]) => spans[0]?.id ?? "";
  traces.sort((one, other) => one.start - other.start || (firstOf(one) < firstOf(other) ? -1 : 1));
  return (
    <Section title={words.traces} isPlain>
      <ol className={classes.spans} aria-label={words.traces}>
        {traces.map(({ id, spans, start, length }) => (
          <li key={id}>
            <Link to={`/traces/${encodeURIComponent(id)}`} className={classes.row}>
              <Name first={spans[0]} />
              <Text span size="sm" c="dimmed" className={classes.name}>
                {formatTime(start)} · {text.traces.requests} {formatNumber(spans.length)} · {text.traces.errors}{" "}
                {formatNumber(failedOf(spans))} · {text.traces.tokens}{" "}
                {formatNumber(sumOf(spans.map(({ listed }) => listed.usage?.total_tokens)))}
              </Text>
              <span className="number">{formatDuration(length)}</span>
              <span className="number">{dollarsOf(sumOf(spans.map(({ listed }) => costOf(listed))))}</span>
            </Link>
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Name({ first }: { readonly first: Span | undefined }): ReactNode {
  if (first === undefined) return null;
  return (
    <span className={classes.name} title={`${nameOfSpan(first)} ${targetOfSpan(first)}`}>
      {nameOfSpan(first)} <span className={classes.note}>{targetOfSpan(first)}</span>
    </span>
  );
}
