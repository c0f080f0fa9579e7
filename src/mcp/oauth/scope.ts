import { OauthError } from "../../errors.ts";
import { mcpScopes } from "../../schemas/oauth.ts";

/** Accepted and without effect: every client with the grant gets refresh tokens. */
const ignored = new Set(["offline_access", "openid"]);

function isKnown(scope: string): boolean {
  return mcpScopes.some((known) => known === scope);
}

/** The known scopes of a list; `mcp` without any. */
export function readScope(text: string | undefined): string[] {
  const found = [...new Set((text ?? "").split(/\s+/))].filter(isKnown);
  return found.length > 0 ? found : ["mcp"];
}

/**
 * The scopes that a request asks for; `mcp` if it names none.
 *
 * @throws {OauthError} If it names an unknown one.
 */
export function requireScope(text: string | undefined): string[] {
  const named = (text ?? "").split(/\s+/).filter((scope) => scope !== "" && !ignored.has(scope));
  const unknown = named.find((scope) => !isKnown(scope));
  if (unknown === undefined) return readScope(text);
  const message = `Cannot grant the scope "${unknown.slice(0, 100)}": the scopes are ${mcpScopes.join(", ")}`;
  throw new OauthError("invalid_scope", message, { param: "scope" });
}

/** Whether scopes include all of others: `mcp` includes every scope. */
export function includesScopes(held: readonly string[] | ReadonlySet<string>, wanted: readonly string[]): boolean {
  const set = new Set(held);
  return set.has("mcp") || wanted.every((scope) => set.has(scope));
}

/** What a scope permits, for users. */
export const scopeDescriptions: Readonly<Record<string, string>> = {
  mcp: "List and read what the server offers, and call its tools",
  "mcp:read": "List and read what the server offers",
  "mcp:write": "Call tools of the server",
};
