/** Which tenant's rows are read: one workspace, or a whole organisation. */
export interface LogScope {
  readonly organisationId: string;
  /** Null: rows of every workspace, and those without a workspace. */
  readonly workspaceId: string | null;
}

/**
 * The condition of every statement that reads one scope, so that no row of another tenant can be read.
 *
 * @param table The table whose columns are meant, where a statement reads several.
 */
export function scopeCondition(
  { organisationId, workspaceId }: LogScope,
  table?: "log_batches",
): { sql: string; args: string[] } {
  const of = table === undefined ? "" : `${table}.`;
  return workspaceId === null
    ? { sql: `${of}organisation_id = ?`, args: [organisationId] }
    : { sql: `${of}organisation_id = ? AND ${of}workspace_id = ?`, args: [organisationId, workspaceId] };
}
