import { Button, Group, Select, Switch, Table, Text } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { StackChart } from "@/components/charts/stack-chart.tsx";
import { Icon } from "@/components/icons.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDay, formatDollars, formatNumber, formatShare, formatShort, pointFormat } from "@/lib/format.ts";
import { useKept } from "@/lib/kept.ts";
import { type Period, periodQuery } from "@/lib/period.ts";
import { type Search, useChangeSearch } from "@/lib/search.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";
import { readFilters } from "../logs/filters.ts";
import { noValueOf } from "../overview/data.ts";
import classes from "./analytics.module.css";
import { useBudgets } from "./budgets.ts";
import { type Grouping, readGrouping } from "./groups.ts";
import {
  type Figure,
  type Forecast,
  figures,
  readFigure,
  readSeries,
  runningSum,
  type SeriesAnswer,
  toForecast,
} from "./series.ts";

const words = text.analytics;

/** Groups with separate bars: as many as there are colours. */
const drawn = 6;
const dayMs = 86_400_000;

const show = (figure: Figure, value: number): string =>
  figure === "cost" ? formatDollars(value / 100) : formatNumber(Math.round(value));
const showShort = (figure: Figure, value: number): string =>
  figure === "cost" ? formatDollars(value / 100) : formatShort(value);

interface SeriesPanelProps {
  /** The question: grouping, figure, running sum, range before. */
  readonly search: Search;
  readonly period: Period;
  readonly filters: Readonly<Record<string, string>>;
  /** Names of API keys by their ids. */
  readonly names: ReadonlyMap<string, string>;
  /** On another page: what the chart is called there, what stands beside its name, and what shows a part of its range. */
  readonly elsewhere?: {
    readonly title: string;
    readonly actions: ReactNode;
    readonly onZoom: (span: Search) => void;
  };
}

/** A figure by group over time: its greatest groups on each other, beside the range before. */
export function SeriesPanel({ search, period, filters, names, elsewhere }: SeriesPanelProps): ReactNode {
  const change = useChangeSearch();
  const scope = useLogScope();
  const grouping = readGrouping(search.group);
  const figure = readFigure(search.figure);
  const query = { ...periodQuery(period), ...scope, ...filters, figure, top: drawn };
  const { data, error, refetch } = useKept({
    kind: ["series", grouping.name, figure, scope.workspace_slug],
    query,
    queryFn: ({ signal }) => readSeries(grouping, query, signal),
  });
  const [asTable, setAsTable] = useState(false);
  const nameOf = (row: object) => {
    const value = grouping.of(row);
    return (grouping.value === "api_key" ? names.get(value) : value) || value || noValueOf(grouping.value);
  };
  const isEmpty = data !== undefined && data.summary.total === 0 && data.summary.former === 0;
  return (
    <Section
      title={elsewhere?.title ?? words.overTime({ figure: words.figures[figure], label: grouping.label })}
      actions={
        elsewhere?.actions ?? <SeriesTools search={search} figure={figure} asTable={asTable} onTable={setAsTable} />
      }
    >
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {isEmpty && <Empty title={words.nothing} />}
      {data !== undefined && !isEmpty && (
        <Series
          data={data}
          period={period}
          search={search}
          grouping={grouping}
          nameOf={nameOf}
          asTable={asTable}
          onZoom={elsewhere?.onZoom ?? ((span) => change({ range: undefined, page: undefined, ...span }))}
        />
      )}
    </Section>
  );
}

interface SeriesToolsProps {
  readonly search: Search;
  readonly figure: Figure;
  readonly asTable: boolean;
  readonly onTable: (asTable: boolean) => void;
}

function SeriesTools({ search, figure, asTable, onTable }: SeriesToolsProps): ReactNode {
  const change = useChangeSearch();
  return (
    <div className={classes.tools}>
      <Select
        aria-label={words.figure}
        data={figures.map((value) => ({ value, label: words.figures[value] }))}
        value={figure}
        onChange={(value) => change({ figure: value ?? undefined })}
        allowDeselect={false}
        w="9rem"
      />
      <Switch
        label={words.runningSum}
        checked={search.sum === "1"}
        onChange={({ currentTarget: { checked } }) => change({ sum: checked ? "1" : undefined })}
      />
      <Switch
        label={words.rangeBefore}
        checked={search.before === "1"}
        onChange={({ currentTarget: { checked } }) => change({ before: checked ? "1" : undefined })}
      />
      <Button
        variant="default"
        aria-expanded={asTable}
        leftSection={<Icon name="columns" size={14} />}
        onClick={() => onTable(!asTable)}
      >
        {asTable ? text.common.hideTable : text.common.showTable}
      </Button>
    </div>
  );
}

interface SeriesProps {
  readonly data: SeriesAnswer;
  readonly period: Period;
  readonly search: Search;
  readonly grouping: Grouping;
  readonly nameOf: (row: object) => string;
  readonly asTable: boolean;
  readonly onZoom: (span: Search) => void;
}

/** Groups of an answer, the others together behind them. */
function rowsOf({ data, other }: SeriesAnswer, nameOf: (row: object) => string) {
  const rows = data.map((row) => ({ ...row, label: nameOf(row), row }));
  return other === null
    ? rows
    : [...rows, { ...other, label: words.other({ groups: formatNumber(other.groups) }), row: undefined }];
}

/** The times of an answer's points, and the range of the log that some of them stand for. */
function timesOf({ data_points: points }: SeriesAnswer, { from, to }: Period) {
  const times = points.map(({ timestamp }) => Date.parse(timestamp));
  const width = times.length > 1 ? (times[1] ?? 0) - (times[0] ?? 0) : to - from;
  const spanOf = (first: number, last: number) => ({
    from: new Date(Math.max(from, times[first] ?? 0)).toISOString(),
    to: new Date(Math.min(to, (times[last] ?? 0) + width - 1)).toISOString(),
  });
  return { times, width, spanOf };
}

function Series({ data, period, search, grouping, nameOf, asTable, onZoom }: SeriesProps): ReactNode {
  const navigate = useNavigate();
  const figure = readFigure(data.figure);
  const isSum = search.sum === "1";
  const isMonth = period.name === "month";
  const { total } = data.summary;
  const { times, width, spanOf } = timesOf(data, period);
  const rows = rowsOf(data, nameOf);
  const shown = (values: readonly number[]) => (isSum ? runningSum(values) : values);
  const forecast = isMonth ? toForecast(total, period.to) : undefined;
  const ahead = forecast !== undefined && width === dayMs ? forecast.days : [];
  // what filters leave out counts for a budget too
  const budgets = useBudgets(figure, isMonth && readFilters(search).length === 0);
  const allTimes = [...times, ...ahead.map((_, at) => (times.at(-1) ?? 0) + (at + 1) * width)];
  const format = pointFormat(allTimes);
  const linkOf = (index: number) => ({ ...logSearch(search), ...spanOf(index, index) });
  return (
    <>
      <StackChart
        label={words.overTime({ figure: words.figures[figure], label: grouping.label })}
        rows={rows.map(({ label, points }) => ({ label, values: shown(points) }))}
        before={search.before === "1" ? shown(data.data_points.map(({ former }) => former)) : undefined}
        ahead={isSum ? runningSum(ahead).map((value) => total + value) : ahead}
        bounds={
          isSum ? budgets.map(([name, limit]) => [words.budget({ name, limit: show(figure, limit) }), limit]) : []
        }
        format={(value) => showShort(figure, value)}
        timeOf={(index) => format(allTimes[index] ?? 0)}
        onPick={(index) => void navigate({ to: "/logs", search: linkOf(index) })}
        onZoom={(first, last) => onZoom(spanOf(first, last))}
      />
      <Text size="xs" c="dimmed">
        {words.zoomHint}
      </Text>
      {forecast !== undefined && <ForecastWords forecast={forecast} figure={figure} budgets={budgets} />}
      <Legend rows={rows} figure={figure} total={total} search={search} period={period} grouping={grouping} />
      {asTable && (
        <PointTable
          label={words.pointsOf({ graph: words.overTime({ figure: words.figures[figure], label: grouping.label }) })}
          rows={rows}
          figure={figure}
          times={times.map((time) => format(time))}
          linkOf={linkOf}
        />
      )}
    </>
  );
}

interface ForecastWordsProps {
  readonly forecast: Forecast;
  readonly figure: Figure;
  readonly budgets: ReturnType<typeof useBudgets>;
}

/** What the month comes to, and what that means for its budgets. */
function ForecastWords({ forecast, figure, budgets }: ForecastWordsProps): ReactNode {
  return (
    <Group gap="md" mt="xs" role="note">
      <Text size="sm">{words.expected({ total: show(figure, forecast.total), day: formatDay(forecast.end) })}</Text>
      {budgets.map(([name, limit]) => {
        const [at, bound] = [forecast.reaches(limit), show(figure, limit)];
        return (
          <Text key={name} size="sm" {...(at !== undefined && { c: "var(--bad)" })}>
            {at === undefined
              ? words.budgetKept({ name, limit: bound })
              : words.budgetReached({ name, limit: bound, day: formatDay(at) })}
          </Text>
        );
      })}
    </Group>
  );
}

/** What the log and analytics have in common of an address. */
function logSearch(search: Search): Search {
  return { ...Object.fromEntries(readFilters(search)), ...(search.source !== undefined && { source: search.source }) };
}

type Rows = ReturnType<typeof rowsOf>;

interface LegendProps {
  readonly rows: Rows;
  readonly figure: Figure;
  readonly total: number;
  readonly search: Search;
  readonly period: Period;
  readonly grouping: Grouping;
}

/** What each colour stands for, with its sum in the range and in the one before. */
function Legend({ rows, figure, total, search, period, grouping }: LegendProps): ReactNode {
  const span = { from: new Date(period.from).toISOString(), to: new Date(period.to).toISOString() };
  return (
    <ul className={classes.legend} aria-label={grouping.label}>
      {rows.map(({ label, total: sum, former, row }, index) => {
        const value = row === undefined ? "" : grouping.of(row);
        const isLinked = value !== "" && grouping.filter !== undefined;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: groups have no state, and their names may repeat
          <li key={index}>
            <span
              className={classes.swatch}
              style={{ background: row === undefined ? "var(--ink-soft)" : `var(--series-${(index % drawn) + 1})` }}
            />
            {isLinked ? (
              <Link
                to="/logs"
                search={{ ...logSearch(search), ...span, [grouping.filter ?? ""]: value }}
                className={classes.link}
              >
                {label}
              </Link>
            ) : (
              label
            )}{" "}
            <b data-value={sum}>{show(figure, sum)}</b>{" "}
            <span className={classes.former}>
              {total > 0 ? formatShare(sum / total) : ""} · {words.change({ before: show(figure, former) })}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

interface PointTableProps {
  readonly label: string;
  readonly rows: Rows;
  readonly figure: Figure;
  readonly times: readonly string[];
  readonly linkOf: (index: number) => Search;
}

function PointTable({ label, rows, figure, times, linkOf }: PointTableProps): ReactNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={classes.points} tabIndex={0} aria-label={label}>
      <Table aria-label={label} fz="sm" stickyHeader verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{words.time}</Table.Th>
            {rows.map((row, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: groups have no state, and their names may repeat
              <Table.Th key={index} ta="end">
                {row.label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {times.map((time, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place
            <Table.Tr key={at}>
              <Table.Td>
                <Link to="/logs" search={linkOf(at)} className={classes.link}>
                  {time}
                </Link>
              </Table.Td>
              {rows.map((row, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: groups have no state, and their names may repeat
                <Table.Td key={index} className="number">
                  {show(figure, row.points[at] ?? 0)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}
