/** What a store refused. */
interface RefusedRow<Row> {
  readonly row: Row;
  readonly error: unknown;
}

/**
 * Writes rows together. If the store rejects them for good, each is written by itself, so that one does not hold up the
 * others.
 *
 * @param write Stores rows, all or none; those that are stored already stay as they are.
 * @param isPermanent Whether an error means that the rows can never be stored.
 * @returns The rows that are rejected by themselves.
 * @throws The error of a write that may be repeated.
 */
export async function writeApart<Row>(
  rows: readonly Row[],
  write: (rows: readonly Row[]) => Promise<void>,
  isPermanent: (error: unknown) => boolean,
): Promise<RefusedRow<Row>[]> {
  try {
    await write(rows);
    return [];
  } catch (error) {
    if (!isPermanent(error)) throw error;
    const [row, ...others] = rows;
    if (row !== undefined && others.length === 0) return [{ row, error }];
  }
  const refused: RefusedRow<Row>[] = [];
  for (const row of rows) refused.push(...(await writeApart([row], write, isPermanent)));
  return refused;
}
