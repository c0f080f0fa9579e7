import { Button, Group, MultiSelect, Select, Table, Text, UnstyledButton } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { SeriesChart } from "@/components/charts/series-chart.tsx";
import { Icon } from "@/components/icons.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { toCsv } from "@/lib/csv.ts";
import { dollarColumn, formatDollars, formatDuration, formatNumber, formatShare, formatTime } from "@/lib/format.ts";
import { useKept } from "@/lib/kept.ts";
import { type Period, periodQuery, periodSearch } from "@/lib/period.ts";
import { saveAs } from "@/lib/save.ts";
import { useChangeSearch, useSearchParams } from "@/lib/search.ts";
import { sourceOf } from "@/lib/source.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";
import { noValueOf, useMetadataKeys } from "../overview/data.ts";
import { type Group as GroupRow, readGroups } from "../overview/groups.ts";
import classes from "./analytics.module.css";
import { type GroupColumn, type Grouping, groupColumns, groupings, readGrouping } from "./groups.ts";

const words = text.analytics;

const pageSize = 50;
/** Groups in the chart. */
const drawnGroups = 12;
/** Columns of an address that names none. */
const usual: readonly GroupColumn[] = ["requests", "cost", "total_tokens", "avg_latency", "p95_latency", "error_count"];

const kinds = new Map<string, (typeof groupColumns)[number][1]>(groupColumns);

function isColumn(name: string): name is GroupColumn {
  return kinds.has(name);
}

/** How a column shows its values: amounts of money with the same decimals. */
function formatOf(name: GroupColumn, rows: readonly GroupRow[]): (value: unknown) => string {
  if (kinds.get(name) !== "cents") return (value) => show(name, value);
  const dollars = dollarColumn(rows.map((row) => Number(row[name] ?? 0) / 100));
  return (value) => (value === null || value === undefined ? "—" : dollars(Number(value) / 100));
}

function show(name: GroupColumn, value: unknown): string {
  if (value === null || value === undefined) return "—";
  const number = Number(value);
  switch (kinds.get(name)) {
    case "cents":
      return formatDollars(number / 100);
    case "duration":
      return formatDuration(number);
    case "percent":
      return formatShare(number / 100);
    case "time":
      return formatTime(String(value));
    default:
      return formatNumber(Math.round(number * 100) / 100);
  }
}

interface GroupPanelProps {
  readonly period: Period;
  readonly filters: Readonly<Record<string, string>>;
  /** Names of API keys by their ids. */
  readonly names: ReadonlyMap<string, string>;
}

/** Requests by a value they share: a chart of the greatest, and all as a table. */
export function GroupPanel({ period, filters, names }: GroupPanelProps): ReactNode {
  const search = useSearchParams();
  const scope = useLogScope();
  const grouping = readGrouping(search.group);
  const asked = (search.columns ?? "").split(",").filter(isColumn);
  const columns = asked.length === 0 ? usual : asked;
  const order = search.order !== undefined && isColumn(search.order) ? search.order : "requests";
  const page = Number(search.page ?? 0) || 0;
  const wanted = columns.filter((name) => name !== "requests");
  const query = {
    ...periodQuery(period),
    ...scope,
    ...filters,
    columns: wanted.length === 0 ? "requests" : wanted.join(","),
    order_by: order,
    order_by_type: search.direction === "asc" ? "asc" : "desc",
    current_page: page,
    page_size: pageSize,
  };
  const { data, error, refetch } = useKept({
    kind: ["groups", grouping.name, scope.workspace_slug],
    query,
    queryFn: ({ signal }) => readGroups(grouping, query, signal),
  });
  const rows = data?.data ?? [];
  const nameOf = (row: GroupRow) => {
    const value = grouping.of(row);
    return grouping.value === "api_key" ? (names.get(value) ?? value) : value;
  };
  const save = () => {
    const cells = rows.map((row) => [grouping.of(row), ...columns.map((name) => toCell(row[name]))]);
    saveAs(`${grouping.value}.csv`, new Blob([toCsv([grouping.value, ...columns], cells)], { type: "text/csv" }));
  };
  return (
    <Section
      title={words.groupTitle({ figure: words.columns[order], label: grouping.label })}
      actions={<GroupTools onSave={save} isEmpty={rows.length === 0} />}
    >
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && rows.length === 0 && <Empty title={words.nothing} />}
      {rows.length > 0 && (
        <>
          {page === 0 && <GroupChart rows={rows} nameOf={nameOf} column={order} grouping={grouping} />}
          <ColumnSelect columns={columns} />
          <GroupTable rows={rows} columns={columns} order={order} grouping={grouping} period={period} nameOf={nameOf} />
          <Pages page={page} total={data?.total ?? rows.length} />
        </>
      )}
    </Section>
  );
}

const toCell = (value: unknown): string | number =>
  typeof value === "number" ? value : value === null || value === undefined ? "" : String(value);

interface GroupToolsProps {
  readonly onSave: () => void;
  readonly isEmpty: boolean;
}

function GroupTools({ onSave, isEmpty }: GroupToolsProps): ReactNode {
  const search = useSearchParams();
  const change = useChangeSearch();
  const [isOpen, setOpen] = useState(false);
  const named = readGrouping(search.group).key;
  const keys = [...new Set([...useMetadataKeys(isOpen), ...(named === undefined ? [] : [named])])];
  const choices = [
    { group: words.byField, items: groupings.map(({ name, label }) => ({ value: name, label })) },
    { group: words.byMetadata, items: keys.map((key) => ({ value: `metadata/${key}`, label: key })) },
  ];
  return (
    <div className={classes.tools}>
      <Select
        aria-label={words.group}
        data={choices}
        value={search.group ?? "model"}
        onDropdownOpen={() => setOpen(true)}
        onChange={(group) => change({ group: group ?? undefined, page: undefined })}
        allowDeselect={false}
        searchable
        maxDropdownHeight={420}
        w="13rem"
      />
      <Button variant="default" leftSection={<Icon name="exports" size={14} />} onClick={onSave} disabled={isEmpty}>
        {words.csv}
      </Button>
    </div>
  );
}

function ColumnSelect({ columns }: { readonly columns: readonly GroupColumn[] }): ReactNode {
  const change = useChangeSearch();
  return (
    <MultiSelect
      label={words.columnsLabel}
      data={groupColumns.map(([name]) => ({ value: name, label: words.columns[name] }))}
      value={[...columns]}
      onChange={(names) => change({ columns: names.join(",") || undefined })}
      className={classes.columns}
      maxDropdownHeight={420}
      maxValues={12}
    />
  );
}

interface GroupChartProps {
  readonly rows: readonly GroupRow[];
  readonly nameOf: (row: GroupRow) => string;
  readonly column: GroupColumn;
  readonly grouping: Grouping;
}

function GroupChart({ rows, nameOf, column, grouping }: GroupChartProps): ReactNode {
  if (kinds.get(column) === "time") return null;
  const points = rows
    .slice(0, drawnGroups)
    .map((row) => ({ at: nameOf(row) || noValueOf(grouping.value), [column]: Number(row[column] ?? 0) }));
  return (
    <SeriesChart
      label={words.groupTitle({ figure: words.columns[column], label: grouping.label })}
      points={points}
      series={[{ name: column, label: words.columns[column] }]}
      kind="bar"
      format={(value) => show(column, value)}
    />
  );
}

interface GroupTableProps {
  readonly rows: readonly GroupRow[];
  readonly columns: readonly GroupColumn[];
  readonly order: GroupColumn;
  readonly grouping: Grouping;
  readonly period: Period;
  readonly nameOf: (row: GroupRow) => string;
}

function GroupTable({ rows, columns, order, grouping, period, nameOf }: GroupTableProps): ReactNode {
  const formats = new Map(columns.map((name) => [name, formatOf(name, rows)]));
  return (
    <Table.ScrollContainer
      className="fading"
      minWidth={120 + columns.length * 90}
      type="native"
      tabIndex={0}
      aria-label={words.groupTitle({ figure: words.columns[order], label: grouping.label })}
    >
      <Table
        aria-label={words.groupTitle({ figure: words.columns[order], label: grouping.label })}
        fz="sm"
        verticalSpacing={5}
      >
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{grouping.label}</Table.Th>
            {columns.map((name) => (
              <SortHead key={name} name={name} order={order} />
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no state, and values may repeat: null and ""
            <Table.Tr key={index}>
              <Table.Td style={{ overflowWrap: "anywhere" }}>
                <GroupName row={row} grouping={grouping} period={period} name={nameOf(row)} />
              </Table.Td>
              {columns.map((name) => (
                <Table.Td key={name} className="number">
                  {formats.get(name)?.(row[name])}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function SortHead({ name, order }: { readonly name: GroupColumn; readonly order: GroupColumn }): ReactNode {
  const search = useSearchParams();
  const change = useChangeSearch();
  const isAscending = search.direction === "asc";
  const isSorted = name === order;
  const next = isSorted && !isAscending ? "asc" : undefined;
  return (
    <Table.Th ta="end" aria-sort={isSorted ? (isAscending ? "ascending" : "descending") : "none"}>
      <UnstyledButton fz="inherit" fw={600} onClick={() => change({ order: name, direction: next, page: undefined })}>
        {words.columns[name]} <span aria-hidden="true">{isSorted ? (isAscending ? "↑" : "↓") : ""}</span>
      </UnstyledButton>
    </Table.Th>
  );
}

interface GroupNameProps {
  readonly row: GroupRow;
  readonly grouping: Grouping;
  readonly period: Period;
  readonly name: string;
}

function GroupName({ row, grouping, period, name }: GroupNameProps): ReactNode {
  const source = sourceOf(useSearchParams());
  const value = grouping.of(row);
  if (value === "") {
    return (
      <Text span c="dimmed" inherit>
        {noValueOf(grouping.value)}
      </Text>
    );
  }
  if (grouping.filter === undefined) return name;
  return (
    <Link to="/logs" search={{ ...periodSearch(period), [grouping.filter]: value, source }} className={classes.link}>
      {name}
    </Link>
  );
}

function Pages({ page, total }: { readonly page: number; readonly total: number }): ReactNode {
  const change = useChangeSearch();
  const last = Math.max(0, Math.ceil(total / pageSize) - 1);
  return (
    <Group justify="space-between" mt="sm">
      <Text size="sm" c="dimmed">
        {words.groupCount({ count: total })}
      </Text>
      {last > 0 && (
        <Group gap="xs">
          <Button
            variant="default"
            disabled={page === 0}
            onClick={() => change({ page: page === 1 ? undefined : String(page - 1) })}
          >
            {words.previous}
          </Button>
          <Text size="sm">{text.common.showing({ shown: formatNumber(page + 1), total: formatNumber(last + 1) })}</Text>
          <Button variant="default" disabled={page >= last} onClick={() => change({ page: String(page + 1) })}>
            {words.next}
          </Button>
        </Group>
      )}
    </Group>
  );
}
