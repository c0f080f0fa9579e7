// Calls whose providers do not report what they used: their tokens are estimated when the request ends, so that nobody
// waits for it.

import type { CallRecord } from "../../context/call-record.ts";
import type { CallerContext, RunningStream, Services } from "../../context.ts";
import { addUsage, noTokens } from "../../logs/usage.ts";
import type { LoggedUsage } from "../../schemas/logs.ts";
import { costOfRequest } from "./cost.ts";
import { estimateMissing, type MissingTokens } from "./estimate-usage.ts";

function isMissing({ input, output }: MissingTokens): boolean {
  return input + output > 0;
}

/** The tokens as a usage. */
function toUsage({ input, output }: MissingTokens): LoggedUsage {
  return { ...noTokens, input_tokens: input, output_tokens: output, total_tokens: input + output };
}

/** Adds what is missing to the counts of a response. */
async function addMissing(log: CallRecord, services: Pick<Services, "countTokens">): Promise<void> {
  const { uncounted } = log;
  log.uncounted = [];
  const found = await Promise.all(uncounted.map((call) => estimateMissing(call, services.countTokens)));
  const missing = found.filter(isMissing);
  if (missing.length === 0) return;
  const usages = missing.map(toUsage);
  // several calls: the length of each prompt decides its own price
  if (log.parts || uncounted.length > 1) log.parts = [...(log.parts ?? (log.usage ? [log.usage] : [])), ...usages];
  log.usage = usages.reduce<LoggedUsage | null>(addUsage, log.usage);
  log.isEstimated = true;
}

/** Adds what was discarded, once its tokens are known. */
async function addDiscarded(discarded: CallRecord, context: CallerContext): Promise<void> {
  const { log, services } = context;
  await addMissing(discarded, services);
  const { cost } = costOfRequest({ ...context, log: discarded }, 200);
  if (cost === null) services.unpriced.note(discarded.provider ?? "", discarded.model ?? discarded.answeredModel);
  log.spent += cost ?? 0;
  log.spentTokens += discarded.usage?.total_tokens ?? 0;
  log.isEstimated ||= discarded.isEstimated;
}

/** Estimates what providers did not report of a request. */
export async function countMissing(context: CallerContext): Promise<void> {
  const { log, services } = context;
  const { uncountedDiscards } = log;
  log.uncountedDiscards = [];
  // the gateway's drain waits for it as for a stream
  const running: RunningStream = { tick() {}, end() {} };
  services.streams.add(running);
  try {
    for (const discarded of uncountedDiscards) await addDiscarded(discarded, context);
    await addMissing(log, services);
  } finally {
    services.streams.delete(running);
  }
}
