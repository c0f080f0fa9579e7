import { requireAccess } from "../auth/access.ts";
import { findCallerNow } from "../context/caller-now.ts";
import { requireRole } from "../endpoint/role.ts";
import { GatewayError } from "../errors.ts";
import { type McpCall, mcpAccess } from "./mcp-call.ts";

/** How often it is asked whether a caller may still listen, in milliseconds. */
const checkEveryMs = 15_000;

/**
 * Whether the caller of a stream may still use its server, as its credential, the user's role and the server are now. What cannot
 * be found out now ends no stream.
 */
async function mayListen({ context, server }: McpCall): Promise<boolean> {
  const { services, connection } = context;
  try {
    // the request that a stream at a member belongs to is asked by itself
    const principal = connection.actingFor ?? (await findCallerNow(context));
    requireAccess(principal, mcpAccess);
    await requireRole({ principal, services }, mcpAccess.scopes);
    const { organisationId, workspaceId } = server;
    if (principal.organisationId !== organisationId || principal.workspaceId !== workspaceId) return false;
    const now = await services.mcpServers.find(principal, server.slug);
    return now?.id === server.id && now.isActive && now.isOpenTo(principal.userId);
  } catch (error) {
    return !(error instanceof GatewayError && error.status < 500);
  }
}

/** Asks again and again whether the caller of a stream, which has no time limit, may still listen. */
export class ListeningWatch {
  readonly #call: McpCall;
  readonly #endStream: () => void;
  #checkedAt: number;

  /** @param endStream Called when the caller may not listen any more. */
  constructor(call: McpCall, endStream: () => void) {
    this.#call = call;
    this.#endStream = endStream;
    this.#checkedAt = call.context.services.clock.monotonic();
  }

  /** Called about once a second with monotonic milliseconds. */
  tick(now: number): void {
    if (now - this.#checkedAt < checkEveryMs) return;
    this.#checkedAt = now;
    void this.#check();
  }

  async #check(): Promise<void> {
    if (!(await mayListen(this.#call))) this.#endStream();
  }
}
