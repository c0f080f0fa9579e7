import { text } from "@/text/text.ts";
import { useSession } from "./context.tsx";
import { useWorkspace } from "./workspace.tsx";

interface Inference {
  /** What the signed-in person must do first; undefined where models can be called. */
  readonly obstacle: { readonly title: string; readonly hint: string } | undefined;
  /** Headers of every request to a model: they name the workspace where the session belongs to several. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Whether and how this session calls models: requests belong to a workspace. */
export function useInference(): Inference {
  const { principal, can } = useSession();
  const { current, all } = useWorkspace();
  const words = text.inference;
  if (!can("POST /v1/chat/completions")) {
    return { obstacle: { title: words.noScope, hint: words.noScopeHint }, headers: {} };
  }
  if (principal.type !== "user") {
    const isBound = principal.workspace_id !== null;
    return { obstacle: isBound ? undefined : { title: words.adminKey, hint: words.adminKeyHint }, headers: {} };
  }
  const workspace = current ?? (all.length === 1 ? all[0] : undefined);
  return workspace === undefined
    ? { obstacle: { title: text.common.chooseWorkspace, hint: words.chooseHint }, headers: {} }
    : { obstacle: undefined, headers: { "x-gateway-workspace": workspace.slug } };
}
