import { Group, Table, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { type Row, readPath, readText } from "@/lib/read.ts";
import type { Attribute } from "@/resources/types.ts";
import { figureKinds, Value } from "./value.tsx";

interface RecordTableProps {
  readonly label: string;
  readonly columns: readonly Attribute[];
  readonly rows: readonly Row[];
  readonly empty: string;
  /** Members that together tell rows apart. Default: `id`. */
  readonly id?: readonly string[];
  /** Buttons at the end of a row. */
  readonly actions?: (row: Row) => ReactNode;
  /** Head of their column. */
  readonly actionsLabel?: string;
}

/** A short table inside a page, all rows at once. */
export function RecordTable({
  label,
  columns,
  rows,
  empty,
  id = ["id"],
  actions,
  actionsLabel,
}: RecordTableProps): ReactNode {
  if (rows.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {empty}
      </Text>
    );
  }
  return (
    <Table.ScrollContainer minWidth={280} type="native" tabIndex={0} aria-label={label}>
      <Table aria-label={label} fz="sm" verticalSpacing={6} horizontalSpacing="clamp(0.25rem, 1vw, 0.625rem)">
        <Table.Thead>
          <Table.Tr>
            {columns.map(({ label: name, path, kind, wide }) => (
              <Table.Th key={path} ta={kind !== undefined && figureKinds.has(kind) ? "end" : "start"} data-wide={wide}>
                {name}
              </Table.Th>
            ))}
            {actions !== undefined &&
              (actionsLabel === undefined ? <Table.Td /> : <Table.Th ta="end">{actionsLabel}</Table.Th>)}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row, index) => (
            <Table.Tr key={id.map((member) => readText(row, member)).join("\n") || index}>
              {columns.map(({ path, kind, wide, render, empty }) => (
                <Table.Td
                  key={path}
                  ta={kind !== undefined && figureKinds.has(kind) ? "end" : "start"}
                  data-wide={wide}
                >
                  {render?.(row) ?? <Value value={readPath(row, path)} kind={kind ?? "text"} empty={empty} />}
                </Table.Td>
              ))}
              {actions !== undefined && (
                <Table.Td>
                  <Group justify="end" wrap="nowrap">
                    {actions(row)}
                  </Group>
                </Table.Td>
              )}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
