/**
 * Maps items in order, with at most `limit` concurrent calls. After a failure no further call starts, and running ones
 * are awaited: nothing continues after this function.
 *
 * @throws The first failure.
 */
export async function mapParallel<Item, Made>(
  items: readonly Item[],
  limit: number,
  work: (item: Item) => Promise<Made>,
): Promise<Made[]> {
  const made: Made[] = [];
  const failures: unknown[] = [];
  // a shared iterator: each item is taken once
  const waiting = items.entries();
  const run = async () => {
    for (const [index, item] of waiting) {
      try {
        made[index] = await work(item);
      } catch (error) {
        failures.push(error);
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, run));
  if (failures.length > 0) throw failures[0];
  return made;
}
