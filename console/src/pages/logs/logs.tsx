import { Button, Group, Stack, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useCallback, useMemo, useState } from "react";
import { gatewayUrl } from "@/api/base.ts";
import { DataTable } from "@/components/data-table.tsx";
import { Icon } from "@/components/icons.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { ListPage } from "@/layout/page.tsx";
import { echoRequest } from "@/lib/first-request.ts";
import { formatNumber } from "@/lib/format.ts";
import { readPeriod } from "@/lib/period.ts";
import { type Search, useChangeSearch, useSearchParams } from "@/lib/search.ts";
import { useKeyNames } from "@/resources/key-names.ts";
import { useSession } from "@/session/context.tsx";
import { useLogScope } from "@/session/log-scope.ts";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import {
  arrange,
  type ColumnLayout,
  layoutOf,
  nameLayout,
  plainLayout,
  readLayout,
  storeLayout,
} from "./column-layout.ts";
import { type LogColumn, toColumns } from "./columns.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { readFilters } from "./filters.ts";
import classes from "./logs.module.css";
import { usePagedRows } from "./paged-rows.ts";
import type { LogLine } from "./row.ts";
import { useTail } from "./tail.ts";
import { TimeFilter } from "./time-filter.tsx";
import { useOpenedView } from "./views/data.ts";
import { ViewNotices, ViewsMenu } from "./views/views-menu.tsx";

// what is not part of the first view is loaded when it is asked for
const LogDrawer = lazy(() => import("./drawer.tsx"));
const Totals = lazy(() => import("./totals.tsx"));
const SaveExamples = lazy(() => import("./save-examples.tsx"));
const ColumnsMenu = lazy(() => import("./columns-menu.tsx"));

const words = text.logs;

/** Whether totals are shown: remembered in this browser. */
const totalsKey = "console.logs.totals";

/** The query of `GET /v1/logs` that an address stands for. */
function toQuery(search: Search, scope: Readonly<Record<string, string>>, now: number): Record<string, string> {
  const query: Record<string, string> = { ...scope, ...Object.fromEntries(readFilters(search)) };
  if (search.range === undefined && search.from === undefined && search.to === undefined) return query;
  if (search.range === undefined && search.from === undefined) {
    query.to = new Date(search.to ?? now).toISOString();
    return query;
  }
  const { name, from, to } = readPeriod(search, now);
  query.from = new Date(from).toISOString();
  // a range up to now stays open, so that rows that begin after it was chosen are found too
  if (name === undefined && search.to !== undefined) query.to = new Date(to).toISOString();
  return query;
}

/** Requests, newest first: the whole log, or as they end. */
export default function Logs(): ReactNode {
  const search = useSearchParams();
  const change = useChangeSearch();
  const scope = useLogScope();
  const names = useKeyNames();
  const [round, setRound] = useState(() => ({ count: 0, now: Date.now() }));
  const [paused, setPaused] = useState(false);
  const [isSaving, setSaving] = useState(false);
  const { can } = useSession();
  const { choosable, current } = useWorkspace();
  const maySave = can("POST /v1/example-sets") && !(choosable && current === undefined);
  const [hasTotals, setTotals] = useState(() => localStorage.getItem(totalsKey) === "1");
  const { row: _row, tab: _tab, ...filtered } = search;
  const { waits, ...opened } = useOpenedView("logs");
  const columns = useColumns(names);
  const isLive = search.live === "1";
  const query = toQuery(search, scope, round.now);
  return (
    <ListPage
      title={words.title}
      about={words.about}
      actions={
        <>
          <Button
            variant={isLive ? "filled" : "default"}
            leftSection={<Icon name={isLive ? "stop" : "tail"} size={14} />}
            aria-pressed={isLive}
            onClick={() => {
              setPaused(false);
              change({ live: isLive ? undefined : "1" });
            }}
          >
            {isLive ? words.stopTail : words.tail}
          </Button>
          <ViewsMenu
            page="logs"
            search={{ ...filtered, ...(columns.named !== undefined && { columns: columns.named }) }}
            view={opened.view}
          />
          {!isLive && maySave && (
            <Button variant="default" onClick={() => setSaving(true)}>
              {text.resources.exampleSets.save}
            </Button>
          )}
          {!isLive && (
            <Button
              variant={hasTotals ? "filled" : "default"}
              aria-pressed={hasTotals}
              onClick={() => {
                localStorage.setItem(totalsKey, hasTotals ? "0" : "1");
                setTotals(!hasTotals);
              }}
            >
              {words.totals}
            </Button>
          )}
          {!isLive && (
            <Button
              variant="default"
              leftSection={<Icon name="refresh" size={14} />}
              onClick={() => setRound({ count: round.count + 1, now: Date.now() })}
            >
              {text.common.refresh}
            </Button>
          )}
        </>
      }
      filters={
        <>
          <TimeFilter search={search} now={round.now} />
          <FilterBar search={search} names={names} />
        </>
      }
    >
      <ViewNotices {...opened} />
      {isSaving && (
        <Suspense fallback={<Waiting />}>
          <SaveExamples filter={toQuery(search, {}, round.now)} onClose={() => setSaving(false)} />
        </Suspense>
      )}
      {waits && <Waiting />}
      {!waits && isLive && <LiveRows query={query} columns={columns.columns} paused={paused} setPaused={setPaused} />}
      {!waits && !isLive && (
        <>
          {hasTotals && (
            <Suspense fallback={<Waiting />}>
              <Totals search={filtered} now={round.now} />
            </Suspense>
          )}
          <StoredRows query={query} columns={columns} round={round.count} hasTotals={hasTotals} />
        </>
      )}
    </ListPage>
  );
}

function useOpen(): (line: LogLine) => void {
  const navigate = useNavigate();
  return useCallback(({ id }) => void navigate({ to: `/logs/${id}` }), [navigate]);
}

/** Opens rows beside the list. The address names the row, so that the way back closes it. */
function useOpenBeside(): (line: LogLine) => void {
  const navigate = useNavigate();
  const search = useSearchParams();
  return useCallback(({ id }) => void navigate({ to: ".", search: { ...search, row: id } }), [navigate, search]);
}

const idOf = ({ id }: LogLine) => id;

/** The columns of the address, else those of this browser. With one of workspaces as long as none is chosen. */
function useColumns(names: ReadonlyMap<string, string>) {
  const { columns: named } = useSearchParams();
  const changeSearch = useChangeSearch();
  const { all, choosable, current } = useWorkspace();
  const every = useMemo(() => {
    const isMixed = choosable && current === undefined;
    return toColumns(names, isMixed ? new Map(all.map(({ id, name }) => [id, name])) : undefined);
  }, [names, all, choosable, current]);
  const [own, setOwn] = useState(readLayout);
  const layout = useMemo(() => (named === undefined ? own : layoutOf(every, named)), [every, named, own]);
  const columns = useMemo(() => arrange(every, layout), [every, layout]);
  const change = (next: ColumnLayout) => {
    if (named !== undefined) return changeSearch({ columns: nameLayout(every, next) });
    storeLayout(next);
    setOwn(next);
  };
  const isPlain = JSON.stringify(layout) === JSON.stringify(plainLayout);
  return { all: every, columns, layout, change, named: isPlain ? undefined : nameLayout(every, layout) };
}

interface StoredProps {
  readonly query: Readonly<Record<string, string>>;
  readonly columns: ReturnType<typeof useColumns>;
  readonly round: number;
  readonly hasTotals: boolean;
}

function StoredRows({ query, columns: chosen, round, hasTotals }: StoredProps): ReactNode {
  const rows = usePagedRows(query, round);
  const open = useOpenBeside();
  const { row } = useSearchParams();
  const { columns, all, layout, change } = chosen;
  const [isChoosing, setChoosing] = useState(false);
  const onView = useCallback((first: number, last: number) => rows?.show(first, last), [rows]);
  const onEnd = useCallback(() => rows?.more(), [rows]);
  if (rows === undefined) return <Waiting />;
  if (rows.error !== undefined) return <Failure error={rows.error} onRetry={() => rows.retry()} />;
  if (!rows.isStarted) return <Waiting />;
  const isSearch = rows.scanned !== undefined;
  if (rows.length === 0 && !(isSearch && rows.hasMore)) return <NoRows />;
  return (
    <Stack gap="xs" className={classes.rows} data-totals={hasTotals || undefined}>
      <DataTable
        label={words.title}
        columns={columns}
        rows={rows}
        idOf={idOf}
        onOpen={open}
        onView={onView}
        onEnd={isSearch ? undefined : onEnd}
        hasMore={rows.hasMore && !isSearch}
        isCovered={row !== undefined}
        above="var(--above-rows)"
      />
      <Group gap="sm">
        <Text size="sm" c="dimmed" role="status">
          {rows.scanned === undefined
            ? words.loaded({ count: rows.length, more: rows.hasMore })
            : words.searched({ found: formatNumber(rows.length), scanned: formatNumber(rows.scanned) })}
        </Text>
        {isSearch && rows.hasMore && (
          <Button variant="default" size="xs" onClick={onEnd}>
            {words.searchOn}
          </Button>
        )}
        {isChoosing ? (
          <Suspense fallback={null}>
            <ColumnsMenu all={all} layout={layout} change={change} />
          </Suspense>
        ) : (
          <Button variant="default" size="xs" onClick={() => setChoosing(true)}>
            {words.chooseColumns}
          </Button>
        )}
      </Group>
      {row !== undefined && (
        <Suspense fallback={null}>
          <LogDrawer id={row} rows={rows} />
        </Suspense>
      )}
    </Stack>
  );
}

/** Filters are removed at once; a log without any row is filled with a first request. */
function NoRows(): ReactNode {
  const search = useSearchParams();
  const change = useChangeSearch();
  const filtered = Object.keys(search).filter((name) => name !== "row" && name !== "tab");
  if (filtered.length === 0) {
    const { empty, emptyHint } = text.overview;
    return <Empty title={empty} hint={emptyHint} command={echoRequest(gatewayUrl)} />;
  }
  return (
    <Empty
      title={text.common.nothingMatches}
      hint={words.emptyHint}
      action={
        <Button variant="default" onClick={() => change(Object.fromEntries(filtered.map((name) => [name, undefined])))}>
          {words.clearFilters}
        </Button>
      }
    />
  );
}

interface LiveProps {
  readonly query: Readonly<Record<string, string>>;
  readonly columns: readonly LogColumn[];
  readonly paused: boolean;
  readonly setPaused: (paused: boolean) => void;
}

function LiveRows({ query, columns, paused, setPaused }: LiveProps): ReactNode {
  // a tail has no end
  const { from: _from, to: _to, search: _search, ...filters } = query;
  const tail = useTail(filters, true, paused);
  const open = useOpen();
  return (
    <>
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<Icon name={paused ? "playground" : "stop"} size={14} />}
          onClick={() => setPaused(!paused)}
        >
          {paused ? words.resume({ count: tail.waiting }) : words.pause}
        </Button>
        <Text size="sm" c="dimmed" role="status">
          {paused ? words.paused : words.tailStates[tail.state]}
        </Text>
      </Group>
      {tail.error !== undefined && <Failure error={tail.error} />}
      {tail.rows.length === 0 ? (
        <Empty title={words.tailEmpty} command={echoRequest(gatewayUrl)} />
      ) : (
        <DataTable label={words.tail} columns={columns} rows={tail.rows} idOf={idOf} onOpen={open} />
      )}
    </>
  );
}
