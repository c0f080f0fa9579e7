import { Button, Table } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { get } from "@/api/client.ts";
import { SeriesChart } from "@/components/charts/series-chart.tsx";
import { Icon } from "@/components/icons.tsx";
import { Empty, Failure, Waiting } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { toCsv } from "@/lib/csv.ts";
import { dollarColumn, formatNumber, formatShare, pointFormat } from "@/lib/format.ts";
import { useKept } from "@/lib/kept.ts";
import { type Period, periodQuery } from "@/lib/period.ts";
import { saveAs } from "@/lib/save.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";
import classes from "./analytics.module.css";
import { type Drawn, type Graph, type GraphAnswer, toDrawn } from "./graphs.ts";

const words = text.analytics;

interface GraphPanelProps {
  readonly graph: Graph;
  readonly period: Period;
  readonly filters: Readonly<Record<string, string>>;
  readonly chooser: ReactNode;
  /** Default: the name of the graph. */
  readonly title?: string;
}

/** A graph, its figures in all, and its points as a table on request. */
export function GraphPanel({ graph, period, filters, chooser, title = graph.label }: GraphPanelProps): ReactNode {
  const scope = useLogScope();
  const query = { ...periodQuery(period), ...scope, ...filters };
  const { data, error, refetch } = useKept({
    kind: ["graph", graph.name, scope.workspace_slug],
    query,
    queryFn: ({ signal }): Promise<GraphAnswer> => get(`/v1/analytics/graphs/${graph.name}`, { query, signal }),
  });
  const drawn = useMemo(() => toDrawn(graph, data), [graph, data]);
  const [asTable, setAsTable] = useState(false);
  const save = () => {
    const names = [graph.at?.label ?? words.time, ...drawn.series.map(({ label }) => label)];
    const rows = drawn.points.map((point) => [
      (graph.at === undefined ? point.time : point.at) ?? "",
      ...drawn.series.map(({ name }) => point[name] ?? 0),
    ]);
    saveAs(`graphs-${graph.name.replaceAll("/", "-")}.csv`, new Blob([toCsv(names, rows)], { type: "text/csv" }));
  };
  return (
    <Section
      title={title}
      actions={
        <div className={classes.tools}>
          {chooser}
          <Button
            variant="default"
            aria-expanded={asTable}
            leftSection={<Icon name="columns" size={14} />}
            onClick={() => setAsTable(!asTable)}
            disabled={drawn.points.length === 0}
          >
            {asTable ? text.common.hideTable : text.common.showTable}
          </Button>
          <Button
            variant="default"
            leftSection={<Icon name="exports" size={14} />}
            onClick={save}
            disabled={drawn.points.length === 0}
          >
            {words.csv}
          </Button>
        </div>
      }
    >
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && drawn.points.length === 0 && <Empty title={words.nothing} />}
      {drawn.points.length > 0 && (
        <>
          <Totals summary={data?.summary ?? {}} graph={graph} />
          <div className={classes.beside} data-table={asTable || undefined}>
            <SeriesChart
              label={graph.label}
              points={drawn.points}
              series={drawn.series}
              kind={graph.kind}
              format={graph.format}
            />
            {asTable && <Points drawn={drawn} graph={graph} />}
          </div>
        </>
      )}
    </Section>
  );
}

/** Summary figures that are not counted in the unit of the graph. */
const ownFormats: Readonly<Record<string, (value: number) => string>> = {
  rate: (value) => formatShare(value / 100),
  unique: formatNumber,
  total: formatNumber,
};

const isOfCost = ({ name }: Graph): boolean => name === "cost";

interface TotalsProps {
  readonly summary: GraphAnswer["summary"];
  readonly graph: Graph;
}

function Totals({ summary, graph }: TotalsProps): ReactNode {
  const show = (name: string, value: number) =>
    ((isOfCost(graph) ? undefined : ownFormats[name]) ?? graph.format)(value);
  return (
    <dl className={classes.totals}>
      {Object.entries(summary).map(([name, value]) => (
        <div key={name}>
          <dt>{Object.hasOwn(words.series, name) ? Reflect.get(words.series, name) : name}</dt>
          <dd>{show(name, value)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** How the points of a series stand in a table: amounts of money with the same decimals. */
function columnFormat(points: Drawn["points"], name: string, graph: Graph): Graph["format"] {
  if (!isOfCost(graph)) return graph.format;
  const dollars = dollarColumn(points.map((point) => Number(point[name] ?? 0) / 100));
  return (cents) => dollars(cents / 100);
}

function Points({ drawn, graph }: { readonly drawn: Drawn; readonly graph: Graph }): ReactNode {
  const formats = new Map(drawn.series.map(({ name }) => [name, columnFormat(drawn.points, name, graph)]));
  const timeOf = pointFormat(drawn.points.map(({ time }) => String(time)));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section className={classes.points} tabIndex={0} aria-label={words.pointsOf({ graph: graph.label })}>
      <Table aria-label={words.pointsOf({ graph: graph.label })} fz="sm" stickyHeader verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{graph.at === undefined ? words.time : words.value}</Table.Th>
            {drawn.series.map(({ name, label }) => (
              <Table.Th key={name} ta="end">
                {label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {drawn.points.map((point, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: labels may repeat
            <Table.Tr key={index}>
              <Table.Td>{graph.at === undefined ? timeOf(String(point.time)) : point.at}</Table.Td>
              {drawn.series.map(({ name }) => (
                <Table.Td key={name} className="number">
                  {formats.get(name)?.(Number(point[name] ?? 0))}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </section>
  );
}
