import { Stack } from "@mantine/core";
import type { ReactNode } from "react";
import { Failure, Waiting } from "@/components/states.tsx";
import type { usePart } from "./use-part.ts";

interface PartProps {
  readonly part: ReturnType<typeof usePart>;
  readonly children: (data: unknown) => ReactNode;
}

/** What a part of a record shows: its failure, a sign that it loads, its content. */
export function Part({ part, children }: PartProps): ReactNode {
  return (
    <Stack gap="sm">
      {part.error !== null && <Failure error={part.error} onRetry={() => void part.refetch()} />}
      {part.isPending ? <Waiting /> : children(part.data)}
    </Stack>
  );
}
