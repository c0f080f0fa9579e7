import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type Answer, call, get } from "@/api/client.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";

const inWorkspace = { workspace: "required" } as const;

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
