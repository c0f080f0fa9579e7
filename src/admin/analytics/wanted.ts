import { readFigureAccess, requireSeenFields } from "../../endpoint/log-access.ts";
import type { FieldName } from "../../logs/index/fields.ts";
import type { IdRange } from "../../logs/index/find-rows.ts";
import type { WantedRows } from "../../logs/read/log-reader.ts";
import { type RowChoice, readScope } from "../core/row-filters.ts";
import type { AnalyticsCall } from "./filters.ts";

/** What a call needs besides the requests it names. */
interface Needs {
  /** Fields that the figures reveal something of. */
  readonly fields: readonly FieldName[];
  readonly widest?: "workspace" | "organisation";
  /** What the caller may see, where it is known. */
  readonly access?: Awaited<ReturnType<typeof readFigureAccess>>;
}

/**
 * The rows that a call is about, of those that its caller may see.
 *
 * @throws {InvalidRequestError} AB01, naming the parameter.
 */
export async function findWanted(
  call: AnalyticsCall,
  { conditions, ...range }: RowChoice & IdRange,
  { fields, widest = "workspace", access }: Needs,
): Promise<WantedRows> {
  const { organisationId, workspaceId } = await readScope(call, widest);
  const { own, denied } = access ?? (await readFigureAccess(call.context));
  requireSeenFields([...conditions.map(({ field }) => field), ...fields], denied);
  return { ...range, scope: { organisationId, workspaceId }, conditions: [...conditions, ...own] };
}
