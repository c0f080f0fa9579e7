import type { ConfigRow } from "../db/tables/configs.ts";
import type { Tenant } from "../db/tenant-store.ts";
import type { AdminCall } from "./endpoint.ts";
import { requireReferenced } from "./request.ts";

/**
 * The saved config a body refers to by id or slug; it must be active and of the same workspace.
 *
 * @throws {NotFoundError} AB02, naming the member.
 */
export async function requireConfig(
  { stores }: AdminCall<unknown>,
  tenant: Tenant & { workspaceId: string },
  reference: { name: string; param: string },
): Promise<ConfigRow> {
  const row = await stores.configs.get(tenant, reference.name);
  return requireReferenced(row?.status === "active" ? row : undefined, reference.param);
}
