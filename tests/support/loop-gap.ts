/** Milliseconds the event loop was held at most while something ran, and its result. */
async function measureOnce<Result>(run: () => Promise<Result>): Promise<{ gapMs: number; result: Result }> {
  let gapMs = 0;
  let last = performance.now();
  let isOver = false;
  const tick = () => {
    const now = performance.now();
    gapMs = Math.max(gapMs, now - last);
    last = now;
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

/**
 * How long the event loop is held while something runs: the least of up to three runs, since what else a machine does only
 * makes it longer.
 *
 * @param enough Measured at most so often as to find less than this.
 */
export async function measureGap<Result>(
  run: () => Promise<Result>,
  enough: number,
): Promise<{ gapMs: number; result: Result }> {
  let best = await measureOnce(run);
  for (let round = 0; round < 2 && best.gapMs >= enough; round++) {
    const next = await measureOnce(run);
    if (next.gapMs < best.gapMs) best = next;
  }
  return best;
}
