import { Badge, Group } from "@mantine/core";
import type { ReactNode } from "react";
import { Value } from "@/components/value.tsx";
import { type Row, readList, readText } from "@/lib/read.ts";

/** Labels side by side. */
export function Labels({ of: labels }: { readonly of: unknown }): ReactNode {
  const shown = readList(labels);
  if (shown.length === 0) return <Value value={undefined} />;
  return (
    <Group gap={4} wrap="nowrap">
      {shown.map((label) => (
        <Badge key={readText(label, "id")} variant="default" fw={400}>
          {readText(label, "name")}
        </Badge>
      ))}
    </Group>
  );
}

/** Labels of a prompt's versions. */
export const labelsOf = (row: Row): ReactNode => <Labels of={row.prompt_labels} />;
