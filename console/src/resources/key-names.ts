import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { get } from "@/api/client.ts";
import { useSession } from "@/session/context.tsx";

/** Names of API keys by their ids, as far as the viewer may list keys; none before they are wanted. */
export function useKeyNames(isWanted = true): ReadonlyMap<string, string> {
  const { can } = useSession();
  const { data } = useQuery({
    queryKey: ["api-keys", "names"],
    enabled: isWanted && can("GET /v1/api-keys"),
    staleTime: 60_000,
    queryFn: ({ signal }) => get("/v1/api-keys", { query: { page_size: 100, current_page: 0 }, signal }),
  });
  return useMemo(() => new Map(data?.data.map(({ id, name }) => [id, name])), [data]);
}
