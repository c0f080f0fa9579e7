/** Waits until something holds that takes its time. Rejects with what was waited for. */
export async function eventually(what: string, holds: () => Promise<boolean>, withinMs = 20_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`Waited ${withinMs} ms for this: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
