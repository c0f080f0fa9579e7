import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type AnswerOf, type ApiRow, ask, type CallOptions, get } from "@/api/client.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";

const inWorkspace = { workspace: "required" } as const;

/** A prompt with one of its versions. */
export type PromptRecord = AnswerOf<"GET /v1/prompts/{id}">;

/** A prompt with one of its versions: `latest`, `default`, a number or a label. */
export function usePromptRecord(id: string, version: string) {
  const workspace = useWorkspaceQuery(inWorkspace);
  return useQuery({
    queryKey: ["prompts", "record", id, version, workspace],
    queryFn: ({ signal }) => get("/v1/prompts/{id}", { path: { id }, query: { ...workspace, version }, signal }),
  });
}

/** Makes a prompt, and reads everything about prompts again. */
export function usePromptCreation() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: object) => ask("POST /v1/prompts", { body }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["prompts"] }),
  });
}

interface PromptChange extends Pick<CallOptions, "path" | "body"> {
  readonly row: ApiRow;
}

/** Calls a row that changes a prompt, and reads everything about prompts again. */
export function usePromptChange() {
  const queries = useQueryClient();
  const workspace = useWorkspaceQuery(inWorkspace);
  return useMutation({
    mutationFn: ({ row, ...sent }: PromptChange) => ask(row, { ...sent, query: workspace }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["prompts"] }),
  });
}
