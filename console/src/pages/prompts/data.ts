import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type Answer, call, get } from "@/api/client.ts";
import { readList, readText } from "@/lib/read.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";
import type { Option } from "@/resources/types.ts";
import { useSession } from "@/session/context.tsx";
import { useWorkspace } from "@/session/workspace.tsx";

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

/** A prompt with one of its versions. */
export type PromptRecord = Answer<"/v1/prompts/{id}", "get">;

/** A prompt with one of its versions: `latest`, `default`, a number or a label. */
export function usePromptRecord(id: string, version: string) {
  const workspace = useWorkspaceQuery(inWorkspace);
  return useQuery({
    queryKey: ["prompts", "record", id, version, workspace],
    queryFn: ({ signal }) => get("/v1/prompts/{id}", { path: { id }, query: { ...workspace, version }, signal }),
  });
}

/** Calls a row that changes a prompt, and reads everything about prompts again. */
export function usePromptChange() {
  const queries = useQueryClient();
  const workspace = useWorkspaceQuery(inWorkspace);
  return useMutation({
    async mutationFn({
      method,
      path,
      body,
    }: {
      readonly method: string;
      readonly path: string;
      readonly body: unknown;
    }) {
      const answer = await call(method, path, { query: workspace, body });
      await queries.invalidateQueries({ queryKey: ["prompts"] });
      return answer;
    },
  });
}
