import { PermissionError } from "../errors.ts";
import type { Principal } from "./principal.ts";

/** Which kinds of key may call a route, and the scopes of which they need one. */
export interface KeyAccess {
  /** `admin`: keys of the organisation; `workspace`: keys of a workspace, and tokens. */
  readonly keys: "workspace" | "admin" | "any";
  readonly scopes: readonly string[];
}

function forbid(message: string): never {
  throw new PermissionError(`Forbidden! ${message}`, { code: "AB03" });
}

/**
 * Rejects callers of the wrong kind, and callers with none of the scopes.
 *
 * @throws {PermissionError}
 */
export function requireAccess(principal: Principal, { keys, scopes }: KeyAccess): void {
  if (keys === "workspace" && principal.workspaceId === null) {
    forbid("This route requires a workspace key, and this is a key of the organisation");
  }
  if (keys === "admin" && principal.workspaceId !== null) {
    forbid("This route requires a key of the organisation, and this is a key of a workspace");
  }
  if (!scopes.some((scope) => principal.scopes.has(scope))) forbid(`This key needs the scope ${scopes.join(" or ")}`);
}
