import { type Answer, get, type PathOf } from "@/api/client.ts";
import type { Of } from "@/components/attribute.ts";
import type { RowIn } from "@/resources/types.ts";

/** Routes that group requests by a value they share. */
type GroupRoute = Extract<PathOf<"get">, `/v1/analytics/groups/${string}`>;

/** Figures of a group, whatever it is grouped by. */
export type Group = Omit<RowIn<Answer<"/v1/analytics/groups/model", "get">>, "model">;

/** What requests are grouped by. */
export interface GroupSource {
  readonly route: GroupRoute;
  /** Key of the metadata, where its values are the groups. */
  readonly key?: string;
  /** Member that holds the group's value. */
  readonly value: string;
  readonly of: Of<object, string>;
}

/** Groups of a route, by the member that holds their value. */
export function groupsOf<R extends GroupRoute>(
  route: R,
  value: keyof RowIn<Answer<R, "get">> & string,
  key?: string,
): GroupSource {
  const of = (row: RowIn<Answer<R, "get">>) => String(row[value] ?? "");
  return { route, value, of, ...(key !== undefined && { key }) };
}

interface GroupAnswer {
  readonly data: readonly Group[];
  readonly total?: number;
}

/** Reads the groups. */
export function readGroups(
  { route, key = "" }: GroupSource,
  query: Readonly<Record<string, string | number | undefined>>,
  signal: AbortSignal,
): Promise<GroupAnswer> {
  return get(route, { path: { metadataKey: key }, query, signal });
}
