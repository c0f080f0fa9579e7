import { Alert, Button, Stack, Tabs, Text, VisuallyHidden } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { DetailPage, Section } from "@/layout/page.tsx";
import { formatDollars, formatDuration, formatNumber, formatTime } from "@/lib/format.ts";
import { useChangeSearch, useSearchParams } from "@/lib/search.ts";
import { text } from "@/text/text.ts";
import { Status } from "../logs/columns.tsx";
import detail from "../logs/detail.module.css";
import { costOf } from "../logs/row.ts";
import { hookLanes, type Lane } from "../logs/timeline.tsx";
import { TraceConversation } from "./conversation.tsx";
import { type Span, useSpans } from "./data.ts";
import { FigureList, failedOf, sumOf } from "./figures.tsx";
import { nameOfSpan, targetOfSpan } from "./names.ts";
import { extentOf, type Placed, toTree } from "./spans.ts";
import classes from "./trace.module.css";

const words = text.traces;

/** One trace: its spans as a tree with bars of time, what they cost, and its conversation as one thread. */
export default function Trace(): ReactNode {
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useSpans("trace_id", id);
  const first = data?.rows.at(-1);
  const back = { to: "/logs", label: text.logs.title };
  const session = data?.rows.find(({ listed }) => listed.session_id !== undefined)?.listed.session_id;
  return (
    <DetailPage
      title={words.title({ id })}
      about={first === undefined ? undefined : formatTime(first.start)}
      back={back}
      actions={
        session !== undefined && (
          <Button component={Link} to={`/sessions/${encodeURIComponent(session)}`} variant="default">
            {text.sessions.open}
          </Button>
        )
      }
    >
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data?.rows.length === 0 && <Empty title={words.empty} hint={words.emptyHint} />}
      {data?.hasMore === true && (
        <Alert color="yellow" variant="light">
          {words.cut({ rows: formatNumber(data.rows.length) })}
        </Alert>
      )}
      {data !== undefined && data.rows.length > 0 && <TraceView rows={data.rows} />}
    </DetailPage>
  );
}

const views = ["spans", "conversation"] as const;

function TraceView({ rows }: { readonly rows: readonly Span[] }): ReactNode {
  const search = useSearchParams();
  const change = useChangeSearch();
  const open = views.find((view) => view === search.tab) ?? "spans";
  return (
    <Stack gap="md">
      <Figures rows={rows} />
      <Tabs value={open} onChange={(tab) => change({ tab: tab ?? undefined })} keepMounted={false}>
        <Tabs.List mb="md">
          {views.map((view) => (
            <Tabs.Tab key={view} value={view}>
              {words.tabs[view]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="spans">
          <Spans rows={rows} />
        </Tabs.Panel>
        <Tabs.Panel value="conversation">
          <TraceConversation rows={rows} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

/** What a trace took in all. */
function Figures({ rows }: { readonly rows: readonly Span[] }): ReactNode {
  const unpriced = rows.some(({ listed }) => listed.priced === false);
  const cost = formatDollars(sumOf(rows.map(({ listed }) => costOf(listed))) / 100);
  const figures = [
    [words.requests, formatNumber(rows.length)],
    [words.errors, formatNumber(failedOf(rows))],
    [words.duration, formatDuration(extentOf(rows).length)],
    [words.tokens, formatNumber(sumOf(rows.map(({ listed }) => listed.usage?.total_tokens)))],
    [words.cost, unpriced ? words.atLeast({ cost }) : cost],
  ] as const;
  return <FigureList title={words.figures} figures={figures} />;
}

function Spans({ rows }: { readonly rows: readonly Span[] }): ReactNode {
  const extent = extentOf(rows);
  return (
    <Section title={words.tabs.spans} isPlain>
      <ol className={classes.spans} aria-label={words.tabs.spans}>
        {toTree(rows).map((placed) => (
          <SpanView key={placed.row.id} placed={placed} start={extent.start} length={Math.max(extent.length, 0.01)} />
        ))}
      </ol>
      <Text size="xs" c="dimmed" mt="sm">
        {words.legend}
      </Text>
    </Section>
  );
}

/** Levels that are indented; deeper ones stand below each other. */
const deepest = 10;

interface SpanProps {
  readonly placed: Placed<Span>;
  /** When the trace began, in Unix milliseconds, and how long it took. */
  readonly start: number;
  readonly length: number;
}

/** A request with its bar, and its guardrails below it. */
function SpanView({ placed: { row, level }, start, length }: SpanProps): ReactNode {
  const { listed } = row;
  const cost = costOf(listed);
  const indent = (deeper: number) => ({ paddingInlineStart: `${Math.min(level - 1 + deeper, deepest)}rem` });
  const hooks = [...hookLanes(listed, "before_request_hooks"), ...hookLanes(listed, "after_request_hooks")];
  const bar: Lane = {
    name: nameOfSpan(row),
    kind: (listed.status ?? 0) >= 400 ? "failed" : "call",
    start: row.start - start,
    duration: row.duration,
    note: targetOfSpan(row),
  };
  return (
    <li data-level={level}>
      <Link to={`/logs/${encodeURIComponent(row.id)}`} className={classes.row}>
        <span className={classes.name} style={indent(0)} title={`${bar.name} ${bar.note}`}>
          <VisuallyHidden>{words.level({ level })}</VisuallyHidden>
          <Status value={listed.status ?? 0} /> {bar.name} <span className={classes.note}>{bar.note}</span>
        </span>
        <Bar lane={bar} length={length} />
        <span className="number">{formatDuration(row.duration)}</span>
        <span className="number">{cost === undefined ? "" : formatDollars(cost / 100)}</span>
      </Link>
      {hooks.map((hook, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a guardrail is its place
        <div key={index} className={classes.row}>
          <span className={classes.name} style={indent(1)} title={hook.name}>
            {hook.name} <span className={classes.note}>{hook.note}</span>
          </span>
          <Bar lane={{ ...hook, start: hook.start + bar.start }} length={length} />
          <span className="number">{formatDuration(hook.duration)}</span>
          <span />
        </div>
      ))}
    </li>
  );
}

function Bar({ lane, length }: { readonly lane: Lane; readonly length: number }): ReactNode {
  const share = (value: number) => `${Math.min(100, (value / length) * 100)}%`;
  const title = text.logs.timeline.from({ start: formatDuration(lane.start), duration: formatDuration(lane.duration) });
  return (
    <span className={`${detail.track} ${classes.track}`} title={title}>
      <span
        className={detail.span}
        data-kind={lane.kind}
        style={{ insetInlineStart: share(lane.start), width: share(lane.duration) }}
      />
    </span>
  );
}
