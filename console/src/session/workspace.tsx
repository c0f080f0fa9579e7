import { useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useLayoutEffect, useMemo, useState } from "react";
import { setActingWorkspace } from "@/api/client.ts";
import { useSession } from "./context.tsx";
import type { Workspace } from "./session.ts";

interface WorkspaceState {
  /** The workspace that lists and new records belong to; undefined: all of the organisation. */
  readonly current: Workspace | undefined;
  readonly all: readonly Workspace[];
  /** Whether the viewer may change it: everyone whose session is not bound to one workspace. */
  readonly choosable: boolean;
  readonly choose: (id: string | undefined) => void;
}

const WorkspaceContext = createContext<WorkspaceState | undefined>(undefined);

/** The workspace in view and how to change it. */
export function useWorkspace(): WorkspaceState {
  const state = use(WorkspaceContext);
  if (state === undefined) throw new TypeError("useWorkspace is called outside WorkspaceProvider");
  return state;
}

const storageKey = "console.workspace";

/** Remembers, in this tab, which workspace is in view. */
export function WorkspaceProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const { principal } = useSession();
  const [chosen, setChosen] = useState<string | undefined>(() => sessionStorage.getItem(storageKey) ?? undefined);
  const queries = useQueryClient();
  const { workspaces: all, workspace_id: bound, type } = principal;
  // A member of several workspaces acts in one of them at a time; who sees the organisation names one in each call.
  const acts = type === "user" && bound !== null && all.length > 1;
  const current = all.find(({ id }) => id === (acts || bound === null ? (chosen ?? bound) : bound));
  const acting = acts ? current?.slug : undefined;
  useLayoutEffect(() => {
    setActingWorkspace(acting);
    if (acting !== undefined) void queries.resetQueries();
  }, [acting, queries]);
  const state = useMemo<WorkspaceState>(() => {
    return {
      current,
      all,
      choosable: bound === null || acts,
      choose(id) {
        if (id === undefined) sessionStorage.removeItem(storageKey);
        else sessionStorage.setItem(storageKey, id);
        setChosen(id);
      },
    };
  }, [current, all, bound, acts]);
  return <WorkspaceContext value={state}>{children}</WorkspaceContext>;
}

/** The query parameter that names the workspace in view, where the session sees several. */
export function useNamedWorkspace(): Readonly<Record<string, string>> {
  const { current, choosable } = useWorkspace();
  return current === undefined || !choosable ? {} : { workspace_id: current.id };
}
