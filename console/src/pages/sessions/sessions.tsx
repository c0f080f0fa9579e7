import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import { type Column, DataTable } from "@/components/data-table.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { ListPage } from "@/layout/page.tsx";
import { formatDollars, formatNumber, formatTime } from "@/lib/format.ts";
import { readPeriod } from "@/lib/period.ts";
import { useSearchParams } from "@/lib/search.ts";
import { useKeyNames } from "@/resources/key-names.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";
import { FilterBar } from "../logs/filter-bar.tsx";
import { readFilters } from "../logs/filters.ts";
import { TimeFilter } from "../logs/time-filter.tsx";
import { useOpenedView } from "../logs/views/data.ts";
import { ViewNotices, ViewsMenu } from "../logs/views/views-menu.tsx";

const words = text.sessions;

/** A session with its totals. */
export type Session = AnswerOf<"GET /v1/sessions">["data"][number];

const number = (value: number | undefined) => (value === undefined ? "" : formatNumber(value));
export const timeOf = (value: string | undefined) => (value === undefined ? "" : formatTime(value));
export const dollarsOf = (cents: number | undefined) => (cents === undefined ? "" : formatDollars(cents / 100));

const columns: readonly Column<Session>[] = [
  { key: "id", label: words.id, track: "minmax(8rem, 3fr)", render: ({ id }) => id },
  { key: "last", label: words.last, track: "11rem", wide: true, render: ({ last_at }) => timeOf(last_at) },
  { key: "requests", label: words.requests, track: "5.5rem", figure: true, render: ({ requests }) => number(requests) },
  { key: "errors", label: words.errors, track: "4.5rem", figure: true, render: ({ errors }) => number(errors) },
  {
    key: "tokens",
    label: words.tokens,
    track: "6rem",
    figure: true,
    wide: true,
    render: ({ total_tokens }) => number(total_tokens),
  },
  { key: "cost", label: words.cost, track: "6.5rem", figure: true, render: ({ cost }) => dollarsOf(cost) },
];

const idOf = ({ id }: Session) => id;
const pageSize = 100;

/** Filters of the log that sessions have: a search reads contents, of which a session shows none. */
const isOffered = (name: string): boolean => name !== "search";

/** The sessions of a range of time, the one with the newest request first. */
export default function Sessions(): ReactNode {
  const search = useSearchParams();
  const scope = useLogScope();
  const names = useKeyNames();
  const navigate = useNavigate();
  const [now] = useState(Date.now);
  const { waits, ...opened } = useOpenedView("sessions");
  const isRanged = search.range !== undefined || search.from !== undefined || search.to !== undefined;
  const { from, to } = readPeriod(search, now);
  const filters = readFilters(search).filter(([name]) => isOffered(name));
  const query = {
    ...scope,
    ...(isRanged && { from: new Date(from).toISOString(), to: new Date(to).toISOString() }),
    ...Object.fromEntries(filters),
    page_size: pageSize,
  };
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetching } = useInfiniteQuery({
    queryKey: ["sessions", query],
    enabled: !waits,
    queryFn: ({ pageParam, signal }) => get("/v1/sessions", { query: { ...query, current_page: pageParam }, signal }),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.has_more ? pages.length : undefined),
  });
  // a session that has a new request moves to a page that was read
  const rows = useMemo(
    () => [...new Map(data?.pages.flatMap((page) => page.data.map((one) => [one.id, one] as const))).values()],
    [data],
  );
  const onOpen = useCallback(
    ({ id }: Session) => void navigate({ to: `/sessions/${encodeURIComponent(id)}` }),
    [navigate],
  );
  const onEnd = useCallback(() => {
    if (!isFetching) void fetchNextPage();
  }, [isFetching, fetchNextPage]);
  return (
    <ListPage
      title={words.title}
      about={words.about}
      actions={<ViewsMenu page="sessions" search={search} view={opened.view} />}
      filters={
        <>
          <TimeFilter search={search} now={now} />
          <FilterBar search={search} names={names} isOffered={isOffered} hint={text.analytics.addFilter} />
        </>
      }
    >
      <ViewNotices {...opened} />
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && rows.length === 0 && <Nothing isFiltered={filters.length > 0} />}
      {rows.length > 0 && (
        <DataTable
          label={words.title}
          columns={columns}
          rows={rows}
          idOf={idOf}
          onOpen={onOpen}
          onEnd={onEnd}
          hasMore={hasNextPage}
        />
      )}
    </ListPage>
  );
}

/** What stands in place of sessions: where filters leave out all of them, the hint how to make one would mislead. */
function Nothing({ isFiltered }: { readonly isFiltered: boolean }): ReactNode {
  if (isFiltered) return <Empty title={text.common.nothingMatches} />;
  return <Empty title={words.empty} hint={words.emptyHint} />;
}
