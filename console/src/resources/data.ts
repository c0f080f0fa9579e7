import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { ApiError, type CallOptions, call, get } from "@/api/client.ts";
import { isJsonObject } from "@/lib/json.ts";
import { useNamedWorkspace, useWorkspace } from "@/session/workspace.tsx";
import { text } from "@/text/frame.ts";
import type { ListAnswer, ListPath, MappingsAnswer, Paging, Resource } from "./types.ts";

/** The title of the list of a kind of record. */
export const listTitleOf = ({ name }: Pick<Resource, "name">): string => text.nav.records[name] ?? name;

const pageSize = 50;

/** Time between two looks at work that has not ended. */
const pollMs = 1500;

/** The query parameter that names the workspace in view, for routes that take one. */
export function useWorkspaceQuery(resource: Pick<Resource, "workspace">): Readonly<Record<string, string>> {
  const named = useNamedWorkspace();
  return resource.workspace === "none" ? {} : named;
}

type PageParam = string | number;

function toPageQuery(paging: Paging | undefined, param: PageParam): Readonly<Record<string, PageParam | undefined>> {
  if (paging === undefined) return {};
  const size = { [paging.size]: pageSize };
  if ("page" in paging) return { ...size, [paging.page]: param };
  return { ...size, [paging.after]: param === "" ? undefined : param };
}

function firstPage(paging: Paging | undefined): PageParam {
  if (paging === undefined) return 0;
  return "page" in paging ? paging.first : "";
}

/** What reads the page after the last one; undefined: there is none. */
function nextPage(
  { list: { paging }, id }: Resource,
  pages: readonly ListAnswer[],
  param: PageParam,
): PageParam | undefined {
  const last = pages.at(-1);
  const end = last?.data.at(-1);
  if (paging === undefined || last === undefined || end === undefined) return undefined;
  if (!("page" in paging)) return last.has_more === true ? id(end) : undefined;
  const seen = pages.reduce((sum, { data }) => sum + data.length, 0);
  return seen >= (last.total ?? last.data.length) ? undefined : Number(param) + 1;
}

/** Reads a list route. */
export async function readList(path: ListPath, options: CallOptions): Promise<ListAnswer> {
  const answer: ListAnswer | MappingsAnswer = await get(path, options);
  return "mappings" in answer ? { data: answer.mappings, total: answer.total_count } : answer;
}

/** Pages of a resource's list, as the API pages it. */
export function useResourceList(resource: Resource, filters: Readonly<Record<string, string>> = {}) {
  const workspace = useWorkspaceQuery(resource);
  const { choosable, current } = useWorkspace();
  const { path, paging, query } = resource.list;
  return useInfiniteQuery({
    queryKey: [resource.name, "list", workspace, filters],
    enabled: resource.workspace !== "required" || !choosable || current !== undefined,
    initialPageParam: firstPage(paging),
    queryFn: ({ pageParam, signal }) =>
      readList(path, { query: { ...query, ...workspace, ...filters, ...toPageQuery(paging, pageParam) }, signal }),
    getNextPageParam: (_last, pages, param) => nextPage(resource, pages, param),
    refetchInterval: ({ state }) =>
      resource.isUnfinished !== undefined && state.data?.pages.flatMap(({ data }) => data).some(resource.isUnfinished)
        ? pollMs
        : false,
  });
}

/** Versions of a record, in the order of the API. */
export function useVersions<P extends ListPath>(
  name: string,
  row: P,
  { path = {}, query: paging }: Pick<CallOptions, "path" | "query">,
) {
  const query = { ...useWorkspaceQuery({ workspace: "required" }), ...paging };
  return useQuery({
    queryKey: [name, "versions", path, query],
    queryFn: ({ signal }) => get(row, { path, query, signal }),
  });
}

/** One record of a resource. */
export function useRecord(resource: Resource, id: string) {
  const workspace = useWorkspaceQuery(resource);
  return useQuery<object>({
    queryKey: [resource.name, "record", id, workspace],
    refetchInterval: ({ state }) =>
      state.data !== undefined && resource.isUnfinished?.(state.data) === true ? pollMs : false,
    queryFn: async ({ signal }) => {
      const find = async () => {
        const query = { ...resource.list.query, ...workspace };
        const { data } = await readList(resource.list.path, { query, signal });
        return data.find((row) => resource.id(row) === id);
      };
      if (resource.read === undefined) return (await find()) ?? {};
      try {
        // `defineResource` has the type of the record from this path
        return (await call("GET", fillPath(resource.read, id), { query: workspace, signal })) as object;
      } catch (error) {
        if (resource.shared !== true || !(error instanceof ApiError) || error.status !== 403) throw error;
        const row = await find();
        if (row === undefined) throw error;
        return row;
      }
    },
  });
}

/** Drops what is cached of a resource, so that lists and records are read again. */
export function useForget(resource: Resource): () => Promise<void> {
  const queries = useQueryClient();
  return useCallback(() => queries.invalidateQueries({ queryKey: [resource.name] }), [queries, resource.name]);
}

/** What a person knows a record by; empty where it has no such name. */
export function titleOf({ title }: Pick<Resource, "title">, record: object): string {
  return title(record) ?? "";
}

/** A route's path with its only parameter filled in. */
export function fillPath(path: string, id: string): string {
  return path.replace(/\{\w+\}/, encodeURIComponent(id));
}

/** Splits a row of the OpenAPI document: `POST /v1/configs`. */
export function splitRow(row: string): { readonly method: string; readonly path: string } {
  const [method = "GET", path = ""] = row.split(" ");
  return { method, path };
}

/** A record without the members that are null, for showing as JSON. */
export function withoutNulls(record: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(record).filter(
      ([, value]) => value !== null && !(isJsonObject(value) && Object.keys(value).length === 0),
    ),
  );
}
