import type { ReactNode } from "react";
import type { Column } from "@/components/data-table.tsx";
import { formatDollars, formatDuration, formatNumber } from "@/lib/format.ts";
import { nameOf, wordOf } from "@/lib/words.ts";
import { locale } from "@/text/locale.ts";
import { text } from "@/text/text.ts";
import classes from "./logs.module.css";
import type { LogLine } from "./row.ts";

const words = text.logs.columns;

const moment = new Intl.DateTimeFormat(locale(), {
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** On small screens: the time of today, and day and time of others. */
const clock = new Intl.DateTimeFormat(locale(), {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const minute = new Intl.DateTimeFormat(locale(), {
  month: "short",
  day: "2-digit",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});

const isToday = (at: number): boolean => new Date(at).toDateString() === new Date().toDateString();

const dash = <span className={classes.faint}>—</span>;

/** Status of a response to which a guardrail objected without denying it. */
const objected = 246;

/** The class of a status by which it is coloured. The number itself says the same. */
export const toneOf = (status: number): string =>
  status >= 500 ? "bad" : status >= 400 || status === 0 || status === objected ? "warn" : "good";

/** A status without the cost of a component: lists draw thousands. */
export function Status({ value }: { readonly value: number }): ReactNode {
  return (
    <span className={classes.status} data-tone={toneOf(value)}>
      {value === 0 ? "—" : value}
    </span>
  );
}

/** The model; where no model was called, small screens have the operation in its place. */
function ModelCell({ model, operation }: LogLine): ReactNode {
  return (
    model || (
      <>
        <span data-narrow="true">{nameOf(operation) || dash}</span>
        <span data-wide="true">{dash}</span>
      </>
    )
  );
}

/** On small screens there is room for two digits of a fraction. */
function Cost({ dollars }: { readonly dollars: number }): ReactNode {
  if (dollars === 0 || dollars >= 1) return formatDollars(dollars);
  return (
    <>
      <span data-wide="true">{formatDollars(dollars)}</span>
      <span data-narrow="true">{formatDollars(Number(dollars.toPrecision(2)))}</span>
    </>
  );
}

/** Names by ids. */
type Names = ReadonlyMap<string, string>;

const workspaceColumn = (workspaces: Names): Column<LogLine> => ({
  key: "workspace",
  label: words.workspace,
  track: "minmax(5.5rem, 1fr)",
  wide: true,
  render: ({ workspace }) => workspaces.get(workspace) ?? (workspace || dash),
});

/** A column of the log. */
export interface LogColumn extends Column<LogLine> {
  /** Left out until it is chosen. */
  readonly extra?: boolean;
}

/** Why a request failed, else how the cache served it. */
const noteColumn: LogColumn = {
  key: "note",
  label: words.note,
  track: "6.5rem",
  wide: true,
  render: ({ error, cache }) => error || (cache === "DISABLED" || cache === "" ? dash : wordOf(cache)),
};

/** Columns that are left out until they are chosen. */
const extraColumns: readonly LogColumn[] = [
  { key: "trace", label: words.trace, track: "9rem", wide: true, extra: true, render: ({ trace }) => trace },
  {
    key: "session",
    label: words.session,
    track: "9rem",
    wide: true,
    extra: true,
    render: ({ session }) => session || dash,
  },
];

/**
 * Columns of the list.
 *
 * @param names Those of API keys.
 * @param workspaces Where rows of several workspaces are listed.
 */
export function toColumns(names: Names, workspaces: Names | undefined): readonly LogColumn[] {
  return [
    {
      key: "at",
      label: words.time,
      track: "9.25rem",
      narrowTrack: "5.75rem",
      render: ({ at }) => (
        <span className={classes.figures}>
          <span data-wide="true">
            {moment.format(at)}.{String(at % 1000).padStart(3, "0")}
          </span>
          <span data-narrow="true">{(isToday(at) ? clock : minute).format(at)}</span>
        </span>
      ),
    },
    {
      key: "status",
      label: text.common.status,
      track: "3rem",
      narrowTrack: "2.75rem",
      render: ({ status }) => <Status value={status} />,
    },
    {
      key: "model",
      label: words.model,
      narrowLabel: words.modelOrAction,
      track: "minmax(7rem, 2fr)",
      narrowTrack: "minmax(4rem, 1fr)",
      render: ModelCell,
    },
    {
      key: "provider",
      label: words.provider,
      track: "minmax(5rem, 1fr)",
      wide: true,
      render: ({ provider }) => provider || dash,
    },
    {
      key: "operation",
      label: words.operation,
      track: "6.5rem",
      wide: true,
      render: ({ operation, stream }) => (stream ? `${nameOf(operation)} ⇢` : nameOf(operation)),
    },
    ...(workspaces === undefined ? [] : [workspaceColumn(workspaces)]),
    {
      key: "key",
      label: words.key,
      track: "minmax(7rem, 1.5fr)",
      wide: true,
      render: ({ key }) => names.get(key) ?? key,
    },
    {
      key: "tokens",
      label: words.tokens,
      track: "4rem",
      figure: true,
      wide: true,
      render: ({ tokens }) => (tokens === undefined ? dash : formatNumber(tokens)),
    },
    {
      key: "cost",
      label: words.cost,
      // room for the four digits of a call that cost a millionth of a dollar
      track: "6.5rem",
      narrowTrack: "4.5rem",
      figure: true,
      render: ({ cost }) => (cost === undefined ? dash : <Cost dollars={cost / 100} />),
    },
    {
      key: "duration",
      label: words.duration,
      track: "5rem",
      figure: true,
      wide: true,
      render: ({ duration }) => formatDuration(duration),
    },
    noteColumn,
    ...extraColumns,
  ];
}
