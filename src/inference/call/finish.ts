import { releaseBodies } from "../../context/held-bodies.ts";
import type { CallerContext, FinishedCall } from "../../context.ts";
import { costOfRequest, withSpent } from "./cost.ts";

/** Ends a request, once: what it held is given back, its cost is known, and every sink hears of it. */
export function finishCall(
  context: CallerContext,
  outcome: Pick<FinishedCall, "error" | "responseHeaders" | "status">,
): void {
  const { log, services } = context;
  if (log.settled) return;
  log.settled = true;
  releaseBodies(context);
  log.cost = withSpent(costOfRequest(log, outcome.status, services.providers), log);
  const call: FinishedCall = { context, ...outcome, endedAt: services.clock.monotonic() };
  for (const sink of services.sinks) sink(call);
}

/** Tells the gateway's own work how its request ended. */
export function tellConnection({ context: { connection, log }, status }: FinishedCall): void {
  connection.onSettled?.({ status, cost: log.cost, prices: log.prices });
}
