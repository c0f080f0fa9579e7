import type { CallerContext } from "../../context.ts";

/** Keys of the user behind a call, revoked ones included, and the entry for their tokens. */
export async function ownKeys({ principal, services: { control } }: CallerContext): Promise<ReadonlySet<string>> {
  const { organisationId, workspaceId, userId, keyId } = principal;
  const rows = await control.stores.apiKeys.all({ organisationId, workspaceId }, { where: { userId } });
  return new Set([keyId, ...rows.map(({ id }) => id)]);
}
