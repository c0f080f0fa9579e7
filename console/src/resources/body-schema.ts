import { useQuery } from "@tanstack/react-query";
import type { ApiRow } from "@/api/client.ts";
import type { JsonObject } from "@/lib/json.ts";

/** The JSON schema of the body of a row; it is loaded when it is first needed. */
export async function readBodySchema(row: ApiRow): Promise<JsonObject> {
  return (await import("@/api/bodies.gen.ts")).bodies[row] ?? {};
}

/** The same for a page; undefined until it is loaded. */
export function useBodySchema(row: ApiRow): JsonObject | undefined {
  const { data } = useQuery({
    queryKey: ["schema", row],
    queryFn: () => readBodySchema(row),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return data;
}
