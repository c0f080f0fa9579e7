import { Table } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Spark } from "@/components/charts/spark.tsx";
import { Section } from "@/layout/page.tsx";
import { dollarColumn, formatDollars, formatDuration, formatShare, formatShort, pointFormat } from "@/lib/format.ts";
import { type Period, periodSearch } from "@/lib/period.ts";
import { useSearchParams } from "@/lib/search.ts";
import { sourceOf } from "@/lib/source.ts";
import { text } from "@/text/frame.ts";
import type { Figures, Summary } from "./data.ts";
import classes from "./overview.module.css";

const words = text.overview;

type FigureName = keyof Figures;

interface Card {
  readonly name: FigureName;
  readonly word: "requests" | "errors" | "cost" | "tokens" | "latency" | "cacheHits";
  readonly format: (value: number) => string;
  /** Whether more of it is bad news; undefined: neither. */
  readonly moreIsBad?: boolean;
  /** What stands below the figure. */
  readonly note?: (figures: Figures) => ReactNode;
  /** Filters of the log that a click leads to. */
  readonly filters?: Readonly<Record<string, string>>;
}

/** A figure that stays in one line with its unit. */
const unbroken = (figure: string): string => figure.replaceAll(" ", "\u00a0");

const shareOf = (part = 0, all = 0): string => formatShare(all === 0 ? 0 : part / all);

const cards: readonly Card[] = [
  { name: "requests", word: "requests", format: formatShort, filters: {} },
  {
    name: "error_count",
    word: "errors",
    format: formatShort,
    moreIsBad: true,
    note: ({ error_count, requests }) => words.ofRequests({ share: shareOf(error_count, requests) }),
    filters: { status_code: "1xx,3xx,4xx,5xx" },
  },
  {
    name: "cost",
    word: "cost",
    format: (cents) => formatDollars(cents / 100),
    note: ({ cost = 0, requests = 0 }) =>
      words.perRequest({ figure: formatDollars(requests === 0 ? 0 : cost / 100 / requests) }),
    filters: { cost_min: "0.0000001" },
  },
  {
    name: "total_tokens",
    word: "tokens",
    format: formatShort,
    note: ({ total_tokens = 0, requests = 0 }) =>
      words.perRequest({ figure: formatShort(requests === 0 ? 0 : Math.round(total_tokens / requests)) }),
    filters: { total_units_min: "1" },
  },
  {
    name: "p95_latency",
    word: "latency",
    format: formatDuration,
    moreIsBad: true,
    note: ({ p50_latency = 0, p99_latency = 0 }) =>
      [words.p50({ value: formatDuration(p50_latency) }), words.p99({ value: formatDuration(p99_latency) })].map(
        (figure) => (
          <span key={figure} className={classes.part}>
            {unbroken(figure)}
          </span>
        ),
      ),
  },
  {
    name: "cache_hits",
    word: "cacheHits",
    format: formatShort,
    note: ({ cache_hits, requests }) => words.ofRequests({ share: shareOf(cache_hits, requests) }),
    filters: { cache_status: "HIT,SEMANTIC HIT" },
  },
];

interface FigureCardsProps {
  readonly data: Summary;
  readonly period: Period;
  /** Whether all of them stand below as a table. */
  readonly asTable: boolean;
}

/** One card for each figure the viewer may see. */
export function FigureCards({ data, period, asTable }: FigureCardsProps): ReactNode {
  const shown = cards.filter(({ name }) => data.summary[name] !== undefined);
  return (
    <>
      <div className={classes.cards}>
        {shown.map((card) => (
          <FigureCard key={card.name} card={card} data={data} period={period} />
        ))}
      </div>
      {asTable && <PointTable data={data} cards={shown} />}
    </>
  );
}

interface CardProps {
  readonly card: Card;
  readonly data: Summary;
  readonly period: Period;
}

function FigureCard({ card, data, period }: CardProps): ReactNode {
  const { name, word, format, note, filters } = card;
  const label = words[word];
  const source = sourceOf(useSearchParams());
  const value = data.summary[name] ?? 0;
  const timeOf = pointFormat(data.data_points.map(({ timestamp }) => timestamp));
  const heading =
    filters === undefined ? (
      label
    ) : (
      <Link to="/logs" search={{ ...periodSearch(period), ...filters, source }} className={classes.link}>
        {label}
      </Link>
    );
  return (
    <section className={classes.card} aria-label={label}>
      <h2 className={classes.label}>{heading}</h2>
      <div className={classes.value}>{format(value)}</div>
      <Change card={card} now={value} before={data.former[name] ?? 0} />
      <div className={classes.foot}>
        <Spark
          values={data.data_points.map((point) => point[name] ?? 0)}
          label={words.overTime({ what: label })}
          describe={(index) => {
            const point = data.data_points[index];
            return point === undefined ? "" : `${timeOf(point.timestamp)}: ${format(point[name] ?? 0)}`;
          }}
        />
        <div className={classes.note}>{note?.(data.summary) ?? "\u00a0"}</div>
      </div>
    </section>
  );
}

function Change({
  card,
  now,
  before,
}: {
  readonly card: Card;
  readonly now: number;
  readonly before: number;
}): ReactNode {
  const { format, moreIsBad } = card;
  if (before === 0) return <div className={classes.change}>{now === 0 ? words.same : words.noneBefore}</div>;
  const share = (now - before) / before;
  const tone =
    moreIsBad === undefined || Math.abs(share) < 0.005 ? undefined : share > 0 === moreIsBad ? "bad" : "good";
  const direction = Math.abs(share) < 0.005 ? "" : share > 0 ? "▲ " : "▼ ";
  return (
    <div className={classes.change} data-tone={tone}>
      <span aria-hidden="true">{direction}</span>
      {words.change({ share: formatShare(Math.abs(share)), more: share >= 0, before: format(before) })}
    </div>
  );
}

function PointTable({ data, cards: shown }: { readonly data: Summary; readonly cards: readonly Card[] }): ReactNode {
  const timeOf = pointFormat(data.data_points.map(({ timestamp }) => timestamp));
  const dollars = dollarColumn(data.data_points.map(({ cost = 0 }) => cost / 100));
  return (
    <Section title={words.table}>
      <Table.ScrollContainer className="fading" minWidth={600} type="native" tabIndex={0} aria-label={words.table}>
        <Table aria-label={words.table} fz="sm" verticalSpacing={5}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.time}</Table.Th>
              {shown.map(({ name, word }) => (
                <Table.Th key={name} ta="end">
                  {words[word]}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {data.data_points.map((point) => (
              <Table.Tr key={point.timestamp}>
                <Table.Td className={classes.time}>{timeOf(point.timestamp)}</Table.Td>
                {shown.map(({ name, format }) => (
                  <Table.Td key={name} className="number">
                    {name === "cost" ? dollars((point.cost ?? 0) / 100) : format(point[name] ?? 0)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  );
}
