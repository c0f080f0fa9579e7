import { numberAt, stringAt } from "./conditions.ts";
import type { FieldName, NumberFieldName, StringFieldName } from "./fields.ts";
import { createPause, matchView, type RowQuery } from "./find-rows.ts";
import type { IndexScope, LogIndex } from "./log-index.ts";

/** The row that is visited: its fields, of those that were asked for. */
export interface VisitedRow {
  /** NaN where the row has none. */
  number(field: NumberFieldName): number;
  /** Null where the row has none. */
  text(field: StringFieldName): string | null;
}

/** Visits all rows of a scope that are wanted, in no particular order. The object it passes is the same for each row. */
export async function scanRows(
  index: LogIndex,
  scope: IndexScope,
  { fields, ...query }: RowQuery & { fields: readonly FieldName[] },
  visit: (row: VisitedRow) => void,
): Promise<void> {
  const pause = createPause();
  for (const view of await index.views(scope)) {
    for await (const { rows, columnOf } of matchView(view, query, fields)) {
      let current = 0;
      const row: VisitedRow = {
        number(field) {
          const column = columnOf(field);
          return column.kind === "numbers" ? numberAt(column, current) : Number.NaN;
        },
        text(field) {
          const column = columnOf(field);
          return column.kind === "strings" ? stringAt(column, current) : null;
        },
      };
      for (const found of rows) {
        current = found;
        visit(row);
      }
      const wait = pause();
      if (wait) await wait;
    }
  }
}
