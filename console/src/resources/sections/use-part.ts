import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type CallOptions, call } from "@/api/client.ts";
import { useWorkspace } from "@/session/workspace.tsx";

/** Query parameter of the workspace in view, for viewers who may choose it. */
function useWorkspaceParameter(): Readonly<Record<string, string>> {
  const { current, choosable } = useWorkspace();
  return choosable && current !== undefined ? { workspace_id: current.id } : {};
}

/** Reads one route below a record, and changes it. */
export function usePart(path: string, options: CallOptions & { readonly inWorkspace?: boolean } = {}) {
  const workspace = useWorkspaceParameter();
  const queries = useQueryClient();
  const query = { ...(options.inWorkspace === true && workspace), ...options.query };
  const key = ["part", path, query];
  const read = useQuery({ queryKey: key, queryFn: ({ signal }) => call("GET", path, { query, signal }) });
  const write = useMutation({
    mutationFn: ({
      method,
      at = path,
      body,
    }: {
      readonly method: string;
      readonly at?: string;
      readonly body?: unknown;
    }) => call(method, at, { query, body }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["part"] }),
  });
  return { data: read.data, error: read.error ?? write.error, isPending: read.isPending, refetch: read.refetch, write };
}
