import { type QueryFunction, type UseQueryResult, useQuery } from "@tanstack/react-query";

interface KeptQuery<Answer> {
  /** What is asked for: whose figures, of which graph or grouping. Answers of another kind are never shown. */
  readonly kind: readonly (string | undefined)[];
  /** How it is asked for: range of time, filters, columns, page. */
  readonly query: Readonly<Record<string, unknown>>;
  readonly queryFn: QueryFunction<Answer>;
  /** Milliseconds after which it is asked again. Absent: it is not. */
  readonly refetchInterval?: number;
}

/** A query that shows its former answer while the next one of the same kind loads. */
export function useKept<Answer>({
  kind,
  query,
  queryFn,
  refetchInterval = 0,
}: KeptQuery<Answer>): UseQueryResult<Answer> {
  // keys are compared as TanStack Query compares them: by their JSON
  const name = JSON.stringify(kind);
  return useQuery<Answer, Error, Answer, readonly unknown[]>({
    queryKey: ["analytics", name, query],
    queryFn,
    refetchInterval: refetchInterval > 0 && refetchInterval,
    placeholderData: (former, of) => (of?.queryKey[1] === name ? former : undefined),
  });
}
