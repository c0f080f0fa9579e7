import type { Reply } from "../../lib/reply.ts";
import type { McpCall } from "../mcp-call.ts";
import type { Era } from "../registry/mcp-state.ts";
import { directRoute, type Route, relay } from "../relay.ts";
import { upstreamError } from "../upstream.ts";
import { NoLegacyServerError } from "./legacy-session.ts";
import { toListeningRoute } from "./listening.ts";
import { isLegacyMisfit, isModernMisfit } from "./misfit.ts";
import { toSseRoute } from "./sse-upstream.ts";
import { toLegacyRoute, toPooledRoute } from "./to-legacy.ts";
import { toModernRoute } from "./to-modern.ts";

/** How a call reaches a server that speaks the other revisions only. */
function bridgeOf(call: McpCall): { call: McpCall; route: Route } {
  if (call.era === "legacy") return toModernRoute(call);
  return call.message.method === "subscriptions/listen" ? toListeningRoute(call) : toLegacyRoute(call);
}

function otherEra(era: Era): Era {
  return era === "legacy" ? "modern" : "legacy";
}

function refuse(): never {
  throw upstreamError(502, "Cannot use the answer of the server: it speaks no protocol version that the gateway has");
}

/** Sends a call by a route that translates. */
async function deliverBridged({ call, route }: { call: McpCall; route: Route }, era: Era): Promise<Reply> {
  const { mcp } = call.context.log;
  if (mcp) mcp.bridged_to = era;
  return (await relay(call, route)) ?? refuse();
}

/** Sends a call as it is; undefined where the server does not speak its era, which is remembered. */
async function deliverDirectly(call: McpCall): Promise<Reply | undefined> {
  const { unspoken } = call.context.services.mcp;
  const isMisfit = call.era === "modern" ? isModernMisfit : isLegacyMisfit;
  const reply = await relay(call, { ...directRoute, isMisfit });
  if (!reply) unspoken.add(call.server, call.era);
  return reply;
}

/**
 * Brings a call to its server and the answer back: in the caller's revision where the server speaks it, else translated.
 *
 * @throws {GatewayError} 502 or 504 if the server gives no answer.
 */
export async function deliver(call: McpCall): Promise<Reply> {
  const { server, era, context } = call;
  const { unspoken } = context.services.mcp;
  if (server.transport === "sse") return deliverBridged(toSseRoute(call), "legacy");
  const isKnown = unspoken.has(server, era);
  const direct = isKnown ? undefined : await deliverDirectly(call);
  if (direct) return direct;
  const other = otherEra(era);
  if (!isKnown && unspoken.has(server, other)) refuse();
  try {
    return await deliverBridged(bridgeOf(call), other);
  } catch (error) {
    if (!(error instanceof NoLegacyServerError) || !isKnown) throw error;
    // the server was updated meanwhile
    unspoken.delete(server, era);
    unspoken.add(server, other);
    return (await deliverDirectly(call)) ?? refuse();
  }
}

/**
 * As `deliver`, for callers that cannot have a session at the server: those of a server that joins it.
 *
 * @throws {GatewayError} 502 or 504 if the server gives no answer.
 */
export async function deliverWithoutSession(call: McpCall): Promise<Reply> {
  const { server, era, context } = call;
  if (era === "modern" || server.transport === "sse") return deliver(call);
  const { unspoken } = context.services.mcp;
  if (!unspoken.has(server, "modern")) {
    const bridge = toModernRoute(call);
    const reply = await relay(bridge.call, { ...bridge.route, isMisfit: isModernMisfit });
    if (reply) return reply;
    unspoken.add(server, "modern");
  }
  return deliverBridged(toPooledRoute(call), "legacy");
}
