import type { CallerContext, RequestContext } from "../context.ts";
import type { McpEndpoint } from "../endpoint.ts";
import { AuthenticationError, PermissionError } from "../errors.ts";
import type { Reply } from "../lib/reply.ts";
import { authenticateToken } from "../mcp/oauth/caller.ts";
import { challengeOf } from "../mcp/oauth/challenge.ts";
import { isKnownOrigin, nameOfHost, pageHeaders } from "../mcp/origins.ts";
import { authenticateKey, hasOnlySession } from "./credentials.ts";
import { serveLogged } from "./keyed.ts";

/**
 * Refuses pages of foreign origins, and names that may have been pointed at this machine by others.
 *
 * @throws {PermissionError}
 */
function requireKnownSource(context: RequestContext): void {
  const { headers, services, url } = context;
  const origin = headers.get("origin");
  if (origin !== undefined && !isKnownOrigin(origin, context)) {
    throw new PermissionError("Cannot serve this web page: its origin is not among MCP_ORIGINS", {
      code: "origin_not_allowed",
      param: "origin",
    });
  }
  const { hosts } = services.mcp.settings;
  if (!hosts || hosts.has(nameOfHost(headers.get("host") ?? url.host))) return;
  throw new PermissionError("Cannot serve this host name: it is not among MCP_HOSTS", {
    code: "host_not_allowed",
    param: "host",
  });
}

/** Rejects a request with two credentials of the gateway. */
async function requireOneKey(context: CallerContext): Promise<CallerContext> {
  const { providerCredential, services } = context;
  const isOther = providerCredential !== undefined && (await services.authenticator.isOwnKey(providerCredential));
  if (!isOther) return context;
  throw new AuthenticationError("Cannot authenticate: x-gateway-api-key and authorization hold different keys", {
    code: "two_credentials",
  });
}

/** The caller of an MCP server: by a key, a token of the gateway, or a token of an identity provider. */
async function authenticateCaller(context: RequestContext): Promise<CallerContext> {
  return (await authenticateToken(context)) ?? requireOneKey(await authenticateKey(context, undefined));
}

/** Refusals of tokens that were not verified: who sent them is not known. */
const unverified: ReadonlySet<string | null> = new Set([
  "jwt_not_configured",
  "jwt_misconfigured",
  "organisation_not_served",
]);

/** A refusal as clients of MCP servers read it: only known callers get 403 (RFC 6750, section 3.1). */
function toMcpRefusal(error: unknown): unknown {
  if (!(error instanceof PermissionError && unverified.has(error.code))) return error;
  return new AuthenticationError("Cannot use this token: no identity provider of this server issued it", {
    cause: error,
    code: "invalid_token",
  });
}

/** Authenticates the caller of an MCP server. */
export async function authenticateMcp(context: RequestContext): Promise<CallerContext> {
  if (context.connection.actingFor) return authenticateKey(context, undefined);
  if (!hasOnlySession(context)) requireKnownSource(context);
  try {
    return await authenticateCaller(context);
  } catch (thrown) {
    const error = toMcpRefusal(thrown);
    if (error instanceof AuthenticationError) {
      const isMissing = error.code === "missing_api_key";
      error.headers["www-authenticate"] = challengeOf(context, isMissing ? undefined : "invalid_token");
    }
    throw error;
  }
}

/** The answer to `OPTIONS`: with permission for pages of known origins. */
export function mcpPreflight(context: RequestContext, methods: readonly string[]): Reply {
  const headers: Record<string, string> = { allow: [...methods, "OPTIONS"].join(", ") };
  const origin = context.headers.get("origin");
  if (origin !== undefined && isKnownOrigin(origin, context)) {
    Object.assign(headers, pageHeaders(context), {
      "access-control-allow-methods": methods.join(", "),
      "access-control-allow-headers": context.headers.get("access-control-request-headers") ?? "content-type",
      "access-control-max-age": "600",
    });
  }
  return { status: 204, headers, body: null };
}

/** Answers a caller of an MCP server. */
export async function serveMcpRow(endpoint: McpEndpoint, context: CallerContext): Promise<Reply> {
  const reply = await serveLogged(endpoint, context, (row, caller) => row.handle(caller));
  if (reply.status === 401) reply.headers["www-authenticate"] ??= challengeOf(context, "invalid_token");
  if (reply.status === 403) reply.headers["www-authenticate"] ??= challengeOf(context, "insufficient_scope");
  Object.assign(reply.headers, pageHeaders(context));
  return reply;
}
