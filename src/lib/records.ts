/** Rows by a text each of them has, in their order. */
export function groupBy<Row>(rows: readonly Row[], keyOf: (row: Row) => string): Map<string, Row[]> {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group) group.push(row);
    else groups.set(keyOf(row), [row]);
  }
  return groups;
}

/** Records by slug and by id; a slug that looks like another's id loses. */
export function byName<Record extends { row: { id: string; slug: string } }>(
  records: readonly Record[],
): Map<string, Record> {
  return new Map([
    ...records.map((record): [string, Record] => [record.row.slug, record]),
    ...records.map((record): [string, Record] => [record.row.id, record]),
  ]);
}

/** A function that gives its last result again while its arguments are the same values. */
export function reuseLast<Arguments extends readonly unknown[], Result>(
  compute: (...values: Arguments) => Result,
): (...values: Arguments) => Result {
  let last: { values: Arguments; result: Result } | undefined;
  return (...values) => {
    if (last?.values.every((value, index) => value === values[index])) return last.result;
    last = { values, result: compute(...values) };
    return last.result;
  };
}
