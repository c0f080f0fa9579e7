/** Which tenant's rows are read: one workspace, or a whole organisation. */
export interface LogScope {
  readonly organisationId: string;
  /** Null: rows of every workspace, and those without a workspace. */
  readonly workspaceId: string | null;
}

/** The condition of every statement that reads one scope, so that no row of another tenant can be read. */
export function scopeCondition({ organisationId, workspaceId }: LogScope): { sql: string; args: string[] } {
  return workspaceId === null
    ? { sql: "organisation_id = ?", args: [organisationId] }
    : { sql: "organisation_id = ? AND workspace_id = ?", args: [organisationId, workspaceId] };
}
