import { useQuery } from "@tanstack/react-query";
import { type AnswerOf, get } from "@/api/client.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";
import { useSession } from "@/session/context.tsx";
import { useInference } from "@/session/inference.ts";
import { useWorkspace } from "@/session/workspace.tsx";
import type { Choice } from "./free-choice.tsx";

const inWorkspace = { workspace: "required" } as const;

/** Records of a list of the workspace by their slugs and names. */
function useSlugs(path: "/v1/configs" | "/v1/prompts" | "/v1/providers") {
  const { can } = useSession();
  const workspace = useWorkspaceQuery(inWorkspace);
  const { current, choosable } = useWorkspace();
  const { data, isLoading } = useQuery({
    queryKey: ["choices", path, workspace],
    enabled: can(`GET ${path}`) && (!choosable || current !== undefined),
    queryFn: ({ signal }) => get(path, { query: { ...workspace, page_size: 100, current_page: 0 }, signal }),
  });
  const records: readonly { readonly slug: string; readonly name: string }[] = data?.data ?? [];
  return { isLoading, slugs: records.map(({ slug, name }) => ({ value: slug, label: name })) };
}

/** MCP servers of the workspace by their slugs and names; undefined: the viewer may not call or list them. */
export function useServers(): readonly { readonly value: string; readonly label: string }[] | undefined {
  const { can } = useSession();
  const workspace = useWorkspaceQuery(inWorkspace);
  const { current, choosable } = useWorkspace();
  const isListed = can("GET /v1/mcp-servers") && can("POST /m/{slug}/mcp") && (!choosable || current !== undefined);
  const { data } = useQuery({
    queryKey: ["choices", "/v1/mcp-servers", workspace],
    enabled: isListed,
    queryFn: ({ signal }) => get("/v1/mcp-servers", { query: { ...workspace, page_size: 100 }, signal }),
  });
  return isListed ? (data?.data ?? []).map(({ slug, name }) => ({ value: slug, label: name })) : undefined;
}

export const useConfigs = () => useSlugs("/v1/configs").slugs;
export const usePrompts = () => useSlugs("/v1/prompts").slugs;

/** Stored providers as requests name them, `@slug`, with their names. */
export function useProviders(): readonly Choice[] {
  return useSlugs("/v1/providers").slugs.map(({ value, label }) => ({
    value: `@${value}`,
    name: label === value ? "" : label,
  }));
}

/** Stored providers as requests name them; undefined: not read yet. */
export function useProviderReferences(): readonly string[] | undefined {
  const { slugs, isLoading } = useSlugs("/v1/providers");
  return isLoading ? undefined : slugs.map(({ value }) => `@${value}`);
}

interface Models {
  readonly names: readonly string[];
  readonly busy: boolean;
  /** The provider does not list its models, or not to this session. */
  readonly failed: boolean;
}

type ModelsAnswer = AnswerOf<"GET /v1/models">;

const isListed = (answer: ModelsAnswer): answer is Exclude<ModelsAnswer, { models: unknown }> => "data" in answer;

/** Models of a provider, asked for when a field for them is opened; without a provider, those of the workspace. */
export function useModels(provider: string, isOpen: boolean): Models {
  const { obstacle, headers } = useInference();
  const { can } = useSession();
  const { data, isLoading, isError } = useQuery({
    queryKey: ["choices", "models", provider, headers],
    enabled: isOpen && obstacle === undefined && can("GET /v1/models"),
    retry: false,
    staleTime: 300_000,
    queryFn: async ({ signal }): Promise<readonly string[]> => {
      const all = provider === "" ? headers : { ...headers, "x-gateway-provider": provider };
      const answer = await get("/v1/models", { headers: all, signal });
      // a request in Gemini's form has models under another name
      return isListed(answer) ? answer.data.map(({ id }) => id) : [];
    },
  });
  const names = [...new Set((data ?? []).filter((id) => id !== ""))];
  return { names, busy: isLoading, failed: isError };
}

/** A saved prompt with the version a reference names: `slug@version`. */
export function usePrompt(reference: string) {
  const { can } = useSession();
  const workspace = useWorkspaceQuery(inWorkspace);
  const [slug = "", version = ""] = reference.split("@");
  return useQuery({
    queryKey: ["prompts", "reference", reference, workspace],
    enabled: slug !== "" && can("GET /v1/prompts/{id}"),
    retry: false,
    queryFn: ({ signal }) => get("/v1/prompts/{id}", { path: { id: slug }, query: { ...workspace, version }, signal }),
  });
}

/** Names of a prompt's variables. */
export function variablesOf(record: AnswerOf<"GET /v1/prompts/{id}"> | undefined): readonly string[] {
  return record?.variable_components?.variables ?? [];
}
