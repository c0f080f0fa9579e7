import { Group, Stack, Table, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Section } from "@/layout/page.tsx";
import { formatDuration } from "@/lib/format.ts";
import { textOf } from "@/lib/json.ts";
import { wordOf } from "@/lib/words.ts";
import { text } from "@/text/text.ts";
import { Status } from "./columns.tsx";
import classes from "./detail.module.css";
import type { LogRow } from "./row.ts";

const words = text.logs.timeline;

/** A bar of time with its name. */
export interface Lane {
  readonly name: string;
  readonly kind: "gateway" | "call" | "failed" | "hook";
  /** Milliseconds since the request began. */
  readonly start: number;
  readonly duration: number;
  /** First byte, since the request began. */
  readonly mark?: number | undefined;
  readonly note: string;
}

/** Guardrails that ran before a request was sent, or on its answer. */
export function hookLanes(
  row: Pick<LogRow, "duration_ms" | "hook_results">,
  member: "before_request_hooks" | "after_request_hooks",
): readonly Lane[] {
  const total = row.duration_ms ?? 0;
  const hooks = row.hook_results?.[member] ?? [];
  let at = 0;
  const lanes = hooks.map((hook): Lane => {
    const duration = hook.execution_time;
    const lane: Lane = {
      name: words.hook({ id: hook.id }),
      kind: "hook",
      start: at,
      duration,
      note: hook.verdict ? words.passed : words.objected,
    };
    if (!hook.async) at += duration;
    return lane;
  });
  // hooks on the answer end with the request
  return member === "before_request_hooks"
    ? lanes
    : lanes.map((lane) => ({ ...lane, start: Math.max(0, total - at) + lane.start }));
}

/** Provider and model in one, as far as they are known. */
const targetOf = (...names: readonly (string | null | undefined)[]): string => names.filter(Boolean).join(" · ");

function callLanes(row: LogRow): readonly Lane[] {
  const calls = row.calls ?? [];
  if (calls.length > 0) {
    return calls.map(({ provider, model, status, error, started_ms: start, duration_ms: duration, ...call }) => ({
      name: targetOf(provider, model),
      kind: status === null || status >= 400 ? "failed" : "call",
      start,
      duration: duration ?? 0,
      mark: call.first_byte_ms ?? undefined,
      note: status === null ? (error ?? "") : String(status),
    }));
  }
  if (typeof row.upstream_ms !== "number") return [];
  const { duration_ms: total = 0, status = 0 } = row;
  const first = row.first_byte_ms ?? total;
  return [
    {
      name: targetOf(row.provider, row.model),
      kind: status >= 400 ? "failed" : "call",
      start: Math.max(0, (row.stream === true ? total : first) - row.upstream_ms),
      duration: row.upstream_ms,
      mark: row.stream === true ? first : undefined,
      note: String(status),
    },
  ];
}

/** Where the time went: calls, retries, guardrails and the gateway itself, and every attempt as a table. */
export function Timeline({ row }: { readonly row: LogRow }): ReactNode {
  const total = row.duration_ms ?? 0;
  const lanes: readonly Lane[] = [
    { name: words.request, kind: "gateway", start: 0, duration: total, note: textOf(row.status) },
    ...hookLanes(row, "before_request_hooks"),
    ...callLanes(row),
    ...hookLanes(row, "after_request_hooks"),
  ];
  const length = Math.max(0.01, ...lanes.map(({ start, duration }) => start + duration));
  return (
    <Stack gap="md">
      <Section title={words.title} isPlain>
        <ul className={classes.lanes} aria-label={words.title}>
          {lanes.map((lane, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a lane is its place
            <LaneView key={index} lane={lane} length={length} />
          ))}
        </ul>
        <Text size="xs" c="dimmed" mt="sm">
          {legendOf(lanes)}
        </Text>
      </Section>
      <Cache row={row} />
      <Auto row={row} />
      <Attempts row={row} />
    </Stack>
  );
}

/** What the marks mean that occur in the lanes. */
function legendOf(lanes: readonly Lane[]): string {
  const { bar, firstByte, failed } = words.legend;
  return [
    bar,
    ...(lanes.some(({ mark }) => mark !== undefined) ? [firstByte] : []),
    ...(lanes.some(({ kind }) => kind === "failed") ? [failed] : []),
  ].join(" ");
}

function LaneView({ lane, length }: { readonly lane: Lane; readonly length: number }): ReactNode {
  const share = (value: number) => `${(value / length) * 100}%`;
  return (
    <li className={classes.lane}>
      <span className={classes.laneName} title={lane.name}>
        {lane.name} <span className={classes.faint}>{lane.note}</span>
      </span>
      <div
        className={classes.track}
        title={words.from({ start: formatDuration(lane.start), duration: formatDuration(lane.duration) })}
      >
        <div
          className={classes.span}
          data-kind={lane.kind}
          style={{ insetInlineStart: share(lane.start), width: share(lane.duration) }}
        />
        {lane.mark !== undefined && <div className={classes.mark} style={{ insetInlineStart: share(lane.mark) }} />}
      </div>
      <span className="number">{formatDuration(lane.duration)}</span>
    </li>
  );
}

function Cache({ row }: { readonly row: LogRow }): ReactNode {
  const { cache_status: status, cache } = row;
  if (status === undefined) return null;
  return (
    <Section title={words.cache}>
      <Group gap="md">
        <Text size="sm" fw={600}>
          {wordOf(status)}
        </Text>
        {cache?.age !== undefined && <Text size="sm">{words.age({ age: formatDuration(cache.age * 1000) })}</Text>}
        {cache?.problem !== undefined && <Text size="sm">{cache.problem}</Text>}
      </Group>
    </Section>
  );
}

function Auto({ row: { auto } }: { readonly row: LogRow }): ReactNode {
  if (auto === undefined) return null;
  return (
    <Section title={words.auto}>
      <Text size="sm">{words.chosen({ target: auto.target, reason: auto.reason })}</Text>
    </Section>
  );
}

function Attempts({ row }: { readonly row: LogRow }): ReactNode {
  const { attempts = [], skipped = [], unfit = [] } = row;
  if (attempts.length + skipped.length + unfit.length === 0) return null;
  return (
    <Section title={words.attempts}>
      <Table.ScrollContainer minWidth={560} type="native" tabIndex={0} aria-label={words.attempts}>
        <Table aria-label={words.attempts} fz="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.target}</Table.Th>
              <Table.Th>{words.provider}</Table.Th>
              <Table.Th>{words.model}</Table.Th>
              <Table.Th>{text.common.status}</Table.Th>
              <Table.Th ta="end">{words.retries}</Table.Th>
              <Table.Th ta="end">{words.duration}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {attempts.map((attempt, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: an attempt is its place
              <Table.Tr key={index}>
                <Table.Td className="code">{attempt.label}</Table.Td>
                <Table.Td>{attempt.provider}</Table.Td>
                <Table.Td>{attempt.model}</Table.Td>
                <Table.Td>
                  <Status value={attempt.status} /> {attempt.error_code !== undefined && wordOf(attempt.error_code)}
                </Table.Td>
                <Table.Td className="number">{attempt.retries}</Table.Td>
                <Table.Td className="number">{formatDuration(attempt.duration_ms)}</Table.Td>
              </Table.Tr>
            ))}
            {skipped.map((label) => (
              <Table.Tr key={label}>
                <Table.Td className="code">{label}</Table.Td>
                <Table.Td colSpan={5}>{words.skipped}</Table.Td>
              </Table.Tr>
            ))}
            {unfit.map(({ label, reason }) => (
              <Table.Tr key={label}>
                <Table.Td className="code">{label}</Table.Td>
                <Table.Td colSpan={5}>{words.unfit({ reason })}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  );
}
