import type { CallerContext } from "../../context.ts";
import { ClientClosedError, TimeoutError } from "../../errors.ts";

/** Microtasks in which guardrails that wait for nothing are done. */
const quickTurns = 64;

/** Whether work is done before anything else can happen: most is, and needs neither timer nor listener. */
async function isQuick(work: Promise<unknown>): Promise<boolean> {
  let isDone = false;
  const note = () => {
    isDone = true;
  };
  work.then(note, note);
  for (let turn = 0; turn < quickTurns && !isDone; turn++) await undefined;
  return isDone;
}

/**
 * Waits for guardrails at most until the request ends.
 *
 * @param deadline Monotonic time in milliseconds at which the whole request ends.
 * @throws {TimeoutError} At the deadline.
 * @throws {ClientClosedError} When the caller leaves.
 */
export async function withinRequest<Value>(
  work: Promise<Value>,
  deadline: number | undefined,
  { request, services: { clock, timers } }: CallerContext,
): Promise<Value> {
  const { signal } = request;
  if (!signal.aborted && (await isQuick(work))) return work;
  const { promise: ended, reject } = Promise.withResolvers<never>();
  const leave = () => {
    reject(new ClientClosedError("Cannot respond: the caller disconnected", { code: "client_closed" }));
  };
  if (signal.aborted) leave();
  else signal.addEventListener("abort", leave, { once: true });
  const expire = () => {
    reject(new TimeoutError("Request exceeded the timeout of the whole request", { code: "request_timeout" }));
  };
  const stop = deadline === undefined ? undefined : timers.start(deadline - clock.monotonic(), expire);
  try {
    return await Promise.race([work, ended]);
  } finally {
    stop?.();
    signal.removeEventListener("abort", leave);
  }
}
