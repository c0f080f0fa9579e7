import { isObject } from "../lib/json.ts";

/** Whom a gateway deployment serves. */
export interface DeploymentAuth {
  /** Slugs of workspaces; used unless all are allowed. */
  workspacesAllowed: readonly string[];
  allowAllWorkspaces: boolean;
  /** Subjects of tokens; empty: all. */
  subsAllowed: readonly string[];
  /** Slug of a subject's workspace. */
  subWorkspaces: ReadonlyMap<string, string>;
}

/** Why a deployment refuses a token. */
export type DeploymentRefusal = "no_workspace_configured" | "workspace_not_allowed" | "subject_not_allowed";

function stringsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** The rules in a deployment's settings. An empty list means all workspaces, unless the settings say otherwise. */
export function readDeploymentAuth(settings: unknown): DeploymentAuth {
  const given = isObject(settings) ? settings : {};
  const mapping = isObject(given.jwt_sub_workspace_mapping) ? given.jwt_sub_workspace_mapping : {};
  const workspacesAllowed = stringsOf(given.workspaces_allowed);
  const all = given.allow_all_workspaces;
  return {
    workspacesAllowed,
    allowAllWorkspaces: typeof all === "boolean" ? all : workspacesAllowed.length === 0,
    subsAllowed: stringsOf(given.jwt_subs_allowed),
    subWorkspaces: new Map(
      Object.entries(mapping).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    ),
  };
}

/** Slug of the workspace for a token without one: its subject's, else the first one allowed. */
export function findDeploymentWorkspace(auth: DeploymentAuth, sub: string | undefined): string | undefined {
  const mapped = sub === undefined ? undefined : auth.subWorkspaces.get(sub);
  return mapped ?? (auth.allowAllWorkspaces ? undefined : auth.workspacesAllowed[0]);
}

/**
 * Why a deployment refuses a token; undefined when it accepts it.
 *
 * @param token.workspace The workspace found for the token.
 */
export function checkDeployment(
  { allowAllWorkspaces, workspacesAllowed, subsAllowed }: DeploymentAuth,
  { workspace, sub }: { workspace: { id: string; slug: string }; sub: string | undefined },
): DeploymentRefusal | undefined {
  if (!allowAllWorkspaces) {
    if (workspacesAllowed.length === 0) return "no_workspace_configured";
    if (!workspacesAllowed.some((name) => name === workspace.slug || name === workspace.id)) {
      return "workspace_not_allowed";
    }
  }
  if (subsAllowed.length === 0) return undefined;
  return sub !== undefined && subsAllowed.includes(sub) ? undefined : "subject_not_allowed";
}
