import { Badge, Group } from "@mantine/core";
import type { ReactNode } from "react";
import { type Row, readList, readText } from "@/lib/read.ts";

/** Labels of a prompt's versions. */
export function labelsOf(row: Row): ReactNode {
  return (
    <Group gap={4} wrap="nowrap">
      {readList(row.prompt_labels).map((label) => (
        <Badge key={readText(label, "id")} variant="default" radius="sm" tt="none" fw={400}>
          {readText(label, "name")}
        </Badge>
      ))}
    </Group>
  );
}
