import { useWorkspace } from "./workspace.tsx";

/** The query parameter that says whose requests are meant: the workspace in view, or all of the organisation. */
export function useLogScope(): Readonly<Record<string, string>> {
  const { current, choosable } = useWorkspace();
  return choosable ? { workspace_slug: current?.slug ?? "*" } : {};
}
