/**
 * Resolves as `work` does, or rejects after a time.
 *
 * @param message What the rejection says.
 */
export async function within<Value>(withinMs: number, work: Promise<Value>, message: string): Promise<Value> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    const giveUp = () => reject(new Error(`${message} within ${Math.round(withinMs)} ms`));
    // what came while this process was busy is read before the second timer
    timer = setTimeout(() => {
      timer = setTimeout(giveUp, 1);
    }, withinMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
