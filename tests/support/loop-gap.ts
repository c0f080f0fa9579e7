/** Processor time of this thread so far, in milliseconds. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * Longest time the event loop was blocked during a run, and its result. The lesser of wall clock time and processor time
 * counts: the former includes other programs, and the latter is counted in steps of up to ten milliseconds.
 */
async function measureOnce<Result>(run: () => Promise<Result>): Promise<{ gapMs: number; result: Result }> {
  let gapMs = 0;
  let last = performance.now();
  let lastCpu = cpuMs();
  let isOver = false;
  const tick = () => {
    const now = performance.now();
    const cpu = cpuMs();
    gapMs = Math.max(gapMs, Math.min(now - last, cpu - lastCpu));
    [last, lastCpu] = [now, cpu];
    if (!isOver) setTimeout(tick, 0);
  };
  setTimeout(tick, 0);
  await new Promise((resolve) => setTimeout(resolve, 5));
  gapMs = 0;
  const result = await run();
  isOver = true;
  tick();
  return { gapMs, result };
}

/** Most runs of one measurement. */
const mostRuns = 10;

/**
 * How long the event loop is blocked during a run: the least of up to ten runs, since other programs only make it
 * longer.
 *
 * @param enough No further run once a time below this is measured.
 */
export async function measureGap<Result>(
  run: () => Promise<Result>,
  enough: number,
): Promise<{ gapMs: number; result: Result }> {
  let best = await measureOnce(run);
  for (let round = 1; round < mostRuns && best.gapMs >= enough; round++) {
    const next = await measureOnce(run);
    if (next.gapMs < best.gapMs) best = next;
  }
  return best;
}
