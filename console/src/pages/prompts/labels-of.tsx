import { Badge, Group } from "@mantine/core";
import type { ReactNode } from "react";
import { Value } from "@/components/value.tsx";

type LabelList = readonly { readonly id: string; readonly name: string }[];

/** Labels side by side. */
export function Labels({ of: labels }: { readonly of: LabelList }): ReactNode {
  if (labels.length === 0) return <Value value={undefined} />;
  return (
    <Group gap={4} wrap="nowrap">
      {labels.map(({ id, name }) => (
        <Badge key={id} variant="default" fw={400}>
          {name}
        </Badge>
      ))}
    </Group>
  );
}

/** Labels of a prompt's versions. */
export const labelsOf = ({ prompt_labels: labels }: { readonly prompt_labels: LabelList }): ReactNode => (
  <Labels of={labels} />
);
