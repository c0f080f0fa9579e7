import { reserveInTurn } from "../context/limit-turn.ts";
import { noteRates, secondsUntil } from "../context/met-rates.ts";
import type { CallerContext } from "../context.ts";
import type { WorkspaceView } from "../control/resources.ts";
import { NotFoundError, RpcError } from "../errors.ts";
import type { AppliedLimit } from "../policies/applied.ts";
import type { Subject } from "../policies/conditions.ts";
import type { Claim, Refusal } from "../policies/limit-store.ts";
import type { McpCall } from "./mcp-call.ts";
import { codes } from "./protocol.ts";

/** Characters of a token, about: servers do not count tokens. */
const charactersOfToken = 4;

/** Tokens that a text is estimated to have. */
function estimateTokens(length: number): number {
  return Math.ceil(length / charactersOfToken);
}

/**
 * The caller's workspace; at once when it is in memory.
 *
 * @throws {NotFoundError} If it was archived meanwhile.
 */
export async function readWorkspace({ principal, services }: CallerContext): Promise<WorkspaceView | undefined> {
  const { organisationId, workspaceId } = principal;
  if (workspaceId === null) return undefined;
  const view = await services.control.directory.workspace({ organisationId, workspaceId });
  if (view) return view;
  throw new NotFoundError("Cannot find this MCP server", { code: "mcp_server_not_found" });
}

/** What conditions of policies ask of a tool call. */
function subjectOf({ context, server, through }: McpCall, name: string, { workspace }: WorkspaceView): Subject {
  const { principal, metadata } = context;
  return {
    organisationId: principal.organisationId,
    workspaceId: workspace.id,
    workspaceSlug: workspace.slug,
    apiKey: principal.keyId,
    virtualKey: null,
    provider: "",
    config: null,
    prompt: null,
    models: [],
    endpointType: "mcpToolCall",
    metadata,
    tool: {
      server: [server.slug, server.id, ...(through ? [through.server.slug, through.server.id] : [])],
      name: [name, ...(through ? [through.name] : [])],
      userId: principal.userId,
    },
  };
}

/** @throws {RpcError} 429, or 200 where the server's settings say so; code 429. 503 if limits cannot be checked. */
function refuse({ server, context }: McpCall, { limit, policy }: AppliedLimit, { resetsAt, isAway }: Refusal): never {
  const seconds = secondsUntil(resetsAt, context.services.steadyTime());
  if (isAway) {
    throw new RpcError(503, "Cannot check the rate limits of this tool call: the counters do not respond", {
      rpcCode: codes.unavailable,
      code: "limits_unavailable",
      headers: { "retry-after": String(seconds) },
      data: { type: "limits_unavailable", retry_after_ms: seconds * 1_000 },
    });
  }
  const { id = "", name = null } = policy ?? {};
  const named = name === null ? id : `"${name}" (${id})`;
  throw new RpcError(
    server.settings.soft_429 ? 200 : 429,
    `Cannot call the tool: the rate limit ${named} on ${limit.counts} has no room for it. It resets in ${seconds} s`,
    {
      rpcCode: codes.rateLimited,
      code: "rate_limited",
      headers: { "retry-after": String(seconds) },
      data: { type: "rate_limited", policy: { id, name }, retry_after_ms: seconds * 1_000 },
    },
  );
}

/** Takes what was booked into the record of the request, or refuses it. */
async function settle(
  call: McpCall,
  outcome: Awaited<ReturnType<CallerContext["services"]["limitStore"]["reserve"]>>,
  { applied, claims, name }: { applied: readonly AppliedLimit[]; claims: readonly Claim[]; name: string },
): Promise<void> {
  const { context, server } = call;
  const { log } = context;
  if (isRefusal(outcome)) {
    const refused = applied[claims.indexOf(outcome.claim)];
    await noteRates({ applied, states: outcome.states }, context);
    if (log.mcp && refused?.policy && !outcome.isAway) log.mcp.refused_by = refused.policy.id;
    if (refused) refuse(call, refused, outcome);
    return;
  }
  // the request ended while it waited
  if (log.settled) return outcome.release();
  log.rates = { applied, states: outcome.states };
  const place = ["mcp", server.slug, undefined, name] as const;
  log.booking = { place, reservation: outcome, spentBefore: 0, tokensBefore: 0 };
}

function isRefusal(outcome: object): outcome is Refusal {
  return "claim" in outcome;
}

/**
 * Counts a tool call in the rate limits that apply to it, before guardrails and server see it. A refused call takes nothing.
 *
 * @throws {RpcError} 429 with `retry-after`, naming the policy that has no room. 503 with `retry-after` if shared counters
 * are away, and nothing may pass without them.
 */
export async function admitTool(call: McpCall): Promise<void> {
  const { message, context } = call;
  if (message.method !== "tools/call" || message.kind !== "request") return;
  const { arguments: given = {}, inputResponses, name } = message.params;
  const asked =
    JSON.stringify(given).length + (inputResponses === undefined ? 0 : JSON.stringify(inputResponses).length);
  const tokens = estimateTokens(asked);
  context.log.spentTokens = tokens;
  const view = await readWorkspace(context);
  if (!view?.toolPolicies || typeof name !== "string") return;
  const applied = view.toolPolicies.limitsOf(subjectOf(call, name, view));
  if (applied.length === 0) return;
  const claims = applied.map(({ limit, bucket }): Claim => {
    return { limit, bucket, least: limit.counts === "requests" ? 1 : tokens, beyond: 0 };
  });
  const outcome = await (applied.some(({ queue }) => queue)
    ? reserveInTurn({ applied, claims, length: asked, signal: context.request.signal }, context)
    : context.services.limitStore.reserve(claims));
  await settle(call, outcome, { applied, claims, name });
}

/** Notes the size of an answer. That of a tool call adds to what it used of limits on tokens. */
export function countResult({ context, message }: McpCall, length: number): void {
  const { log } = context;
  if (log.mcp) log.mcp.result_bytes = length;
  if (message.method !== "tools/call") return;
  log.spentTokens += estimateTokens(length);
  if (log.mcp) log.mcp.tokens = log.spentTokens;
}
