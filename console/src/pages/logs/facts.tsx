import { Anchor, Stack } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Facts } from "@/layout/facts.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDollars, formatDuration, formatNumber, formatTime } from "@/lib/format.ts";
import { isRow, type Row, readPath, readText } from "@/lib/read.ts";
import { nameOf } from "@/lib/words.ts";
import { useKeyNames } from "@/resources/key-names.ts";
import { showWorkspace } from "@/resources/names.tsx";
import { text } from "@/text/text.ts";
import { Status } from "./columns.tsx";
import { costOf } from "./row.ts";

const words = text.logs.facts;

type Fact = readonly [string, ReactNode];

/** A value that leads to the rows that share it. */
function Shared({
  filter,
  value,
  label = value,
}: {
  readonly filter: string;
  readonly value: string;
  readonly label?: ReactNode;
}): ReactNode {
  return (
    <Anchor inherit renderRoot={(props) => <Link {...props} to="/logs" search={{ [filter]: value }} />}>
      {label}
    </Anchor>
  );
}

const code = (value: string): ReactNode => <span className="code">{value}</span>;

const plain = (label: string, value: string): readonly Fact[] => (value === "" ? [] : [[label, value]]);

/** The row whose request was replayed. */
function replayFacts(id: string): readonly Fact[] {
  if (id === "") return [];
  const link = (
    <Anchor key="replay" inherit renderRoot={(props) => <Link {...props} to={`/logs/${id}`} />}>
      {id}
    </Anchor>
  );
  return [[words.replayOf, link]];
}

/** The figures and names of a row beside its contents. */
export function LogFacts({ row }: { readonly row: Row }): ReactNode {
  const names = useKeyNames();
  const shared = (
    label: string,
    path: string,
    filter: string,
    nameOf?: (value: string) => ReactNode,
  ): readonly Fact[] => {
    const value = readText(row, path);
    return value === ""
      ? []
      : [[label, <Shared key={path} filter={filter} value={value} label={nameOf?.(value) ?? value} />]];
  };
  const duration = (path: string) => {
    const value = readPath(row, path);
    return typeof value === "number" ? formatDuration(value) : "";
  };
  const tokens = readPath(row, "usage.total_tokens");
  const cost = costOf(row);
  const facts: readonly Fact[] = [
    [text.common.status, <Status key="status" value={Number(row.status ?? 0)} />],
    ...plain(words.time, formatTime(readText(row, "created_at"))),
    ...plain(words.request, `${readText(row, "method")} ${readText(row, "path")}`.trim()),
    ...shared(words.operation, "operation", "operation", nameOf),
    ...shared(words.provider, "provider", "provider"),
    ...shared(words.storedProvider, "virtual_key", "virtual_key"),
    ...shared(words.model, "model", "model"),
    ...plain(words.duration, duration("duration_ms")),
    ...plain(words.firstByte, duration("first_byte_ms")),
    ...plain(words.upstream, duration("upstream_ms")),
    ...plain(words.tokens, typeof tokens === "number" ? formatNumber(tokens) : ""),
    ...plain(words.cost, cost === undefined ? "" : formatDollars(cost / 100)),
    ...shared(words.config, "config", "config"),
    ...shared(words.prompt, "prompt_slug", "prompt_slug"),
    ...shared(words.key, "api_key_id", "api_key_id", (id) => names.get(id) ?? id),
    ...(readText(row, "workspace_id") === ""
      ? []
      : [[words.workspace, showWorkspace({ workspace_id: readText(row, "workspace_id") })] as const]),
    ...shared(words.user, "user_id", "user_id"),
    ...shared(words.source, "source", "source", (source) => text.logs.sources[source] ?? source),
    ...shared(words.trace, "trace_id", "trace_id", code),
    ...shared(words.span, "span_id", "span_id", code),
    [words.id, code(readText(row, "id"))],
    ...replayFacts(readText(row, "replay_of")),
  ];
  const metadata = isRow(row.metadata) ? Object.entries(row.metadata) : [];
  return (
    <Stack gap="md">
      <Section title={text.common.details}>
        <Facts rows={facts} />
      </Section>
      {metadata.length > 0 && (
        <Section title={words.metadata}>
          <Facts
            rows={metadata.map(
              ([key, value]) => [key, <Shared key={key} filter={`metadata.${key}`} value={String(value)} />] as const,
            )}
          />
        </Section>
      )}
    </Stack>
  );
}
