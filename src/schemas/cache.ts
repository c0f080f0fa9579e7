import * as v from "valibot";

/** Response of `DELETE /cache`. */
export const CachePurge = v.object({
  object: v.literal("cache_purge"),
  /** Null: all workspaces of the organisation. */
  workspace_id: v.nullable(v.string()),
  /** Null: all namespaces, and responses without one. */
  namespace: v.nullable(v.string()),
});
