import type { FieldName } from "./fields.ts";
import { matchView, type RowQuery } from "./find-rows.ts";
import type { IndexScope, LogIndex } from "./log-index.ts";
import { type RowBlock, toBlock } from "./row-block.ts";

/** Which rows are visited, and what of them. */
interface ScanQuery extends RowQuery {
  readonly fields: readonly FieldName[];
}

/** Visits all wanted rows of a scope, many at a time and in no particular order. Lets other requests run in between. */
export async function scanRows(
  index: LogIndex,
  scope: IndexScope,
  { fields, ...query }: ScanQuery,
  visit: (block: RowBlock) => void,
): Promise<void> {
  const pause = index.createPause();
  for (const view of await index.views(scope)) {
    for await (const { rows, columnOf } of matchView(view, query, fields)) {
      visit(toBlock(rows, columnOf));
      await pause();
    }
  }
}
