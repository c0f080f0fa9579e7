import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type AnswerOf, ask, get, post } from "@/api/client.ts";
import { useSession } from "@/session/context.tsx";
import { useInference } from "@/session/inference.ts";
import { useWorkspace } from "@/session/workspace.tsx";
import { firstRow } from "./started.ts";

/** Time between two looks for the first request. */
const pollMs = 2000;

type ModelsAnswer = AnswerOf<"GET /v1/models">;

const isListed = (answer: ModelsAnswer): answer is Exclude<ModelsAnswer, { models: unknown }> => "data" in answer;

/** The workspace that the steps are about. */
interface Place {
  /** What names it in calls of the control plane. */
  readonly query: Readonly<Record<string, string>>;
  /** The same for rows of the log. */
  readonly logs: Readonly<Record<string, string>>;
  /** Brings it in view, so that what is made belongs to it. */
  readonly enter: () => void;
}

/** The workspace in view, or the only one; undefined: one must be chosen. */
function useStepWorkspace(): Place | undefined {
  const { current, all, choosable, choose } = useWorkspace();
  const { principal } = useSession();
  const chosen = current ?? (all.length === 1 ? all[0] : undefined);
  if (chosen !== undefined && choosable) {
    const { id, slug } = chosen;
    return { query: { workspace_id: id }, logs: { workspace_slug: slug }, enter: () => choose(id) };
  }
  return principal.workspace_id === null ? undefined : { query: {}, logs: {}, enter: () => undefined };
}

/** Providers and keys of the workspace, and its first request. */
export function useStored() {
  const place = useStepWorkspace();
  const { can } = useSession();
  const query = { ...place?.query, page_size: 100, current_page: 0 };
  const isChosen = place !== undefined;
  const providers = useQuery({
    queryKey: ["providers", "first-steps", query],
    enabled: isChosen,
    queryFn: async ({ signal }) => (await get("/v1/providers", { query, signal })).data,
  });
  const keys = useQuery({
    queryKey: ["api-keys", "first-steps", query],
    enabled: isChosen && can("GET /v1/api-keys"),
    queryFn: async ({ signal }) => (await get("/v1/api-keys", { query, signal })).data,
  });
  const request = useQuery<string | null>({
    queryKey: ["first-steps", "request", place?.logs],
    enabled: isChosen,
    // the steps are shown because there is none yet
    initialData: null,
    staleTime: pollMs,
    refetchInterval: ({ state }) => (typeof state.data === "string" ? false : pollMs),
    queryFn: async ({ signal }) => {
      const { data } = await get("/v1/logs", { query: { ...firstRow, ...place?.logs }, signal });
      return data[0]?.id ?? null;
    },
  });
  return {
    place,
    providers: providers.data,
    error: providers.error,
    // the gateway itself makes the keys of its first start
    hasKey: keys.data?.some((key) => key.creation_mode !== "auto" && key.scopes.includes("completions.write")) === true,
    rowId: request.data ?? undefined,
  };
}

/** The test of a provider, and whether a call of it ever succeeded. */
export function useTest(slug: string, { query, logs }: Place) {
  const queries = useQueryClient();
  const { can } = useSession();
  const tested = useQuery({
    queryKey: ["first-steps", "tested", slug, logs],
    enabled: slug !== "",
    queryFn: async ({ signal }) => {
      const asked = { limit: 1, status: 200, virtual_key: slug, ...logs };
      return (await get("/v1/logs", { query: asked, signal })).data.length > 0;
    },
  });
  const test = useMutation({
    mutationFn: () => ask("POST /v1/providers/{slug}/test", { path: { slug }, query }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["first-steps", "tested"] }),
  });
  const isDone = tested.data === true || test.data?.success === true;
  return { test, isDone, mayTest: can("POST /v1/providers/{slug}/test") };
}

/** Makes a key of the workspace. */
export function useMakeKey({ query }: Place) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (key: { readonly name: string; readonly scopes: readonly string[] }) =>
      post("/v1/api-keys/workspace/service", { body: { ...key, ...query } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["api-keys"] }),
  });
}

/** Models that a provider lists, where the session may ask. */
export function useModelNames(slug: string): readonly string[] {
  const { obstacle, headers } = useInference();
  const { can } = useSession();
  const { data } = useQuery({
    queryKey: ["first-steps", "models", slug, headers],
    enabled: slug !== "" && obstacle === undefined && can("GET /v1/models"),
    retry: false,
    staleTime: 300_000,
    queryFn: async ({ signal }) => {
      const answer = await get("/v1/models", { headers: { ...headers, "x-gateway-provider": `@${slug}` }, signal });
      return isListed(answer) ? answer.data.map(({ id }) => id) : [];
    },
  });
  return [...new Set((data ?? []).filter((id) => id !== ""))];
}
