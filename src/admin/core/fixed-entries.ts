import type { Page } from "./request.ts";

/**
 * A page of a list that ends with built-in entries, which are not in the database.
 *
 * @param page Absent: all of them.
 * @param read Reads a page of the stored rows.
 * @param fixed The entries after them.
 */
export async function listWithFixed<Row>(
  page: Page | undefined,
  fixed: readonly Row[],
  read: (page: Page | undefined) => Promise<{ rows: Row[]; total: number }>,
): Promise<{ rows: Row[]; total: number }> {
  const { rows, total } = await read(page);
  const { offset, limit } = page ?? { offset: 0, limit: total + fixed.length };
  const start = Math.max(0, offset - total);
  const more = fixed.slice(start, start + limit - rows.length);
  return { rows: [...rows, ...more], total: total + fixed.length };
}
