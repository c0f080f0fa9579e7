import { Badge, Group, Stack, Table, Text } from "@mantine/core";
import { type ReactNode, useMemo } from "react";
import { Empty } from "@/components/states.tsx";
import { Section } from "@/layout/page.tsx";
import { text } from "@/text/text.ts";
import classes from "./detail.module.css";
import { findDifferences } from "./differences.ts";
import type { LogRow } from "./row.ts";

const words = text.logs.changes;

/** What the gateway dropped or changed on the way to the provider and back. */
export function Changes({ row }: { readonly row: LogRow }): ReactNode {
  const dropped = row.dropped_params ?? [];
  const steps = [
    [words.byConfig, "request", "finalUntransformedRequest"],
    [
      words.forProvider,
      row.finalUntransformedRequest === undefined ? "request" : "finalUntransformedRequest",
      "transformedRequest",
    ],
    [words.fromProvider, "originalResponse", "response"],
  ] as const;
  const shown = steps.filter(([, from, to]) => row[from] !== undefined && row[to] !== undefined);
  return (
    <Stack gap="md">
      {dropped.length > 0 && (
        <Section title={words.dropped}>
          <Text size="sm" mb="xs">
            {words.droppedHint}
          </Text>
          <Group gap="xs">
            {dropped.map((name) => (
              <Badge key={name} variant="default" radius="sm" tt="none" fw={400} className="code">
                {name}
              </Badge>
            ))}
          </Group>
        </Section>
      )}
      {shown.map(([title, from, to]) => (
        <Step key={to} title={title} before={row[from]} after={row[to]} />
      ))}
      {dropped.length === 0 && shown.length === 0 && (
        <Section title={text.logs.tabs.changes} isPlain>
          <Empty title={words.none} />
        </Section>
      )}
    </Stack>
  );
}

/** What was sent or answered, as far as a step compares it. */
interface Side {
  readonly body?: unknown;
  readonly url?: string | null;
}

interface StepProps {
  readonly title: string;
  readonly before: Side | undefined;
  readonly after: Side | undefined;
}

/** Longest value in a cell. */
const shownValue = 300;

function show(value: unknown): string {
  if (value === undefined) return words.absent;
  // long strings are cut before they are written out
  const plain = typeof value === "string" ? value.slice(0, shownValue + 1) : (JSON.stringify(value) ?? "");
  return plain.length > shownValue ? `${plain.slice(0, shownValue)}…` : plain;
}

function Step({ title, before, after }: StepProps): ReactNode {
  const differences = useMemo(() => findDifferences(before?.body, after?.body), [before, after]);
  const [from, to] = [before?.url ?? "", after?.url ?? ""];
  return (
    <Section title={title}>
      {from !== to && to !== "" && (
        <Text size="sm" mb="xs" style={{ overflowWrap: "anywhere" }}>
          {words.sentTo({ url: to })}
        </Text>
      )}
      {differences.length === 0 ? (
        <Text size="sm">{words.sameBody}</Text>
      ) : (
        <Table.ScrollContainer minWidth={480} type="native" tabIndex={0} aria-label={title}>
          <Table aria-label={title} fz="sm" layout="fixed">
            <Table.Thead>
              <Table.Tr>
                <Table.Th w="28%">{words.field}</Table.Th>
                <Table.Th>{words.before}</Table.Th>
                <Table.Th>{words.after}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {differences.map(({ path, before: old, after: now }) => (
                <Table.Tr key={path} style={{ overflowWrap: "anywhere", verticalAlign: "top" }}>
                  <Table.Td className="code">{path || words.wholeBody}</Table.Td>
                  <Table.Td className={`code ${classes.before}`}>{show(old)}</Table.Td>
                  <Table.Td className={`code ${classes.after}`}>{show(now)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </Section>
  );
}
