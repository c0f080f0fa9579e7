import { Anchor, Stack } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Facts } from "@/layout/facts.tsx";
import { Section } from "@/layout/page.tsx";
import { formatDollars, formatDuration, formatNumber, formatTime } from "@/lib/format.ts";
import { textOf } from "@/lib/json.ts";
import { nameOf } from "@/lib/words.ts";
import { useKeyNames } from "@/resources/key-names.ts";
import { showWorkspace } from "@/resources/names.tsx";
import { text } from "@/text/text.ts";
import { Status } from "./columns.tsx";
import { costOf, type LogRow } from "./row.ts";

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

/** An amount in US cents that something saved. */
const saved = (label: string, cents: number | undefined): readonly Fact[] =>
  cents === undefined ? [] : [[label, formatDollars(cents / 100)]];

const showLabels = ({ labels = {} }: LogRow): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ");

/** Waits for room in limits: how long, and the place at the start. */
const showWaits = ({ waits = [] }: LogRow): string =>
  waits
    .map(({ limit, position, wait_ms: ms }) => words.waitedFor({ limit, time: formatDuration(ms), place: position }))
    .join(", ");

/** The row whose request was replayed, or copied. */
function originFacts(label: string, id: string): readonly Fact[] {
  if (id === "") return [];
  const link = (
    <Anchor key={label} inherit renderRoot={(props) => <Link {...props} to={`/logs/${id}`} />}>
      {id}
    </Anchor>
  );
  return [[label, link]];
}

function SessionLink({ id }: { readonly id: string }): ReactNode {
  const to = `/sessions/${encodeURIComponent(id)}`;
  return (
    <Anchor inherit renderRoot={(props) => <Link {...props} to={to} />}>
      {code(id)}
    </Anchor>
  );
}

/** Members of a row by which the log can be filtered. */
type SharedMember =
  | "operation"
  | "provider"
  | "virtual_key"
  | "model"
  | "config"
  | "prompt_slug"
  | "api_key_id"
  | "user_id"
  | "source"
  | "trace_id"
  | "span_id";

/** The figures and names of a row beside its contents. */
export function LogFacts({ row }: { readonly row: LogRow }): ReactNode {
  const names = useKeyNames();
  const shared = (label: string, filter: SharedMember, nameOf?: (value: string) => ReactNode): readonly Fact[] => {
    const value = row[filter] ?? "";
    return value === ""
      ? []
      : [[label, <Shared key={filter} filter={filter} value={value} label={nameOf?.(value) ?? value} />]];
  };
  const duration = (ms: number | null | undefined) => (typeof ms === "number" ? formatDuration(ms) : "");
  const tokens = row.usage?.total_tokens;
  const cost = costOf(row);
  const facts: readonly Fact[] = [
    [text.common.status, <Status key="status" value={Number(row.status ?? 0)} />],
    ...plain(words.time, formatTime(textOf(row.created_at))),
    ...plain(words.request, `${textOf(row.method)} ${textOf(row.path)}`.trim()),
    ...shared(words.operation, "operation", nameOf),
    ...shared(words.provider, "provider"),
    ...shared(words.storedProvider, "virtual_key"),
    ...shared(words.model, "model"),
    ...plain(words.asked, textOf(row.requested_model)),
    ...plain(words.labels, showLabels(row)),
    ...plain(words.waited, showWaits(row)),
    ...plain(words.duration, duration(row.duration_ms)),
    ...plain(words.firstByte, duration(row.first_byte_ms)),
    ...plain(words.upstream, duration(row.upstream_ms)),
    ...plain(words.tokens, typeof tokens === "number" ? formatNumber(tokens) : ""),
    ...plain(words.cost, cost === undefined ? "" : formatDollars(cost / 100)),
    ...saved(words.cacheSaved, row.prompt_cache_saved_cost),
    ...saved(words.autoSaved, row.auto_saved_cost),
    ...shared(words.config, "config"),
    ...shared(words.prompt, "prompt_slug"),
    ...shared(words.key, "api_key_id", (id) => names.get(id) ?? id),
    ...(textOf(row.workspace_id) === ""
      ? []
      : [[words.workspace, showWorkspace({ workspace_id: textOf(row.workspace_id) })] as const]),
    ...shared(words.user, "user_id"),
    ...shared(words.source, "source", (source) => text.logs.sources[source] ?? source),
    ...shared(words.trace, "trace_id", code),
    ...(row.session_id === undefined
      ? []
      : [[words.session, <SessionLink key="session" id={row.session_id} />] as const]),
    ...shared(words.span, "span_id", code),
    [words.id, code(textOf(row.id))],
    ...originFacts(words.replayOf, textOf(row.replay_of)),
    ...originFacts(words.copyOf, textOf(row.shadow_of)),
    ...(row.shadowed
      ? [[words.copy, <Shared key="copy" filter="shadow_of" value={textOf(row.id)} label={words.showCopy} />] as const]
      : []),
  ];
  const metadata = Object.entries(row.metadata ?? {});
  return (
    <Stack gap="md">
      <Section title={text.common.details}>
        <Facts rows={facts} />
      </Section>
      {metadata.length > 0 && (
        <Section title={words.metadata}>
          <Facts
            rows={metadata.map(
              ([key, value]) => [key, <Shared key={key} filter={`metadata.${key}`} value={value} />] as const,
            )}
          />
        </Section>
      )}
    </Stack>
  );
}
