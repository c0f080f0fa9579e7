import type { Page } from "./request.ts";

/**
 * A page of a list that ends with built-in entries, which are not in the database.
 *
 * @param read Reads a page of the stored rows.
 * @param fixed The entries after them.
 */
export async function listWithFixed<Row>(
  page: Page,
  fixed: readonly Row[],
  read: (page: Page) => Promise<{ rows: Row[]; total: number }>,
): Promise<{ rows: Row[]; total: number }> {
  const { rows, total } = await read(page);
  const start = Math.max(0, page.offset - total);
  const more = fixed.slice(start, start + page.limit - rows.length);
  return { rows: [...rows, ...more], total: total + fixed.length };
}
