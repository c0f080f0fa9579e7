import type { AdminCall } from "../core/endpoint.ts";
import { isRecordId } from "../core/request.ts";

/** Most keys between a key and the person behind it. */
const maxSteps = 16;

/**
 * The person who made a key, directly or by keys of services. The audit log says who it was; a key of the first start is
 * the owner's.
 *
 * @returns Null where nobody can be found, and for what is no key.
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
