import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client.ts";
import { readList, readPath, readRecord, readText } from "@/lib/read.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";
import { useSession } from "@/session/context.tsx";
import { useInference } from "@/session/inference.ts";
import { useWorkspace } from "@/session/workspace.tsx";
import type { Choice } from "./free-choice.tsx";

const inWorkspace = { workspace: "required" } as const;

/** A list of the workspace. */
function useRows(row: string, path: string) {
  const { can } = useSession();
  const workspace = useWorkspaceQuery(inWorkspace);
  const { current, choosable } = useWorkspace();
  return useQuery({
    queryKey: ["choices", path, workspace],
    enabled: can(row) && (!choosable || current !== undefined),
    queryFn: async ({ signal }) =>
      readList(await call("GET", path, { query: { ...workspace, page_size: 100, current_page: 0 }, signal })),
  });
}

/** Slugs of a list of the workspace, with their names. */
function useSlugs(row: string, path: string) {
  const { data } = useRows(row, path);
  return (data ?? []).map((record) => ({ value: readText(record, "slug"), label: readText(record, "name") }));
}

export const useConfigs = () => useSlugs("GET /v1/configs", "/v1/configs");
export const usePrompts = () => useSlugs("GET /v1/prompts", "/v1/prompts");

/** Stored providers as requests name them, `@slug`, with their names. */
export function useProviders(): readonly Choice[] {
  return useSlugs("GET /v1/providers", "/v1/providers").map(({ value, label }) => ({
    value: `@${value}`,
    name: label === value ? "" : label,
  }));
}

/** Stored providers as requests name them; undefined: not read yet. */
export function useProviderReferences(): readonly string[] | undefined {
  const { data, isLoading } = useRows("GET /v1/providers", "/v1/providers");
  return isLoading ? undefined : (data ?? []).map((record) => `@${readText(record, "slug")}`);
}

interface Models {
  readonly names: readonly string[];
  readonly busy: boolean;
  /** The provider does not list its models, or not to this session. */
  readonly failed: boolean;
}

/** Models of a provider, asked for when a field for them is opened; without a provider, those of the workspace. */
export function useModels(provider: string, isOpen: boolean): Models {
  const { obstacle, headers } = useInference();
  const { can } = useSession();
  const { data, isLoading, isError } = useQuery({
    queryKey: ["choices", "models", provider, headers],
    enabled: isOpen && obstacle === undefined && can("GET /v1/models"),
    retry: false,
    staleTime: 300_000,
    queryFn: async ({ signal }) => {
      const all = provider === "" ? headers : { ...headers, "x-gateway-provider": provider };
      return readList(await call("GET", "/v1/models", { headers: all, signal }));
    },
  });
  const names = [...new Set((data ?? []).map((model) => readText(model, "id")).filter((id) => id !== ""))];
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
    queryFn: async ({ signal }) =>
      readRecord(
        await call("GET", "/v1/prompts/{id}", { path: { id: slug }, query: { ...workspace, version }, signal }),
      ),
  });
}

/** Names of a prompt's variables. */
export function variablesOf(record: unknown): readonly string[] {
  const names = readPath(record, "variable_components.variables");
  return Array.isArray(names) ? names.map(String) : [];
}
