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

/** A guardrail as defaults name it. */
export interface GuardrailReference {
  id: string;
  slug: string;
}

/** Guardrails there are. */
export const noGuardrails: readonly GuardrailReference[] = [];

/**
 * Ids of the guardrails a body names by id or slug.
 *
 * @param known Guardrails the record may use.
 * @throws {NotFoundError} AB02, naming the entry that is not there.
 */
export function requireGuardrails(
  names: readonly string[],
  known: readonly GuardrailReference[],
  param: string,
): string[] {
  const ids = names.map((name, index) => {
    const found = known.find(({ id }) => id === name) ?? known.find(({ slug }) => slug === name);
    return requireReferenced(found, `${param}.${index}`).id;
  });
  return [...new Set(ids)];
}
