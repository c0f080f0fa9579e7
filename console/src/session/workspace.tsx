import { createContext, type ReactNode, use, useMemo, useState } from "react";
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
  const state = useMemo<WorkspaceState>(() => {
    const { workspaces: all, workspace_id: bound } = principal;
    return {
      current: all.find(({ id }) => id === (bound ?? chosen)),
      all,
      choosable: bound === null,
      choose(id) {
        if (id === undefined) sessionStorage.removeItem(storageKey);
        else sessionStorage.setItem(storageKey, id);
        setChosen(id);
      },
    };
  }, [principal, chosen]);
  return <WorkspaceContext value={state}>{children}</WorkspaceContext>;
}
