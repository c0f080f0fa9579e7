import { Group, Table, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { Attribute } from "./attribute.ts";
import classes from "./record-table.module.css";
import { figureKinds, Value } from "./value.tsx";

interface RecordTableProps<T> {
  readonly label: string;
  readonly columns: readonly Attribute<T>[];
  readonly rows: readonly T[];
  readonly empty: ReactNode;
  /** What tells rows apart. */
  readonly idOf: (row: T) => string;
  /** Buttons at the end of a row. */
  readonly actions?: (row: T) => ReactNode;
  /** Head of their column. */
  readonly actionsLabel?: string;
  /** On phones the first cell of a row has a line of its own, and the others stand below it. */
  readonly isStacked?: boolean;
}

/** A short table inside a page, all rows at once. */
export function RecordTable<T>({
  label,
  columns,
  rows,
  empty,
  idOf,
  actions,
  actionsLabel,
  isStacked = false,
}: RecordTableProps<T>): ReactNode {
  if (rows.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {empty}
      </Text>
    );
  }
  return (
    <Table.ScrollContainer minWidth={280} type="native" tabIndex={0} aria-label={label}>
      <Table
        className={isStacked ? classes.stacked : undefined}
        role="table"
        aria-label={label}
        fz="sm"
        verticalSpacing={6}
        horizontalSpacing="clamp(0.25rem, 1vw, 0.625rem)"
      >
        <Table.Thead role="rowgroup">
          <Table.Tr role="row">
            {columns.map(({ label: name, kind, wide }) => (
              <Table.Th
                role="columnheader"
                key={name}
                ta={kind !== undefined && figureKinds.has(kind) ? "end" : "start"}
                data-wide={wide}
              >
                {name}
              </Table.Th>
            ))}
            {actions !== undefined &&
              (actionsLabel === undefined ? (
                <Table.Td role="cell" />
              ) : (
                <Table.Th role="columnheader" ta="end">
                  {actionsLabel}
                </Table.Th>
              ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody role="rowgroup">
          {rows.map((row) => (
            <Table.Tr role="row" key={idOf(row)}>
              {columns.map(({ label: name, of, kind, wide, render, empty }) => (
                <Table.Td
                  role="cell"
                  key={name}
                  ta={kind !== undefined && figureKinds.has(kind) ? "end" : "start"}
                  data-wide={wide}
                >
                  {render?.(row) ?? <Value value={of(row)} kind={kind ?? "text"} empty={empty} />}
                </Table.Td>
              ))}
              {actions !== undefined && (
                <Table.Td role="cell" data-actions>
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
