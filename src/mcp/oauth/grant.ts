import type { CallerContext } from "../../context.ts";
import { AuthenticationError, PermissionError } from "../../errors.ts";
import type { Message } from "../message.ts";
import type { McpServer } from "../registry/mcp-server.ts";
import { challengeOf } from "./challenge.ts";
import { includesScopes } from "./scope.ts";

/**
 * Refuses a token whose address belongs to another server by now.
 *
 * @throws {AuthenticationError}
 */
export function requireGrantedServer({ principal: { grant } }: CallerContext, server: McpServer): void {
  if (!grant || grant.serverId === server.id) return;
  throw new AuthenticationError("Cannot use this token: it is for another server", { code: "invalid_token" });
}

/** What every token may do: a session is nothing by itself. */
const common = new Set(["initialize", "ping", "server/discover", "logging/setLevel"]);

/** Scopes that a message needs. */
function scopesFor({ kind, method }: Message): string[] {
  if (kind !== "request" || common.has(method)) return [];
  return [method === "tools/call" ? "mcp:write" : "mcp:read"];
}

/**
 * Refuses what the scopes of a token do not permit. The challenge names those that a client asks for next.
 *
 * @throws {PermissionError}
 */
export function requireGrantedScope(message: Message, context: CallerContext): void {
  const { grant } = context.principal;
  const needed = grant ? scopesFor(message) : [];
  if (!grant || includesScopes(grant.scopes, needed)) return;
  throw new PermissionError(`Cannot serve ${message.method}: the token needs the scope ${needed.join(" ")}`, {
    code: "insufficient_scope",
    headers: { "www-authenticate": challengeOf(context, "insufficient_scope", needed) },
  });
}
