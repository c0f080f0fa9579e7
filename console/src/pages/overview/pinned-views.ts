import { useQuery } from "@tanstack/react-query";
import { get } from "@/api/client.ts";
import { useSession } from "@/session/context.tsx";
import { useNamedWorkspace, useWorkspace } from "@/session/workspace.tsx";

/** What keys of queries of saved views begin with. */
export const queryName = "saved-views";

/** Whether the viewer has saved views: they belong to a workspace. */
export function useHasViews(): boolean {
  const { can } = useSession();
  const { current, choosable } = useWorkspace();
  return can("GET /v1/saved-views") && (!choosable || current !== undefined);
}

/** Views whose charts the overview shows. */
export function usePinnedViews() {
  const workspace = useNamedWorkspace();
  return useQuery({
    queryKey: [queryName, "pinned", workspace],
    enabled: useHasViews(),
    queryFn: async ({ signal }) =>
      (await get("/v1/saved-views", { query: { ...workspace, page: "analytics", pinned: "true" }, signal })).data,
  });
}
