import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { ApiError, ask, get } from "@/api/client.ts";
import { type JsonMark, readJsonPath } from "@/components/json-schema.ts";
import { formatJson } from "@/lib/format-json.ts";
import { useWorkspaceQuery } from "@/resources/data.ts";
import { configs } from "./configs.ts";

/** A config as it is being edited. */
export interface Draft {
  readonly name: string;
  readonly isDefault: boolean;
  readonly code: string;
}

/** What a new config begins with: two of the stored providers, else the built-in one that needs no account. */
export function firstCode(providers: readonly string[]): string {
  const names = providers.length === 0 ? ["echo"] : providers.slice(0, 2);
  const targets = names.map((provider) => ({ provider }));
  return JSON.stringify({ strategy: { mode: "fallback" }, targets }, undefined, 2);
}

/** A stored config as text: the API has it as the JSON that was saved. */
export function codeOf(record: { readonly config: string } | undefined): string {
  return formatJson(record?.config ?? "{}");
}

/** A saved config by its slug. */
export function useConfig(slug: string) {
  const workspace = useWorkspaceQuery(configs);
  return useQuery({
    queryKey: ["configs", "record", slug, workspace],
    queryFn: ({ signal }) => get("/v1/configs/{slug}", { path: { slug }, query: workspace, signal }),
  });
}

/** Creates or changes a config; the result is its slug. */
export function useSaveConfig(slug: string | undefined) {
  const queries = useQueryClient();
  const workspace = useWorkspaceQuery(configs);
  return useMutation({
    async mutationFn(draft: Draft): Promise<string> {
      const body = { name: draft.name, config: draft.code, isDefault: draft.isDefault };
      if (slug !== undefined) await ask("PUT /v1/configs/{slug}", { path: { slug }, query: workspace, body });
      const saved = slug ?? (await ask("POST /v1/configs", { body: { ...workspace, ...body } })).slug;
      await queries.invalidateQueries({ queryKey: ["configs"] });
      return saved;
    },
  });
}

const named = /^path: (.*?), message: (.*)$/s;

/** What the gateway refused of a config, with the place of each complaint. */
export function marksOf(error: unknown): readonly JsonMark[] {
  if (!(error instanceof ApiError)) return [];
  const listed = error.errors.flatMap((one) => {
    const [, path, message] = named.exec(one) ?? [];
    return path === undefined || message === undefined ? [] : [{ path, message }];
  });
  const param = error.param?.startsWith("config") ? [{ path: error.param, message: error.message }] : [];
  return (listed.length > 0 ? listed : param).map(({ path, message }) => ({
    path: readJsonPath(path.replace(/^config\.?/, "")),
    message,
  }));
}

/** The value of a JSON text, and the last one that could be read while the text is broken. */
export function useParsed(code: string): { readonly value: unknown; readonly broken: boolean } {
  const [last, setLast] = useState<unknown>({});
  const read = useMemo(() => {
    try {
      const value: unknown = JSON.parse(code);
      return { value };
    } catch {
      return undefined;
    }
  }, [code]);
  if (read !== undefined && JSON.stringify(read.value) !== JSON.stringify(last)) setLast(read.value);
  return read === undefined ? { value: last, broken: true } : { value: read.value, broken: false };
}
