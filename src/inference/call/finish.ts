import { releaseBodies } from "../../context/held-bodies.ts";
import type { CallerContext, FinishedCall } from "../../context.ts";
import { noteCost } from "./cost.ts";
import { countMissing } from "./uncounted.ts";

/** How a request ended. */
type Outcome = Omit<FinishedCall, "context">;

/** Ends a request, once: releases what it reserved, computes its cost, and informs every sink. */
function finishCall(context: CallerContext, outcome: Outcome): void {
  const { log, services } = context;
  if (log.settled) return;
  log.settled = true;
  releaseBodies(context);
  noteCost(context, outcome.status);
  const call: FinishedCall = { context, ...outcome };
  for (const sink of services.sinks) if (sink.of === undefined || log[sink.of]) sink.receive(call);
}

/**
 * Ends a request: at once, or when the tokens that its providers did not report are estimated.
 *
 * @returns A promise only where the end is waited for: by a caller inside the gateway that reads the cost.
 */
export function finishCounted(context: CallerContext, outcome: Omit<Outcome, "endedAt">): Promise<void> | undefined {
  const ended = { ...outcome, endedAt: context.services.clock.monotonic() };
  const { settled, uncounted, uncountedDiscards } = context.log;
  const counting = !settled && uncounted.length + uncountedDiscards.length > 0 ? countMissing(context) : undefined;
  if (!counting) {
    finishCall(context, ended);
    return undefined;
  }
  const finished = counting.finally(() => finishCall(context, ended));
  return context.connection.onSettled ? finished : undefined;
}

/** Reports the end of a request to the gateway's internal caller. */
export function reportToConnection({ context: { connection, log }, status }: FinishedCall): void {
  connection.onSettled?.({ status, cost: log.cost, prices: log.prices });
}
