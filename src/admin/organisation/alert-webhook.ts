import { maskSecret } from "../../auth/api-key.ts";
import { minSecretLength, webhookFields, webhookSecretKind } from "../../control/alerts/webhook.ts";
import { toRecord } from "../../control/settings.ts";
import type { Statement } from "../../db/client.ts";
import type { OrganisationRow } from "../../db/tables/tenants.ts";
import type { AddressGuard } from "../../lib/address.ts";
import type { UpdateOrganisation } from "../../schemas/organisations.ts";
import { maskAddress, requireSecureUrl } from "../core/addresses.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { refuseField } from "../core/request.ts";

type Field = (typeof webhookFields)[number];

/**
 * The mask of a new value.
 *
 * @param param Where the body has it.
 * @throws {InvalidRequestError} AB01
 */
function requireMask(field: Field, { value, param }: { value: string; param: string }, guard: AddressGuard): string {
  if (value.includes("*****")) refuseField(param, "is masked: send the whole value, or leave the field out");
  if (field === "alert_webhook") {
    requireSecureUrl(param, guard, () => guard.checkTarget(value));
    return maskAddress(value);
  }
  if (value.length < minSecretLength) refuseField(param, `must have at least ${minSecretLength} characters`);
  return maskSecret(value);
}

/** What a body says about a field: at the top level, else under `settings`. */
function readGiven(body: UpdateOrganisation, field: Field) {
  if (body[field] !== undefined) return { value: body[field], param: field };
  return { value: body.settings?.[field], param: `settings.${field}` };
}

/**
 * The webhook settings in a body: as they are stored in clear, which is masked, and the statements that store them sealed.
 * A mask that is sent back changes nothing.
 *
 * @throws {InvalidRequestError} AB01 for an address that may not be called, or a short secret.
 */
export async function readAlertWebhook(
  call: AdminCall<UpdateOrganisation>,
  row: OrganisationRow,
): Promise<{ masked: Partial<Record<Field, string | null>>; statements: Statement[] }> {
  const { body, stores, now, context } = call;
  const { addressGuard, control } = context.services;
  const tenant = { organisationId: row.id, workspaceId: null };
  const stored = toRecord(row.settings);
  const masked: Partial<Record<Field, string | null>> = {};
  const statements: Statement[] = [];
  for (const field of webhookFields) {
    const { value, param } = readGiven(body, field);
    if (value === undefined || value === stored[field]) continue;
    masked[field] = value === null ? null : requireMask(field, { value, param }, addressGuard);
    const place = { kind: webhookSecretKind, recordId: row.id, field };
    statements.push(stores.secrets.remove(tenant, place));
    if (value !== null)
      statements.push(stores.secrets.insert(tenant, await control.vault.seal({ ...tenant, ...place }, value, now)));
  }
  return { masked, statements };
}
