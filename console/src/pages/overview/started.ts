import { useQuery } from "@tanstack/react-query";
import { get } from "@/api/client.ts";
import { sourceOf } from "@/lib/source.ts";
import { useSession } from "@/session/context.tsx";
import { useLogScope } from "@/session/log-scope.ts";

/** Rows of what programs sent, the newest first. */
export const firstRow = { limit: 1, source: sourceOf({}) };

/**
 * Whether a program ever called the gateway; undefined while that is not known. Read once: the steps stay until one leaves.
 *
 * @param isKnown The figures of the page say that one did.
 */
export function useStarted(isKnown: boolean): boolean | undefined {
  const scope = useLogScope();
  const { can } = useSession();
  const maySee = can("GET /v1/logs") && can("GET /v1/providers");
  const { data, isError } = useQuery({
    queryKey: ["first-steps", "started", scope],
    enabled: maySee && !isKnown,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) =>
      (await get("/v1/logs", { query: { ...firstRow, ...scope }, signal })).data.length > 0,
  });
  return !maySee || isError ? true : (data ?? (isKnown || undefined));
}
