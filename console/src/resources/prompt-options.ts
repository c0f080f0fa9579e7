import { useQuery } from "@tanstack/react-query";
import { get } from "@/api/client.ts";
import { useSession } from "@/session/context.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import { useWorkspaceQuery } from "./data.ts";
import type { Option } from "./types.ts";

const inWorkspace = { workspace: "required" } as const;

/** What asks for the first page of a list, as long as the API allows. */
export const firstPage = { current_page: 0, page_size: 100 };

interface Listed {
  readonly id: string;
  readonly name: string;
  readonly is_default?: 0 | 1;
}

function useOptions(name: string, path: "/v1/collections" | "/v1/labels"): readonly Option[] {
  const { can } = useSession();
  const workspace = useWorkspaceQuery(inWorkspace);
  const { current, choosable } = useWorkspace();
  const { data } = useQuery({
    queryKey: [name, "options", workspace],
    enabled: can(`GET ${path}`) && (!choosable || current !== undefined),
    queryFn: ({ signal }) => get(path, { query: { ...workspace, ...firstPage }, signal }),
  });
  const rows: readonly Listed[] = data?.data ?? [];
  // the default one of the workspace stands first
  return rows
    .toSorted((one, other) => (other.is_default ?? 0) - (one.is_default ?? 0))
    .map(({ id, name: label }) => ({ value: id, label }));
}

/** Collections of the workspace, its default one first. */
export const useCollections = () => useOptions("collections", "/v1/collections");
export const useLabels = () => useOptions("labels", "/v1/labels");
