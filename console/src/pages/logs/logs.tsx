import { Button, Group, Stack, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { DataTable } from "@/components/data-table.tsx";
import { Icon } from "@/components/icons.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { ListPage } from "@/layout/page.tsx";
import { formatNumber } from "@/lib/format.ts";
import { readPeriod } from "@/lib/period.ts";
import { type Search, useChangeSearch, useSearchParams } from "@/lib/search.ts";
import { useKeyNames } from "@/resources/key-names.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/text.ts";
import { toColumns } from "./columns.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { readFilters } from "./filters.ts";
import classes from "./logs.module.css";
import { usePagedRows } from "./paged-rows.ts";
import type { LogLine } from "./row.ts";
import { useTail } from "./tail.ts";
import { TimeFilter } from "./time-filter.tsx";
import { Views } from "./views.tsx";

const words = text.logs;

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
          <Views search={search} />
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
      {isLive ? (
        <LiveRows query={query} names={names} paused={paused} setPaused={setPaused} />
      ) : (
        <StoredRows query={query} names={names} round={round.count} />
      )}
    </ListPage>
  );
}

function useOpen(): (line: LogLine) => void {
  const navigate = useNavigate();
  return useCallback(({ id }) => void navigate({ to: `/logs/${id}` }), [navigate]);
}

const idOf = ({ id }: LogLine) => id;

/** With a column of workspaces as long as none is chosen. */
function useColumns(names: ReadonlyMap<string, string>) {
  const { all, choosable, current } = useWorkspace();
  return useMemo(() => {
    const isMixed = choosable && current === undefined;
    return toColumns(names, isMixed ? new Map(all.map(({ id, name }) => [id, name])) : undefined);
  }, [names, all, choosable, current]);
}

interface RowsProps {
  readonly query: Readonly<Record<string, string>>;
  readonly names: ReadonlyMap<string, string>;
}

function StoredRows({ query, names, round }: RowsProps & { readonly round: number }): ReactNode {
  const rows = usePagedRows(query, round);
  const open = useOpen();
  const columns = useColumns(names);
  const onView = useCallback((first: number, last: number) => rows?.show(first, last), [rows]);
  const onEnd = useCallback(() => rows?.more(), [rows]);
  if (rows === undefined) return <Waiting />;
  if (rows.error !== undefined) return <Failure error={rows.error} onRetry={() => rows.retry()} />;
  if (!rows.isStarted) return <Waiting />;
  if (rows.length === 0) return <NoRows />;
  return (
    <Stack gap="xs" className={classes.rows}>
      <DataTable
        label={words.title}
        columns={columns}
        rows={rows}
        idOf={idOf}
        onOpen={open}
        onView={onView}
        onEnd={onEnd}
        hasMore={rows.hasMore}
        above="var(--above-rows)"
      />
      <Text size="sm" c="dimmed">
        {words.loaded(rows.length, formatNumber(rows.length), rows.hasMore)}
      </Text>
    </Stack>
  );
}

/** Filters are removed at once; a log without any row is filled with a first request. */
function NoRows(): ReactNode {
  const search = useSearchParams();
  const change = useChangeSearch();
  const filtered = Object.keys(search);
  if (filtered.length === 0) {
    const { empty, emptyHint, emptyCommand } = text.overview;
    return <Empty title={empty} hint={emptyHint} command={emptyCommand(location.origin)} />;
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

interface LiveProps extends RowsProps {
  readonly paused: boolean;
  readonly setPaused: (paused: boolean) => void;
}

function LiveRows({ query, names, paused, setPaused }: LiveProps): ReactNode {
  // a tail has no end
  const { from: _from, to: _to, ...filters } = query;
  const tail = useTail(filters, true, paused);
  const open = useOpen();
  const columns = useColumns(names);
  return (
    <>
      <Group gap="sm">
        <Button
          variant="default"
          leftSection={<Icon name={paused ? "playground" : "stop"} size={14} />}
          onClick={() => setPaused(!paused)}
        >
          {paused ? words.resume(tail.waiting) : words.pause}
        </Button>
        <Text size="sm" c="dimmed" role="status">
          {paused ? words.paused : words.tailStates[tail.state]}
        </Text>
      </Group>
      {tail.error !== undefined && <Failure error={tail.error} />}
      {tail.rows.length === 0 ? (
        <Empty title={words.tailEmpty} command={text.overview.emptyCommand(location.origin)} />
      ) : (
        <DataTable label={words.tail} columns={columns} rows={tail.rows} idOf={idOf} onOpen={open} />
      )}
    </>
  );
}
