import type { CallerContext } from "../context.ts";
import { InvalidRequestError } from "../errors.ts";
import type { AppliedLimit } from "../policies/applied.ts";
import type { Claim } from "../policies/limit-store.ts";
import type { QueueOutcome, Wait } from "../policies/queue/limit-queues.ts";
import { type Priority, priorities, type WaitLog } from "../schemas/queues.ts";
import { findCallerNow } from "./caller-now.ts";

/** What a request asks of limits of which one lets it wait. */
interface TurnRequest {
  readonly applied: readonly AppliedLimit[];
  readonly claims: readonly Claim[];
  /** Characters of what it holds meanwhile, where that is not counted as memory of bodies. */
  readonly length: number;
  /** Ends its wait. */
  readonly signal: AbortSignal;
}

/** Header by which a caller chooses a class. */
const header = "priority";

/**
 * The class of a request: that of its key, or a lower one that it asks for. Copies of requests and checks have the lowest.
 *
 * @throws {InvalidRequestError} 400 `invalid_header`.
 */
function priorityOf({ principal, header: read, connection }: CallerContext): Priority {
  const { priority = "normal" } = principal;
  const highest = connection.apart ? "low" : priority;
  const asked = read(header);
  if (asked === null) return highest;
  const names: readonly string[] = priorities;
  const index = names.indexOf(asked);
  if (index >= 0) return priorities[Math.max(index, names.indexOf(highest))] ?? highest;
  throw new InvalidRequestError(`Cannot use x-gateway-${header}: it must be one of ${priorities.join(", ")}`, {
    code: "invalid_header",
    param: `x-gateway-${header}`,
  });
}

function toWaitLog({ limit, ms, ...wait }: Wait): WaitLog {
  return { ...wait, limit: limit.holder, wait_ms: ms };
}

/** Whether the credential of a request that waited is still valid. @throws {GatewayError} If it is not. */
async function requireCaller(context: CallerContext): Promise<void> {
  if (!context.connection.actingFor) await findCallerNow(context);
}

/**
 * Books what a request may use, and waits where a limit with a queue has no room. Its row gets the waits.
 *
 * @throws {GatewayError} If its credential is no longer valid after a wait, or the gateway stops.
 */
export async function reserveInTurn(asked: TurnRequest, context: CallerContext): Promise<QueueOutcome> {
  const { log, hold, services } = context;
  const { applied, claims, length, signal } = asked;
  const waits: Wait[] = [];
  const request = { applied, claims, signal, waits, priority: priorityOf(context), bytes: hold?.bytes ?? length };
  try {
    const outcome = await services.limitQueues.reserve(request);
    if (waits.length === 0 || "claim" in outcome) return outcome;
    await requireCaller(context).catch((error: unknown) => {
      outcome.release();
      throw error;
    });
    return outcome;
  } finally {
    if (waits.length > 0) log.waits = [...(log.waits ?? []), ...waits.map(toWaitLog)];
  }
}
