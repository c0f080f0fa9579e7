import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { get } from "@/api/client.ts";
import { type Search, useSearchParams } from "@/lib/search.ts";
import { useNamedWorkspace } from "@/session/workspace.tsx";
import { queryName, useHasViews } from "../../overview/pinned-views.ts";
import { type SavedView, toSearch } from "./question.ts";

export type ViewPage = SavedView["page"];

/** The saved views of a page; undefined: not read yet. */
export function useViews(page: ViewPage) {
  const workspace = useNamedWorkspace();
  return useQuery({
    queryKey: [queryName, page, workspace],
    enabled: useHasViews(),
    retry: false,
    queryFn: async ({ signal }) => (await get("/v1/saved-views", { query: { ...workspace, page }, signal })).data,
  });
}

/** Reads views again after a change. */
export function useViewsChanged(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: [queryName] });
}

/** The address that opens a view. */
export const linkOf = ({ page, id }: Pick<SavedView, "page" | "id">): string => `/${page}?view=${id}`;

/** A view as the members of an address. */
export const openedSearch = (view: SavedView): Search => ({ ...toSearch(view.question), view: view.id });

interface OpenedView {
  /** Which question the page has is not known yet. */
  readonly waits: boolean;
  /** The view that the address names. */
  readonly view: SavedView | undefined;
  /** The address names a view that does not exist, or that is another person's. */
  readonly isMissing: boolean;
}

/** Opens the view that the address names alone, or the viewer's default one if the page is opened without a question. */
export function useOpenedView(page: ViewPage): OpenedView {
  const search = useSearchParams();
  const navigate = useNavigate();
  const { data, isLoading } = useViews(page);
  const members = Object.keys(search);
  const [isBare] = useState(members.length === 0);
  const named = search.view;
  const asks = members.length === 1 && named !== undefined ? named : isBare && members.length === 0 ? "" : undefined;
  const wanted = data?.find(({ id, is_default }) => (asks === "" ? is_default : id === asks));
  // once: who clears the filters afterwards wants to see everything
  const opened = useRef("");
  const isOpened = wanted !== undefined && opened.current === wanted.id;
  useEffect(() => {
    if (wanted === undefined) return;
    const isAgain = opened.current === wanted.id;
    opened.current = wanted.id;
    const isEmpty = Object.keys(toSearch(wanted.question)).length === 0;
    if (!isAgain) void navigate({ to: ".", search: openedSearch(wanted), replace: true });
    else if (!isEmpty) void navigate({ to: ".", search: {}, replace: true });
  }, [wanted, navigate]);
  return {
    waits: asks !== undefined && (isLoading || (wanted !== undefined && !isOpened)),
    view: data?.find(({ id }) => id === named),
    isMissing: named !== undefined && data !== undefined && !data.some(({ id }) => id === named),
  };
}
