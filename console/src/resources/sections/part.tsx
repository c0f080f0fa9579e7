import { Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { Failure, Waiting } from "@/components/states.tsx";

interface PartProps<D> {
  readonly part: {
    readonly data: D | undefined;
    readonly error: Error | null;
    readonly refetch: () => unknown;
  };
  readonly children: (data: D) => ReactNode;
}

/** What a part of a record shows: its failure, a sign that it loads, its content. */
export function Part<D>({ part, children }: PartProps<D>): ReactNode {
  return (
    <Stack gap="sm">
      {part.error !== null && <Failure error={part.error} onRetry={() => void part.refetch()} />}
      {part.data === undefined ? part.error === null && <Waiting /> : children(part.data)}
    </Stack>
  );
}
