import type { CallerContext } from "../../context.ts";
import { LogBusyError } from "../../errors.ts";

/** Seconds after which a refused request may be sent again. */
const againAfterSeconds = 5;

/**
 * Refuses a request whose log row might be lost, because rows come faster than they can be stored. Those that count in
 * limits are refused first: what they use is stored with their rows.
 *
 * @throws {LogBusyError} 503.
 */
export function requireLogRoom({ services, log }: CallerContext, isLimited: boolean): void {
  const load = services.logRoom.load();
  // what a provider was called for already has a row in any case
  const isFull = load === "all" || (load === "limited" && isLimited);
  if (!isFull || log.calls.length > 0) return;
  throw new LogBusyError("Cannot serve this request now: too many log rows wait to be stored; repeat it later", {
    code: "log_rows_waiting",
    retryAfterSeconds: againAfterSeconds,
  });
}
