import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { ApiError, type CallOptions, call, type PathOf } from "@/api/client.ts";
import { isRow, type Row, readList, readPath, readRecord, readText, readTotal } from "@/lib/read.ts";
import { useWorkspace } from "@/session/workspace.tsx";
import type { Paging, Resource } from "./types.ts";

const pageSize = 50;

/** Time between two looks at work that has not ended. */
const pollMs = 1500;

/** The query parameter that names the workspace in view, for routes that take one. */
export function useWorkspaceQuery(resource: Pick<Resource, "workspace">): Readonly<Record<string, string>> {
  const { current, choosable } = useWorkspace();
  if (resource.workspace === "none" || current === undefined || !choosable) return {};
  return { workspace_id: current.id };
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
function nextPage(paging: Paging | undefined, pages: readonly unknown[], param: PageParam): PageParam | undefined {
  const last = pages.at(-1);
  const rows = readList(last);
  if (paging === undefined || rows.length === 0) return undefined;
  if (!("page" in paging)) return readPath(last, "has_more") === true ? readText(rows.at(-1), "id") : undefined;
  const seen = pages.reduce<number>((sum, page) => sum + readList(page).length, 0);
  return seen >= readTotal(last) ? undefined : Number(param) + 1;
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
      call("GET", path, { query: { ...query, ...workspace, ...filters, ...toPageQuery(paging, pageParam) }, signal }),
    getNextPageParam: (_last, pages, param) => nextPage(paging, pages, param),
    refetchInterval: ({ state }) =>
      resource.isUnfinished !== undefined && state.data?.pages.flatMap(readList).some(resource.isUnfinished)
        ? pollMs
        : false,
  });
}

/** Versions of a record, in the order of the API. */
export function useVersions(
  name: string,
  row: PathOf<"get">,
  { path = {}, query: paging }: Pick<CallOptions, "path" | "query">,
) {
  const query = { ...useWorkspaceQuery({ workspace: "required" }), ...paging };
  return useQuery({
    queryKey: [name, "versions", path, query],
    queryFn: async ({ signal }) => readList(await call("GET", row, { path, query, signal })),
  });
}

/** One record of a resource. */
export function useRecord(resource: Resource, id: string) {
  const workspace = useWorkspaceQuery(resource);
  return useQuery<Row>({
    queryKey: [resource.name, "record", id, workspace],
    refetchInterval: ({ state }) =>
      state.data !== undefined && resource.isUnfinished?.(state.data) === true ? pollMs : false,
    queryFn: async ({ signal }): Promise<Row> => {
      const find = async () => {
        const query = { ...resource.list.query, ...workspace };
        const answer = await call("GET", resource.list.path, { query, signal });
        return readList(answer).find((row) => readText(row, resource.id) === id);
      };
      if (resource.read === undefined) return (await find()) ?? {};
      try {
        return readRecord(await call("GET", fillPath(resource.read, id), { query: workspace, signal }));
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
export function titleOf({ title }: Pick<Resource, "title">, record: Row): string {
  return typeof title === "string" ? readText(record, title) : title(record);
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

/** The first of some members of an answer, or of its `data`, that holds a text. */
export function findSecret(answer: unknown, members: readonly string[] = []): string | undefined {
  for (const member of members) {
    for (const value of [readPath(answer, member), readPath(answer, `data.${member}`)]) {
      if (typeof value === "string" && value !== "") return value;
    }
  }
  return undefined;
}

/** A record without the members that are null, for showing as JSON. */
export function withoutNulls(record: Row): Row {
  return Object.fromEntries(
    Object.entries(record).filter(([, value]) => value !== null && !(isRow(value) && Object.keys(value).length === 0)),
  );
}
