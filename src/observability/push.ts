import { startTimer } from "../lib/clock.ts";
import type { Outbound } from "../lib/outbound.ts";
import { expositionType } from "./exposition.ts";
import type { PushSettings } from "./settings.ts";

const timeoutMs = 10_000;

/** What pushing needs. */
interface PushParts {
  outbound: Outbound;
  /** Distinguishes processes with the same job. */
  instance: string;
  toText(): Promise<string>;
  /** Called once for each series of failures. */
  warn(message: string, error: unknown): void;
}

/** Pushes metrics to a server that collects them. */
interface MetricsPush {
  /** Pushes a last time. */
  close(): Promise<void>;
}

/** Starts to push all metrics in regular intervals. */
export function startMetricsPush({ url, authorization, everyMs, job }: PushSettings, parts: PushParts): MetricsPush {
  const { outbound, instance, toText, warn } = parts;
  const address = `${url.replace(/\/+$/, "")}/metrics/job/${encodeURIComponent(job)}/instance/${encodeURIComponent(instance)}`;
  let running: Promise<void> | undefined;
  let isFailing = false;

  const send = async () => {
    const late = new AbortController();
    const cancel = startTimer(timeoutMs, () => late.abort(new Error("the server did not respond in time")));
    try {
      const headers = { "content-type": expositionType, authorization };
      const body = await toText();
      // the operator named the address
      const response = await outbound(address, { method: "PUT", origin: "fixed", headers, body, signal: late.signal });
      response.body?.cancel().catch(() => {});
      if (!response.ok) throw new Error(`the server responded with ${response.status}`);
      isFailing = false;
    } catch (error) {
      if (!isFailing) warn("Cannot push metrics", late.signal.aborted ? late.signal.reason : error);
      isFailing = true;
    } finally {
      cancel();
    }
  };
  const push = (): Promise<void> => {
    running ??= send().finally(() => {
      running = undefined;
    });
    return running;
  };
  const timer = setInterval(push, everyMs);
  return {
    async close() {
      clearInterval(timer);
      await running;
      await push();
    },
  };
}
