import type { ControlStores } from "../../db/stores/control.ts";
import { startTimer } from "../../lib/clock.ts";
import type { Outbound, OutboundInit } from "../../lib/outbound.ts";
import { signatureHeader, signBody } from "../../lib/sign-body.ts";
import type { Vault } from "../vault.ts";

/** Where alerts are posted. */
export interface Webhook {
  url: string;
  /** Signs the bodies. */
  secret?: string | undefined;
}

/** A webhook, and who named its address. */
interface OwnedWebhook extends Webhook {
  origin: OutboundInit["origin"];
}

/** `kind` of the sealed address and secret; their record is the organisation. */
export const webhookSecretKind = "organisations";

/** Settings of an organisation that are stored sealed, and fields of their secrets. */
export const webhookFields = ["alert_webhook", "alert_webhook_secret"] as const;

/**
 * The webhook of an organisation: its own, else the operator's.
 *
 * @throws {CredentialUnavailableError} If its address cannot be decrypted.
 */
export async function findWebhook(
  { stores, vault }: { stores: Pick<ControlStores, "secrets">; vault: Pick<Vault, "open"> },
  organisationId: string,
  ofOperator: Webhook | undefined,
): Promise<OwnedWebhook | undefined> {
  const tenant = { organisationId, workspaceId: null };
  const rows = await stores.secrets.all(tenant, { where: { kind: webhookSecretKind, recordId: organisationId } });
  const [url, secret] = await Promise.all(
    webhookFields.map(async (name) => {
      const row = rows.find(({ field }) => field === name);
      return row && vault.open(row);
    }),
  );
  if (url !== undefined) return { url, secret, origin: "influenced" };
  return ofOperator && { ...ofOperator, origin: "fixed" };
}

/** Fewest characters of a secret that signs. */
export const minSecretLength = 16;

/** What posting needs. */
interface PostOptions {
  outbound: Outbound;
  timeoutMs: number;
  /** Unix milliseconds. */
  now: number;
  signal: AbortSignal;
}

/**
 * Posts a body. Redirects are failures.
 *
 * @throws {OutboundError} If there is no response, or the address may not be called.
 * @throws If it comes too late, or its status is not a success.
 */
export async function postToWebhook(
  { url, secret, origin }: OwnedWebhook,
  body: string,
  { outbound, timeoutMs, now, signal }: PostOptions,
): Promise<void> {
  const timeout = new AbortController();
  const cancel = startTimer(timeoutMs, () => timeout.abort(new Error("the webhook did not respond in time")));
  const signature = secret === undefined ? undefined : await signBody(secret, body, now);
  try {
    const response = await outbound(url, {
      method: "POST",
      origin,
      headers: {
        "content-type": "application/json",
        ...(signature !== undefined && { [signatureHeader]: signature }),
      },
      body,
      signal: AbortSignal.any([timeout.signal, signal]),
    });
    response.body?.cancel().catch(() => {});
    if (!response.ok) throw new Error(`the webhook responded with ${response.status}`);
  } catch (error) {
    throw timeout.signal.aborted ? timeout.signal.reason : error;
  } finally {
    cancel();
  }
}
