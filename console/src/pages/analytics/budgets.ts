import { useQuery } from "@tanstack/react-query";
import { type AnswerOf, get } from "@/api/client.ts";
import { useSession } from "@/session/context.tsx";
import { useWorkspace } from "@/session/workspace.tsx";
import type { Figure } from "./series.ts";

type Policy = AnswerOf<"GET /v1/policies/usage-limits">["data"][number];

/** Types of budgets by the figures that they bound. */
const typeOf: Readonly<Partial<Record<Figure, Policy["type"]>>> = {
  cost: "cost",
  total_tokens: "tokens",
  requests: "requests",
};

const wholeKeys = new Set(["workspace_id", "organisation_id"]);

/** Whether all requests of the workspace count for one budget. */
const isOfAll = ({ conditions, group_by: groups }: Policy): boolean =>
  [...conditions, ...groups].every(({ key }) => wholeKeys.has(key));

/** Monthly budgets of all requests of the workspace in view, in the unit of a figure: cents for cost. */
export function useBudgets(figure: Figure, isWanted: boolean): readonly (readonly [name: string, limit: number])[] {
  const { can } = useSession();
  const { current, choosable } = useWorkspace();
  const type = typeOf[figure];
  const query = { page_size: 100, status: "active", ...(choosable && { workspace_id: current?.id }) };
  const { data } = useQuery({
    queryKey: ["usage-limits", "analytics", query],
    enabled: isWanted && type !== undefined && current !== undefined && can("GET /v1/policies/usage-limits"),
    queryFn: async ({ signal }) => (await get("/v1/policies/usage-limits", { query, signal })).data,
  });
  if (!isWanted || data === undefined) return [];
  return data
    .filter((policy) => policy.type === type && policy.periodic_reset === "monthly" && isOfAll(policy))
    .map(({ name, credit_limit: limit }) => [name ?? "", figure === "cost" ? limit * 100 : limit]);
}
