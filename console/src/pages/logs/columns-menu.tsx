import { ActionIcon, Button, Checkbox, Group, NumberInput, Popover, Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { text } from "@/text/text.ts";
import { type ColumnLayout, inOrder, isColumnShown, plainLayout, widthBounds } from "./column-layout.ts";
import type { LogColumn } from "./columns.tsx";

const words = text.logs;

interface ColumnsMenuProps {
  readonly all: readonly LogColumn[];
  readonly layout: ColumnLayout;
  readonly change: (layout: ColumnLayout) => void;
}

/** Chooses the columns of the list, their order and width. */
export default function ColumnsMenu({ all, layout, change }: ColumnsMenuProps): ReactNode {
  const ordered = inOrder(all, layout);
  const move = (from: number, to: number) => {
    const keys = ordered.map(({ key }) => key);
    keys.splice(to, 0, ...keys.splice(from, 1));
    change({ ...layout, order: keys });
  };
  const widen = (key: string, value: string | number) => {
    const { [key]: _, ...widths } = layout.widths;
    const isWidth = typeof value === "number" && value >= widthBounds.min && value <= widthBounds.max;
    change({ ...layout, widths: isWidth ? { ...widths, [key]: value } : widths });
  };
  return (
    <Popover defaultOpened position="top-end" trapFocus withinPortal>
      <Popover.Target>
        <Button variant="default" size="xs">
          {words.chooseColumns}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={words.chooseColumns}>
        <Stack gap={4} mah="60vh" style={{ overflow: "auto" }}>
          {ordered.map((column, index) => (
            <Group key={column.key} gap="xs" wrap="nowrap" justify="space-between">
              <Checkbox
                label={column.label}
                checked={isColumnShown(column, layout)}
                onChange={({ currentTarget: { checked } }) =>
                  change({ ...layout, shown: { ...layout.shown, [column.key]: checked } })
                }
              />
              <Group gap={4} wrap="nowrap">
                <NumberInput
                  aria-label={words.columnWidth({ name: column.label })}
                  size="xs"
                  w="5rem"
                  suffix=" rem"
                  {...widthBounds}
                  value={layout.widths[column.key] ?? ""}
                  onChange={(value) => widen(column.key, value)}
                />
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={words.columnUp({ name: column.label })}
                  disabled={index === 0}
                  onClick={() => move(index, index - 1)}
                >
                  ↑
                </ActionIcon>
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={words.columnDown({ name: column.label })}
                  disabled={index === ordered.length - 1}
                  onClick={() => move(index, index + 1)}
                >
                  ↓
                </ActionIcon>
              </Group>
            </Group>
          ))}
          <Button variant="subtle" size="xs" onClick={() => change(plainLayout)}>
            {words.resetColumns}
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
