import type { AdminCall } from "../core/endpoint.ts";
import { isRecordId } from "../core/request.ts";

/** Most keys between a key and the user behind it. */
const maxSteps = 16;

/**
 * The user who created a key, directly or through keys of services. The audit log says who created a key; the key of
 * the first start is the owner's.
 *
 * @returns Null if there is no such user, and for ids that are not a key's.
 */
export async function findCreator({ stores, tenant }: AdminCall<unknown>, keyId: string): Promise<string | null> {
  const organisation = { organisationId: tenant.organisationId, workspaceId: null };
  let id = keyId;
  for (let step = 0; step < maxSteps && isRecordId(id); step++) {
    const where = { resourceType: "api_keys", resourceId: id, action: "create", responseStatusCode: 200 };
    const made = await stores.audit.rows.find(organisation, where);
    if (made === undefined) {
      const owner = await stores.users.find(organisation, { role: "owner", status: "active" });
      return owner?.id ?? null;
    }
    if (made.userType === "user") return made.userId;
    id = made.userId;
  }
  return null;
}
