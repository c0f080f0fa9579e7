import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ApiRow, ask, type CallOptions, get, type PathOf } from "@/api/client.ts";
import { useWorkspace } from "@/session/workspace.tsx";

/** Query parameter of the workspace in view, for viewers who may choose it. */
function useWorkspaceParameter(): Readonly<Record<string, string>> {
  const { current, choosable } = useWorkspace();
  return choosable && current !== undefined ? { workspace_id: current.id } : {};
}

interface PartOptions extends Pick<CallOptions, "path" | "query"> {
  readonly inWorkspace?: boolean;
}

interface PartWrite {
  readonly row: ApiRow;
  /** Parameters of the row's path. Default: those of the path that is read. */
  readonly path?: CallOptions["path"];
  readonly body?: unknown;
}

/** Reads one route below a record, and changes it. */
export function usePart<P extends PathOf<"get">>(route: P, { path = {}, inWorkspace, query: asked }: PartOptions = {}) {
  const workspace = useWorkspaceParameter();
  const queries = useQueryClient();
  const query = { ...(inWorkspace === true && workspace), ...asked };
  const read = useQuery({
    queryKey: ["part", route, path, query],
    queryFn: ({ signal }) => get(route, { path, query, signal }),
  });
  const write = useMutation({
    mutationFn: ({ row, path: of = path, body }: PartWrite) => ask(row, { path: of, query, body }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["part"] }),
  });
  return { data: read.data, error: read.error ?? write.error, isPending: read.isPending, refetch: read.refetch, write };
}
