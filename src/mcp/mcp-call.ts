import type { KeyAccess } from "../auth/access.ts";
import type { CallerContext } from "../context.ts";
import { type GatewayError, RpcError, rpcCodeOf, toGatewayError } from "../errors.ts";
import type { ExactNumbers } from "../lib/exact-numbers.ts";
import type { Message, Revision, RpcId } from "./message.ts";
import type { McpServer } from "./registry/mcp-server.ts";

/** A message of a caller for a server. */
export interface McpCall extends Revision {
  readonly context: CallerContext;
  readonly server: McpServer;
  readonly message: Message;
  /** The server that joins `server` with others, and the names there, where the caller named that one. */
  readonly through?: { readonly server: McpServer; readonly name: string };
  /** The upstream's session; undefined without one. */
  readonly sessionId: string | undefined;
  /** Id of the request at the upstream, where it is not made from the caller's. */
  readonly upstreamId?: string;
  /** Headers that repeat arguments, where the caller's revision has none. */
  readonly argumentHeaders?: Readonly<Record<string, string>>;
  /** The message as the caller sent it, where guardrails that may change it ran. */
  readonly sent?: Message;
  /** Headers that guardrails set for the server, by name in lower case; null removes one. */
  readonly hookHeaders?: Readonly<Record<string, string | null>>;
  /** Changes an answer, or refuses it, before the caller gets it; absent where no guardrail looks at it. */
  readonly judge?: (
    answer: Record<string, unknown>,
    numbers: ExactNumbers | undefined,
  ) => Promise<Record<string, unknown>>;
  /** The same for messages before the answer; undefined for one that the caller does not get. */
  readonly judgeMessage?: (
    value: Record<string, unknown>,
    numbers: ExactNumbers | undefined,
  ) => Promise<Record<string, unknown> | undefined>;
}

/** What callers of MCP servers need. */
export const mcpAccess: KeyAccess = { keys: "workspace", scopes: ["mcp.invoke"] };

/** The caller as the first part of keys in memory. */
export function callerOf({ principal }: Pick<CallerContext, "principal">): readonly (string | null)[] {
  const { organisationId, workspaceId, keyId, userId, grant } = principal;
  // clients of one user are different callers
  return [organisationId, workspaceId, keyId, userId, grant?.clientId ?? null];
}

/** An error as the answer to a request. */
export function answering(thrown: unknown, id: RpcId | undefined): GatewayError {
  const error = toGatewayError(thrown);
  if (id === undefined || error.status === 401 || error.status === 403) return error;
  const { status, message, code, param, headers } = error;
  const data = error instanceof RpcError ? error.data : undefined;
  return new RpcError(status, message, {
    cause: error,
    rpcCode: rpcCodeOf(error),
    id,
    headers,
    ...(data && { data }),
    ...(code !== null && { code }),
    ...(param !== null && { param }),
  });
}
