import type { CallerContext } from "../../context.ts";
import { ClientClosedError, TimeoutError } from "../../errors.ts";

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
