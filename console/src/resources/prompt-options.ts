import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client.ts";
import { readList, readText } from "@/lib/read.ts";
import { useSession } from "@/session/context.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { useWorkspaceQuery } from "./data.ts";
import type { Option } from "./types.ts";

const inWorkspace = { workspace: "required" } as const;

/** What asks for the first page of a list, as long as the API allows. */
export const firstPage = { current_page: 0, page_size: 100 };

function useOptions(name: string, path: string): readonly Option[] {
  const { can } = useSession();
  const workspace = useWorkspaceQuery(inWorkspace);
  const { current, choosable } = useWorkspace();
  const { data } = useQuery({
    queryKey: [name, "options", workspace],
    enabled: can(`GET ${path}`) && (!choosable || current !== undefined),
    queryFn: async ({ signal }) => readList(await call("GET", path, { query: { ...workspace, ...firstPage }, signal })),
  });
  // the default one of the workspace stands first
  const rows = (data ?? []).toSorted((one, other) => Number(other.is_default ?? 0) - Number(one.is_default ?? 0));
  return rows.map((row) => ({ value: readText(row, "id"), label: readText(row, "name") }));
}

/** Collections of the workspace, its default one first. */
export const useCollections = () => useOptions("collections", "/v1/collections");
export const useLabels = () => useOptions("labels", "/v1/labels");
