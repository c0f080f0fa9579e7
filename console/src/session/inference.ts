import { text } from "@/text/text.ts";
import { useSession } from "./context.tsx";
import { useWorkspace } from "./workspace.tsx";

/** What the signed-in person must do before a model can be called. */
export interface Obstacle {
  readonly title: string;
  readonly hint: string;
  /** Whether a workspace key helps. */
  readonly needsKey: boolean;
}

interface Inference {
  /** Undefined where models can be called. */
  readonly obstacle: Obstacle | undefined;
  /** Headers of every request to a model: they name the workspace where the session belongs to several. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What is called: models, or tools of MCP servers. */
const needs = {
  models: {
    row: "POST /v1/chat/completions",
    title: text.inference.noScope,
    hint: text.inference.noScopeHint,
  },
  tools: { row: "POST /m/{slug}/mcp", title: text.inference.noToolScope, hint: text.inference.noToolScopeHint },
} as const;

/** Whether and how this session calls models or tools: requests belong to a workspace. */
export function useInference(what: keyof typeof needs = "models"): Inference {
  const { principal, can } = useSession();
  const { current, all } = useWorkspace();
  const words = text.inference;
  if (principal.type === "user") {
    const workspace = current ?? (all.length === 1 ? all[0] : undefined);
    return workspace === undefined
      ? { obstacle: { title: text.common.chooseWorkspace, hint: words.chooseHint, needsKey: false }, headers: {} }
      : { obstacle: undefined, headers: { "x-gateway-workspace": workspace.slug } };
  }
  if (principal.workspace_id === null) {
    return { obstacle: { title: words.adminKey, hint: words.adminKeyHint, needsKey: true }, headers: {} };
  }
  const { row, title, hint } = needs[what];
  return { obstacle: can(row) ? undefined : { title, hint, needsKey: false }, headers: {} };
}
