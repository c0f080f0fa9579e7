import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type AnswerOf, get } from "@/api/client.ts";
import type { Attribute } from "@/components/attribute.ts";
import { Icon } from "@/components/icons.tsx";
import { RecordTable } from "@/components/record-table.tsx";
import { Failure, Waiting } from "@/components/states.tsx";
import { StatusBadge } from "@/components/value.tsx";
import { ListPage, Section } from "@/layout/page.tsx";
import { formatTime } from "@/lib/format.ts";
import { useKept } from "@/lib/kept.ts";
import { useLogScope } from "@/session/log-scope.ts";
import { text } from "@/text/text.ts";

const words = text.health;

type Summary = AnswerOf<"GET /v1/health/summary">;
type Row = Summary["data"][number];
type Target = Summary["targets"][number];

/** How often the page reads its figures again. */
const refreshMs = 15_000;

/** The filter of the log that finds the requests of a row, where there is one. */
const filters: Readonly<Partial<Record<Row["kind"], string>>> = { provider: "virtual_key", model: "model" };

function Name({ row: { kind, name } }: { readonly row: Row }): ReactNode {
  const filter = filters[kind];
  if (filter === undefined) return name;
  return (
    <Link to="/logs" search={{ range: "1h", [filter]: name }}>
      {name}
    </Link>
  );
}

const columns: readonly Attribute<Row>[] = [
  { label: words.name, of: ({ name }) => name, render: (row) => <Name row={row} /> },
  { label: words.state, of: ({ state }) => state, render: ({ state }) => <StatusBadge value={state} /> },
  { label: words.requests, of: ({ requests }) => requests, kind: "number" },
  { label: words.errors, of: ({ error_rate: rate }) => rate / 100, kind: "share" },
  { label: words.slowest, of: (row) => row.p95_latency, kind: "duration", wide: true },
  { label: words.firstToken, of: (row) => row.p95_first_token, kind: "duration", wide: true },
  { label: words.lastSeen, of: (row) => row.last_seen, kind: "ago", wide: true },
];

const circuitOf = ({ circuit }: Target): string => (circuit?.is_open ? "open" : "closed");
const checkOf = ({ check }: Target): string => (check?.is_healthy ? "healthy" : "unhealthy");

const targetColumns: readonly Attribute<Target>[] = [
  { label: words.target, of: ({ config, target }) => (config === null ? target : `${config} · ${target}`) },
  {
    label: words.circuit,
    of: ({ circuit }) => circuit,
    render: (target) => target.circuit && <StatusBadge value={circuitOf(target)} />,
  },
  {
    label: words.check,
    of: ({ check }) => check,
    render: (target) =>
      target.check && (
        <>
          <StatusBadge value={checkOf(target)} /> {target.check.is_healthy ? null : target.check.problem}
        </>
      ),
  },
  { label: words.failures, of: ({ measured }) => measured?.failure_rate, kind: "share", wide: true },
];

/** What stands before the tables: whether anything needs attention. */
function Verdict({ data }: { readonly data: Summary }): ReactNode {
  const bad = data.data.filter(({ state }) => state !== "ok").length;
  const away = data.targets.filter(({ circuit, check }) => circuit?.is_open || check?.is_healthy === false).length;
  const isWell = bad + away === 0;
  return (
    <div role="status">
      <StatusBadge
        value={isWell ? "healthy" : "unhealthy"}
        label={isWell ? words.well : words.trouble({ groups: bad, targets: away })}
      />{" "}
      {words.until({ time: formatTime(data.to) })}
    </div>
  );
}

/** How requests of the last hour went, by what served them. */
export default function Health(): ReactNode {
  const scope = useLogScope();
  const { data, error, isFetching, refetch } = useKept({
    kind: ["health", scope.workspace_slug],
    query: scope,
    queryFn: ({ signal }) => get("/v1/health/summary", { query: scope, signal }),
    refetchInterval: refreshMs,
  });
  const kinds = Object.entries(words.kinds).map(([kind, title]) => ({
    title,
    rows: data?.data.filter((row) => row.kind === kind) ?? [],
  }));
  return (
    <ListPage
      title={words.title}
      about={words.about}
      actions={
        <Button
          variant="default"
          leftSection={<Icon name="refresh" size={14} />}
          loading={isFetching}
          onClick={() => void refetch()}
        >
          {text.common.refresh}
        </Button>
      }
    >
      {error !== null && <Failure error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting />}
      {data !== undefined && <Verdict data={data} />}
      {data !== undefined &&
        kinds.map(({ title, rows }) => (
          <Section key={title} title={title}>
            <RecordTable label={title} columns={columns} rows={rows} empty={words.empty} idOf={({ name }) => name} />
          </Section>
        ))}
      {data !== undefined && (
        <Section title={words.targets}>
          <RecordTable
            label={words.targets}
            columns={targetColumns}
            rows={data.targets}
            empty={words.noTargets}
            idOf={({ workspace_id: workspace, config, target }) => JSON.stringify([workspace, config, target])}
          />
        </Section>
      )}
    </ListPage>
  );
}
