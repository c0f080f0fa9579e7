import type { CallerContext } from "../../context.ts";
import { GatewayError, LimitsUnavailableError } from "../../errors.ts";
import type { NamedModels } from "../../providers/core/model-names.ts";
import type { BoundProvider } from "../../providers/core/types.ts";
import { costOfRequest } from "../call/cost.ts";
import { admitSession, countUse, settleSession } from "../call/limits.ts";
import { logSessionPart } from "../call/log-sink.ts";
import type { SessionNotes } from "./realtime-notes.ts";
import { toErrorEvent } from "./session-errors.ts";
import type { RelayStop } from "./socket-relay.ts";

/** How often a session is settled. */
const settleEveryMs = 60_000;

/** Counts what a running session uses toward limits. */
export interface SessionMeter {
  /**
   * Settles the session if a minute has passed: stores what it used since, with a log row, and books its next minute.
   *
   * @param caller The session's caller as it is now.
   * @returns Why the session must end, if a limit is used up.
   */
  settle(caller: CallerContext): Promise<RelayStop | undefined>;
  /** Counts what was transcribed and has no row yet, with a separate row: another model did it. Never rejects. */
  settleTranscription(): Promise<void>;
}

function toStop(error: GatewayError): RelayStop {
  const isAway = error instanceof LimitsUnavailableError;
  const reason = isAway ? "limits cannot be checked" : `a limit is used up: ${error.code}`;
  return { event: toErrorEvent(error, null), close: { code: 1008, reason } };
}

/** Creates the meter of a session that was opened now. */
export function createSessionMeter(
  { provider, models }: { readonly provider: BoundProvider; readonly models: NamedModels },
  notes: SessionNotes,
  context: CallerContext,
): SessionMeter {
  const { log, services } = context;
  const call = { provider, listModels: () => models };
  let settledAt = services.clock.monotonic();

  /** Settles what was used; a part that adds to a counter leaves a row with the same increments. */
  const settlePart = () => {
    const part = { ...log, usage: notes.usage(), counted: [] };
    Object.assign(part, costOfRequest({ ...context, log: part }, 101));
    const { cost, usage } = part;
    const counted = settleSession(log, { cost: cost ?? 0, tokens: usage?.total_tokens ?? 0 });
    if (counted.length === 0) return;
    notes.forgetUsage();
    logSessionPart({ ...context, log: { ...part, counted: [...counted] } });
  };

  const settleTranscription = async () => {
    const use = notes.transcription();
    if (!use) return;
    notes.forgetTranscription();
    const { model, usage } = use;
    const part = { ...log, model, answeredModel: null, usage, parts: null, spent: 0, counted: [] };
    Object.assign(part, costOfRequest({ ...context, log: part }, 101));
    const used = { requests: 0, tokens: usage.total_tokens, cost: part.cost ?? 0 };
    // counters that cannot be reached lose it: a session does not wait for them
    const counted = await countUse(call, used, context).then(
      (counts) => counts.counted,
      () => [],
    );
    logSessionPart({ ...context, log: { ...part, counted: [...counted] } });
  };

  return {
    settleTranscription,
    async settle(caller) {
      const now = services.clock.monotonic();
      if (now - settledAt < settleEveryMs || log.settled) return undefined;
      settledAt = now;
      log.model ??= notes.model();
      settlePart();
      await settleTranscription();
      log.stored = caller.log.stored;
      try {
        await admitSession({ ...call, path: "" }, { ...caller, log });
        return undefined;
      } catch (error) {
        const isRefused =
          error instanceof LimitsUnavailableError || (error instanceof GatewayError && error.status < 500);
        return isRefused ? toStop(error) : undefined;
      }
    },
  };
}
