import * as v from "valibot";
import { maskSecret } from "../../auth/api-key.ts";
import { minSecretLength } from "../../control/alerts/webhook.ts";
import type { Vault } from "../../control/vault.ts";
import type { Statement } from "../../db/client.ts";
import type { ControlStores } from "../../db/stores/control.ts";
import type { AlertRuleRow } from "../../db/tables/alert-rules.ts";
import { parseJson } from "../../lib/json.ts";
import type { Destination, ShownDestination } from "../../schemas/alert-rules.ts";
import { maskAddress, requireSecureUrl } from "../core/addresses.ts";
import type { AdminCall } from "../core/endpoint.ts";
import { refuseField } from "../core/request.ts";

/** `kind` of the sealed destinations, and their field: addresses of Slack and Teams are secrets. */
const kind = "alert_rules";
const field = "destinations";

/** Whose destinations they are. */
type RulePlace = Pick<AlertRuleRow, "id" | "organisationId" | "workspaceId">;

const Opened = v.array(
  v.object({
    type: v.picklist(["webhook", "slack", "teams", "email"]),
    url: v.optional(v.string()),
    secret: v.optional(v.string()),
    to: v.optional(v.array(v.string())),
  }),
);

const placeOf = ({ id }: RulePlace) => ({ kind, recordId: id, field });
const tenantOf = ({ organisationId, workspaceId }: RulePlace) => ({ organisationId, workspaceId });

/** A destination as it is shown. */
export const maskDestination = ({ type, url, secret, to }: Destination): ShownDestination => ({
  type,
  ...(url !== undefined && { url: maskAddress(url) }),
  ...(secret !== undefined && { secret: maskSecret(secret) }),
  ...(to && { to }),
});

/**
 * The destinations of a rule, with their secrets.
 *
 * @throws {CredentialUnavailableError} If they cannot be decrypted.
 */
export async function openDestinations(
  rule: RulePlace,
  { stores, vault }: { stores: Pick<ControlStores, "secrets">; vault: Pick<Vault, "open"> },
): Promise<Destination[]> {
  const row = await stores.secrets.find(tenantOf(rule), placeOf(rule));
  return row ? v.parse(Opened, parseJson(await vault.open(row))) : [];
}

/** A destination of a body, in which a mask stands for what is stored. */
function unmask(given: Destination, index: number, stored: readonly Destination[]): Destination {
  const alike = stored.filter((one) => one.type === given.type && one.url && maskAddress(one.url) === given.url);
  const atPlace = stored[index];
  // several of one host look the same: each stays at its place
  const known = atPlace && alike.includes(atPlace) ? atPlace : alike.length === 1 ? alike[0] : undefined;
  const { url = given.url, secret } = known ?? {};
  const place = `${field}.${index}`;
  if (url?.includes("*****")) refuseField(`${place}.url`, "is masked: send the whole value");
  const isMask = given.secret !== undefined && secret !== undefined && given.secret === maskSecret(secret);
  const kept = isMask ? secret : given.secret;
  if (kept?.includes("*****")) refuseField(`${place}.secret`, "is masked: send the whole value");
  if (kept !== undefined && kept.length < minSecretLength) {
    refuseField(`${place}.secret`, `must have at least ${minSecretLength} characters`);
  }
  return { ...given, ...(url !== undefined && { url }), ...(kept !== undefined && { secret: kept }) };
}

/**
 * Destinations as they are stored: in clear, which is masked, and the statements that store them sealed.
 *
 * @throws {InvalidRequestError} AB01 for an address that may not be called, and for a mask of something else.
 */
export async function sealDestinations(
  call: AdminCall<unknown>,
  rule: RulePlace,
  given: readonly Destination[],
): Promise<{ masked: ShownDestination[]; statements: Statement[] }> {
  const { stores, now, context } = call;
  const { addressGuard, control } = context.services;
  const stored = await openDestinations(rule, { stores, vault: control.vault });
  const opened = given.map((one, index) => unmask(one, index, stored));
  for (const [index, { url }] of opened.entries()) {
    if (url !== undefined) requireSecureUrl(`${field}.${index}.url`, addressGuard, () => addressGuard.checkTarget(url));
  }
  const place = { ...tenantOf(rule), ...placeOf(rule) };
  const sealed = await control.vault.seal(place, JSON.stringify(opened), now);
  return {
    masked: opened.map(maskDestination),
    statements: [stores.secrets.remove(tenantOf(rule), placeOf(rule)), stores.secrets.insert(tenantOf(rule), sealed)],
  };
}

/** The statement that removes the destinations of a rule. */
export const removeDestinations = (rule: RulePlace, stores: Pick<ControlStores, "secrets">): Statement =>
  stores.secrets.remove(tenantOf(rule), placeOf(rule));
