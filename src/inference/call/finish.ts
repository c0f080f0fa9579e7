import { releaseBodies } from "../../context/held-bodies.ts";
import type { CallerContext, FinishedCall } from "../../context.ts";
import { noteCost } from "./cost.ts";

/** Ends a request, once: releases what it reserved, computes its cost, and informs every sink. */
export function finishCall(
  context: CallerContext,
  outcome: Pick<FinishedCall, "error" | "responseHeaders" | "status">,
): void {
  const { log, services } = context;
  if (log.settled) return;
  log.settled = true;
  releaseBodies(context);
  noteCost(context, outcome.status);
  const call: FinishedCall = { context, ...outcome, endedAt: services.clock.monotonic() };
  for (const sink of services.sinks) sink(call);
}

/** Reports the end of a request to the gateway's internal caller. */
export function reportToConnection({ context: { connection, log }, status }: FinishedCall): void {
  connection.onSettled?.({ status, cost: log.cost, prices: log.prices });
}
