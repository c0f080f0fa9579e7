import { existsSync, openSync, readSync } from "node:fs";

/** A time in which the event loop did not turn, in milliseconds. */
export interface LoopPause {
  /** All of it. */
  readonly ms: number;
  /** Without the time in which the thread waited for a processor, which other programs had. */
  readonly ownMs: number;
  /** Of that, the time in which it used the processor. */
  readonly busyMs: number;
}

const noPause: LoopPause = { ms: 0, ownMs: 0, busyMs: 0 };

/** Reads how long the main thread has used the processor and waited for it; zeros where the kernel does not say. */
function createScheduleReader(): () => { usedMs: number; waitedMs: number } {
  const path = "/proc/self/schedstat";
  if (!existsSync(path)) return () => ({ usedMs: 0, waitedMs: 0 });
  const file = openSync(path, "r");
  const bytes = Buffer.alloc(128);
  return () => {
    const [used = "0", waited = "0"] = bytes
      .toString("latin1", 0, readSync(file, bytes, 0, bytes.length, 0))
      .split(" ");
    return { usedMs: Number(used) / 1e6, waitedMs: Number(waited) / 1e6 };
  };
}

/** Watches the event loop of the main thread with a timer of a millisecond. */
export function watchLoop(): { take(): LoopPause; stop(): void } {
  const read = createScheduleReader();
  let [last, schedule, longest] = [performance.now(), read(), noPause];
  const timer = setInterval(() => {
    const [now, current] = [performance.now(), read()];
    const ms = Math.max(0, now - last - 1);
    const ownMs = Math.max(0, ms - (current.waitedMs - schedule.waitedMs));
    if (ownMs > longest.ownMs) longest = { ms, ownMs, busyMs: current.usedMs - schedule.usedMs };
    [last, schedule] = [now, current];
  }, 1);
  return {
    /** The longest since the last call. */
    take() {
      const taken = longest;
      longest = noPause;
      return taken;
    },
    stop: () => clearInterval(timer),
  };
}

/** A pause as text. */
export function showPause({ ms, ownMs, busyMs }: LoopPause): string {
  return `${ownMs.toFixed(1)} ms (${busyMs.toFixed(1)} ms of CPU; ${ms.toFixed(1)} ms with the time that other programs had the processor)`;
}
